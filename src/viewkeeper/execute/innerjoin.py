"""Inner joins by the row executor: one term a side, each changed row against the other sides by lookups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from viewkeeper.delta.joinplan import InnerSource, Probe
from viewkeeper.delta.tables import SourceTables
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.joinindex import IndexDelta, IndexRunner
from viewkeeper.execute.rows.expr import Failures, compile_row
from viewkeeper.model.types import Row
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.viewreading import ViewReading

Parts = tuple[Row | None, ...]
"""The rows found so far, by side."""


class InnerRunner:
    """Δ(A ⋈ B)  =  ΔA ⋈ B_lower  +  A_upper ⋈ ΔB, and so on for more sides."""

    def __init__(self, source: InnerSource, tables: SourceTables) -> None:
        self._source = source
        self.indexes = [IndexRunner(*pair) for pair in zip(source.indexes, tables.indexes, strict=True)]
        self._terms = [[_Step(probe) for probe in term] for term in source.terms]
        self._cuts = [None if side.width == len(side.types) else side.width for side in source.sides]

    def run(
        self, deltas: Sequence[Sequence[Weighted]], reading: ViewReading, objects: dict[int, ObjectChanges]
    ) -> list[Weighted]:
        """The delta of the join from those of its sides; the changes of its indexes are added to `objects`."""
        changed = [index.delta(deltas[index.side]) for index in self.indexes]
        made: list[Weighted] = []
        for side, delta in enumerate(deltas):
            if delta:
                self._term(side, delta, changed, reading, made)
        for one in changed:
            one.store(reading, objects)
        return made

    def _term(
        self,
        side: int,
        delta: Sequence[Weighted],
        changed: Sequence[IndexDelta],
        reading: ViewReading,
        made: list[Weighted],
    ) -> None:
        count = len(self._source.sides)
        open_ones: list[tuple[Parts, int]] = [
            (tuple(row if place == side else None for place in range(count)), weight) for row, weight in delta
        ]
        for step in self._terms[side]:
            index = self.indexes[step.index]
            # Sides before this one have changed already, those behind it have not.
            upper = changed[step.index] if index.side < side else None
            open_ones = step.run(open_ones, index, upper, reading)
            if not open_ones:
                return
        cuts = self._cuts
        for parts, weight in open_ones:
            row = tuple(chain.from_iterable(part[:cut] for part, cut in zip(parts, cuts, strict=True)))  # type: ignore[index]
            made.append((row, weight))


class _Step:
    """One probe, compiled."""

    def __init__(self, probe: Probe) -> None:
        self.index = probe.index
        sides = {side for side, _ in probe.by}
        self._key: Callable[[Parts], Row]
        if len(sides) == 1:
            (only,) = sides
            compute = compile_row(tuple(expr for _, expr in probe.by))
            self._key = lambda parts: compute(parts[only], _NONE)  # type: ignore[arg-type]
        else:
            each = [(side, compile_row((expr,))) for side, expr in probe.by]
            self._key = lambda parts: tuple(one(parts[side], _NONE)[0] for side, one in each)  # type: ignore[arg-type]

    def run(
        self, rows: list[tuple[Parts, int]], index: IndexRunner, upper: IndexDelta | None, reading: ViewReading
    ) -> list[tuple[Parts, int]]:
        partners: dict[Row, list[Any]] = {}
        side = index.side
        made: list[tuple[Parts, int]] = []
        for parts, weight in rows:
            key = self._key(parts)
            found = partners.get(key)
            if found is None:
                found = partners[key] = self._look_up(key, index, upper, reading)
            for row, times in found:
                made.append(((*parts[:side], row, *parts[side + 1 :]), weight * times))
        return made

    def _look_up(self, key: Row, index: IndexRunner, upper: IndexDelta | None, reading: ViewReading) -> list[Weighted]:
        prefix = index.prefix(key)
        if prefix is None:
            return []
        found = index.lower(prefix, reading) if upper is None else upper.upper(prefix, reading)
        return list(found.values())


_NONE = Failures()
"""Lookup keys cannot fail: the binder takes care of that."""
