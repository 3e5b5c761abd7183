"""Joins for which it matters whether a row has a partner, by the row executor: LEFT, FULL, SEMI, ANTI.

A batch is taken in two steps, as if all left changes came first:

    1   ΔL against R_lower      pairs of what came and went; left rows alone; right rows that found or lost a partner
    2   L_upper against ΔR      the same the other way round

Whether a row is alone changes when its number of partners leaves zero or comes back to it. Without a condition all rows
of one lookup key have the same partners, so it is enough to see whether there is any; with one they are counted, row by
row, in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from viewkeeper.delta.joinplan import PartnerSource
from viewkeeper.delta.tables import SourceTables
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.joinindex import IndexRunner
from viewkeeper.execute.partnercounts import PartnerCounts
from viewkeeper.execute.rows.expr import Failures, compile_predicate
from viewkeeper.model.types import Row
from viewkeeper.plan.join import PartnerKind
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.viewreading import ViewReading

Others = Callable[[bytes, ViewReading], Mapping[bytes, Weighted]]
"""The rows of the other side under a prefix, by key."""
Move = tuple[bytes, Row, int]
"""Key, row and weight of a change of an index."""
_weight = itemgetter(2)


class PartnerRunner:
    """One join by partner, compiled once and run batch by batch; `counted` are its tables of partners."""

    def __init__(self, source: PartnerSource, tables: SourceTables) -> None:
        self.source = source
        self.tables = tables
        self.indexes = [IndexRunner(*pair) for pair in zip(source.indexes, tables.indexes, strict=True)]
        self.counted = [layout for layout in tables.partners if layout is not None]
        self.matches = None if source.condition is None else compile_predicate(source.condition)

    def run(
        self, deltas: Sequence[Sequence[Weighted]], reading: ViewReading, objects: dict[int, ObjectChanges]
    ) -> tuple[list[Weighted], int]:
        """The delta of the join from those of its sides, and how many more pairs its condition fails on."""
        batch = _Batch(self, deltas, reading)
        batch.left_changes()
        batch.right_changes()
        batch.store(objects)
        return batch.made, batch.errors


@dataclass(slots=True)
class _Alone:
    """What a row shows by itself: it, with NULLs where its partner would be; when it has one, or when it has none."""

    show: Callable[[Row], Row]
    when_partnered: bool

    def weight(self, partners: int, weight: int) -> int:
        return weight if (partners > 0) == self.when_partnered else 0


class _Batch:
    """One batch while it is computed."""

    def __init__(self, runner: PartnerRunner, deltas: Sequence[Sequence[Weighted]], reading: ViewReading) -> None:
        source = runner.source
        self.made: list[Weighted] = []
        self.errors = 0
        self._deltas = deltas
        self._reading = reading
        self._matches = runner.matches
        self._indexes = runner.indexes
        self._changed = [index.delta(delta) for index, delta in zip(runner.indexes, deltas, strict=True)]
        left, right = source.sides
        self._widths = left.width, right.width
        self._pairs = source.kind.shows_pairs
        self._alone: tuple[_Alone | None, _Alone | None] = _alone(source)
        self._counts = [
            None if layout is None else PartnerCounts(layout, index, reading)
            for layout, index in zip(runner.tables.partners, runner.indexes, strict=True)
        ]

    def left_changes(self) -> None:
        self._side(0, self._indexes[1].lower)

    def right_changes(self) -> None:
        self._side(1, self._changed[0].upper)

    def _side(self, side: int, others: Others) -> None:
        """The changes of one side, against the rows of the other as `others` gives them."""
        index, alone = self._indexes[side], self._alone[side]
        if alone is not None:
            # NULL matches nothing, so nothing is kept of it.
            for row, weight in self._deltas[side]:
                if index.prefix_of(row) is None:
                    self._emit(alone.show(row), alone.weight(0, weight))
        for prefix, changes in self._changed[side].changed().items():
            if self._matches is not None:
                self._counted(side, sorted(changes, key=_weight), others(prefix, self._reading))
            elif self._pairs:
                self._paired(side, prefix, changes, others(prefix, self._reading))
            else:
                self._looked_for(side, prefix, changes, others)

    def _counted(self, side: int, changes: list[Move], found: Mapping[bytes, Weighted]) -> None:
        """The rows of one lookup key, where a condition decides which are partners."""
        alone, theirs = self._alone[side], self._alone[1 - side]
        counts, their_counts = self._counts[side], self._counts[1 - side]
        grown: dict[bytes, int] = {}
        for key, row, weight in changes:
            partners = 0
            for other_key, (other, times) in found.items():
                if self._fits(side, row, other, weight * times):
                    partners += times
                    grown[other_key] = grown.get(other_key, 0) + weight
                    if self._pairs:
                        self._pair(side, row, other, weight * times)
            if alone is not None:
                self._emit(alone.show(row), alone.weight(partners, weight))
            if counts is not None:
                counts.set(key, row, partners if self._stays(side, key, weight) else 0)
        if theirs is not None and their_counts is not None:
            for other_key, more in grown.items():
                other, times = found[other_key]
                before = their_counts.get(other_key)
                their_counts.set(other_key, other, before + more)
                self._move(theirs, other, times, before, before + more)

    def _stays(self, side: int, key: bytes, weight: int) -> bool:
        """Whether a row with this key is there once the batch is applied; of its changes the greatest comes last."""
        if weight > 0 or not self._indexes[side].table.is_weighted:
            return weight > 0
        stored = self._reading.get(self._indexes[side].id, key)
        return stored is not None and self._indexes[side].codec.decode(stored)[-1] + weight > 0  # type: ignore[operator]

    def _paired(self, side: int, prefix: bytes, changes: list[Move], found: Mapping[bytes, Weighted]) -> None:
        """The same where all rows of one lookup key are partners."""
        alone, theirs = self._alone[side], self._alone[1 - side]
        for _, row, weight in changes:
            for other, times in found.values():
                self._pair(side, row, other, weight * times)
            if alone is not None:
                self._emit(alone.show(row), alone.weight(len(found), weight))
        if theirs is not None:
            before, after = self._existing(side, prefix)
            if before != after:
                for other, times in found.values():
                    self._move(theirs, other, times, before, after)

    def _looked_for(self, side: int, prefix: bytes, changes: list[Move], others: Others) -> None:
        """The same for SEMI and ANTI, which need to know no more than whether there is a partner."""
        if side == 0:
            alone = self._alone[0]
            assert alone is not None
            partners = len(self._indexes[1].lower(prefix, self._reading, 1))
            for _, row, weight in changes:
                self._emit(alone.show(row), alone.weight(partners, weight))
            return
        theirs = self._alone[0]
        assert theirs is not None
        before, after = self._existing(side, prefix)
        if before != after:
            for other, times in others(prefix, self._reading).values():
                self._move(theirs, other, times, before, after)

    def _existing(self, side: int, prefix: bytes) -> tuple[int, int]:
        """Whether a side has any row under a prefix, at the watermark and once the batch is applied: 0 or 1."""
        changed = self._changed[side]
        moves = changed.changed().get(prefix, [])
        gone = sum(1 for _, _, weight in moves if weight < 0)
        # As many as may go, and one more: nobody needs to know the others.
        lower = self._indexes[side].lower(prefix, self._reading, gone + 1)
        if len(lower) > gone:
            return 1, 1
        return int(bool(lower)), int(bool(changed.upper(prefix, self._reading)))

    def _fits(self, side: int, row: Row, other: Row, weight: int) -> bool:
        if self._matches is None:
            return True
        failures = Failures()
        left, right = (row, other) if side == 0 else (other, row)
        fits = self._matches((*left[: self._widths[0]], *right[: self._widths[1]]), failures)
        if failures.count:
            self.errors += weight
        return fits

    def _pair(self, side: int, row: Row, other: Row, weight: int) -> None:
        left, right = (row, other) if side == 0 else (other, row)
        self.made.append(((*left[: self._widths[0]], *right[: self._widths[1]]), weight))

    def _move(self, alone: _Alone, row: Row, weight: int, before: int, after: int) -> None:
        self._emit(alone.show(row), alone.weight(after, weight) - alone.weight(before, weight))

    def _emit(self, row: Row, weight: int) -> None:
        if weight:
            self.made.append((row, weight))

    def store(self, objects: dict[int, ObjectChanges]) -> None:
        for one in self._changed:
            one.store(self._reading, objects)
        for counts in self._counts:
            if counts is not None:
                counts.store(objects)


def _alone(source: PartnerSource) -> tuple[_Alone | None, _Alone | None]:
    """How left and right rows show by themselves; None if they never do."""
    left, right = (side.width for side in source.sides)
    before: Row = (None,) * left
    behind: Row = (None,) * right
    match source.kind:
        case PartnerKind.LEFT:
            return _Alone(lambda row: (*row[:left], *behind), False), None
        case PartnerKind.FULL:
            return (
                _Alone(lambda row: (*row[:left], *behind), False),
                _Alone(lambda row: (*before, *row[:right]), False),
            )
        case PartnerKind.SEMI | PartnerKind.ANTI:
            return _Alone(lambda row: row[:left], source.kind is PartnerKind.SEMI), None
