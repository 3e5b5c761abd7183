"""Stored rows beside expected ones: which are missing, which unexpected, which different."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from viewkeeper.pipeline.doubts import MOST, Doubt
from viewkeeper.pipeline.stored import StoredTable

Item = tuple[bytes, bytes]
"""A stored key and an encoded row."""
EXAMPLES = 5
"""Examples that are kept of each kind of difference in each table."""


@dataclass(frozen=True, slots=True)
class Example:
    """One row that is not as it should be; `stored` and `expected` have hidden columns too, None: absent."""

    table: str
    kind: str
    key: dict[str, Any]
    stored: dict[str, Any] | None
    expected: dict[str, Any] | None

    def __str__(self) -> str:
        key = ", ".join(f"{name} {value!r}" for name, value in self.key.items())
        lines = [f"{self.kind} in {self.table}" + (f", {key}" if key else "")]
        lines += [f"  {word:<9}{_cells(row)}" for word, row in (("stored", self.stored), ("expected", self.expected))]
        return "\n".join(lines)


def _cells(row: dict[str, Any] | None) -> str:
    return "-" if row is None else ", ".join(f"{name} {value!r}" for name, value in row.items())


@dataclass(slots=True)
class Differences:
    """What a comparison of one table found. A row with a weight counts as often as the weights differ."""

    table: StoredTable
    rows: int = 0
    missing: int = 0
    unexpected: int = 0
    different: int = 0
    examples: list[Example] = field(default_factory=list)

    @property
    def count(self) -> int:
        return self.missing + self.unexpected + self.different

    def add(self, stored: bytes | None, expected: bytes | None) -> None:
        """Count a key under which these two are not the same."""
        table = self.table
        if stored is None:
            assert expected is not None
            kind = "missing"
            self.missing += table.weight(expected)
        elif expected is None:
            kind = "unexpected"
            self.unexpected += max(1, table.weight(stored))
        elif table.is_weighted and (more := table.weight(expected) - table.weight(stored)):
            kind = "missing" if more > 0 else "unexpected"
            self.missing += max(more, 0)
            self.unexpected += max(-more, 0)
        else:
            kind = "different"
            self.different += 1
        if sum(example.kind == kind for example in self.examples) < EXAMPLES:
            row = stored if expected is None else expected
            assert row is not None
            self.examples.append(
                Example(table.name, kind, table.key_of(row), table.shown(stored), table.shown(expected))
            )


def added(parts: Sequence[Differences]) -> Differences:
    """What was found in tables that are alike, as if in one: the first."""
    total = Differences(parts[0].table)
    for part in parts:
        total.rows += part.rows
        total.missing += part.missing
        total.unexpected += part.unexpected
        total.different += part.different
        for example in part.examples:
            if sum(known.kind == example.kind for known in total.examples) < EXAMPLES:
                total.examples.append(example)
    return total


Found = Callable[[bytes, bytes | None, bytes | None], None]
"""Told of each difference: the stored key, the stored and the expected row."""


def compare(
    table: StoredTable,
    stored: Iterator[Item],
    expected: Iterator[Item],
    found: Found | None,
    doubts: list[Doubt] | None = None,
) -> Differences:
    """Merge two runs of rows in the order of their stored keys; holds one row of each.

    With `doubts`, those go there which are the same but for sums of DOUBLE.
    """
    differences = Differences(table)

    def tell(key: bytes, mine: bytes | None, theirs: bytes | None) -> None:
        differences.add(mine, theirs)
        if found is not None:
            found(key, mine, theirs)

    def differ(key: bytes, mine: bytes, theirs: bytes) -> None:
        if doubts is not None and len(doubts) < MOST and table.is_same(mine, theirs, however_near=True):
            doubts.append((key, mine, theirs))
        else:
            tell(key, mine, theirs)

    have, want = next(stored, None), next(expected, None)
    while have is not None or want is not None:
        if want is None or (have is not None and have[0] < want[0]):
            assert have is not None
            tell(have[0], have[1], None)
            differences.rows += table.weight(have[1])
            have = next(stored, None)
        elif have is None or want[0] < have[0]:
            tell(want[0], None, want[1])
            want = next(expected, None)
        else:
            if have[1] != want[1] and not table.is_same(have[1], want[1]):
                differ(have[0], have[1], want[1])
            differences.rows += table.weight(have[1])
            have, want = next(stored, None), next(expected, None)
    return differences
