"""What a verification says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viewkeeper.model.position import Position
from viewkeeper.pipeline.comparing import Compared
from viewkeeper.pipeline.differences import Example
from viewkeeper.store.embedded import EmbeddedStore


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """How a view compares with its definition at a position. `missing`, `unexpected` and `different` are rows of it.

    `rows`: those of the view that were compared. `auxiliary`: rows that are not as they should be, by auxiliary table.
    `errors`: those counted of the view, and those that there are. `differences` is the sum of everything that is off.
    `part`: the keys or groups that were looked at; None: all of them.
    """

    ok: bool
    position: Position
    rows: int
    missing: int
    unexpected: int
    different: int
    examples: tuple[Example, ...]
    view: str = field(default="", kw_only=True)
    auxiliary: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    auxiliary_rows: int = field(default=0, kw_only=True)
    errors: tuple[int, int] = field(default=(0, 0), kw_only=True)
    differences: int = field(default=0, kw_only=True)
    part: int | None = field(default=None, kw_only=True)
    seconds: float = field(default=0.0, kw_only=True)

    def __str__(self) -> str:
        kept = f" and {self.auxiliary_rows:,} auxiliary rows" if self.auxiliary_rows else ""
        what = "" if self.part is None else ", what has changed,"
        head = f"{self.view}: {self.rows:,} rows{kept}{what} at {self.position}, {self.seconds:.2f} s"
        if self.ok:
            return f"{head}: equal to its definition"
        lines = [f"{head}: {', '.join(self._counts()) or 'its row count is off'}"]
        lines += [f"  {line}" for example in self.examples for line in str(example).splitlines()]
        return "\n".join(lines)

    def _counts(self) -> list[str]:
        named = (("missing", self.missing), ("unexpected", self.unexpected), ("different", self.different))
        counts = [f"{count:,} {word}" for word, count in named if count]
        counts += [f"{count:,} off in {table}" for table, count in self.auxiliary.items() if count]
        if self.errors[0] != self.errors[1]:
            counts.append(f"{self.errors[0]:,} errors counted, {self.errors[1]:,} there")
        return counts


def report(store: EmbeddedStore, compared: Compared, seconds: float, part: int | None = None) -> VerifyReport:
    shown, *auxiliary = compared.tables
    return VerifyReport(
        compared.count == 0,
        store.position(compared.state.watermark),
        shown.rows,
        shown.missing,
        shown.unexpected,
        shown.different,
        tuple(example for table in compared.tables for example in table.examples),
        view=compared.one.view.name,
        auxiliary={table.table.name: table.count for table in auxiliary},
        auxiliary_rows=sum(table.rows for table in auxiliary),
        errors=(compared.errors, compared.errors + compared.off.errors),
        differences=compared.count,
        part=part,
        seconds=seconds,
    )
