"""Rows that partitions have of one key of a view, put together.

rows of a selection or index    all of them have different keys; where rows repeat, their weights add up
groups                          the state of the whole: weights and sums add up, of least and greatest the extreme
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.delta.program import Program, Storage
from viewkeeper.execute.changetable import combine
from viewkeeper.execute.groupstate import GroupState, ValueState, finishers
from viewkeeper.execute.storedstate import StageRunner
from viewkeeper.model.keycodec import sortable_double
from viewkeeper.model.types import Cell, Kind, Row

Merge = Callable[[Sequence[Row]], Row]
"""One stored row for those that several partitions have of its key."""


def merger(program: Program) -> Merge:
    """What puts the stored rows of a view together; the same for all of its partitions."""
    if program.is_merged:
        return GroupMerger(program)
    return added if program.storage is Storage.WEIGHTED else _single


def _single(rows: Sequence[Row]) -> Row:
    (row,) = rows
    return row


def added(rows: Sequence[Row]) -> Row:
    """A row whose last column is how often it is there, in all partitions."""
    total: Any = 0
    for row in rows:
        total += row[-1]
    return (*rows[0][:-1], total)


class GroupMerger:
    """Groups by their states."""

    def __init__(self, program: Program) -> None:
        sink = program.plan.stages[0].sink
        assert isinstance(sink, AggregateSink)
        self._program = program
        self._sink = sink
        self._stage = StageRunner(sink, program.tables.stages[0], program)
        self._finish = finishers(sink)

    def __call__(self, rows: Sequence[Row]) -> Row:
        return rows[0] if len(rows) == 1 else self.merged(rows, [0] * len(self._sink.preaggregations))

    def merged(self, rows: Sequence[Row], different: Sequence[int]) -> Row:
        """The row of a group; `different` are how many values it has of each pre-aggregation, which nothing shows."""
        codec = self._stage.codec
        state = reduce(self._both, (self._stage.state(codec.encode(row)) for row in rows))
        for value, count in zip(state.values, different, strict=True):
            value.different = count
        group = self.group(rows[0])
        output = (*group, *(finish(state)[0] for finish in self._finish))
        stored, _ = self._stage.stored(group, state, output)
        return codec.decode(stored)

    def group(self, row: Row) -> Row:
        """The group that a stored row is of."""
        found: list[Cell] = [None] * len(self._sink.group)
        for column, place in zip(self._program.layout.key, self._program.key_from, strict=True):
            found[place] = row[column]
        return tuple(found)

    def _both(self, left: GroupState, right: GroupState) -> GroupState:
        sums = [
            combine(measure, mine, theirs)
            for measure, mine, theirs in zip(self._sink.measures, left.sums, right.sums, strict=True)
        ]
        values = [
            _extremes(mine, theirs, is_double=kept.type.kind is Kind.DOUBLE)
            for mine, theirs, kept in zip(left.values, right.values, self._sink.preaggregations, strict=True)
        ]
        return GroupState(left.weight + right.weight, sums, values)


def _extremes(left: ValueState, right: ValueState, *, is_double: bool) -> ValueState:
    """How many different values there are is not known: what asks for it is not kept in partitions."""

    def order(cell: Any) -> Any:
        return sortable_double(cell) if is_double else cell

    least = [cell for cell in (left.least, right.least) if cell is not None]
    greatest = [cell for cell in (left.greatest, right.greatest) if cell is not None]
    return ValueState(0, min(least, key=order, default=None), max(greatest, key=order, default=None))
