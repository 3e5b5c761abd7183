"""Aggregates over the frames of a partition's rows.

A frame that begins with the partition grows row by row, so its state goes along. Any other is added up anew for each
row: taking a row out again would leave what rounding has lost of it in a sum of DOUBLE.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from viewkeeper.delta.deltaplan import AggregateSink, measures_of, preaggregations_of
from viewkeeper.execute.changetable import adder, normal_double
from viewkeeper.execute.groupstate import GroupState, empty_state, finishers
from viewkeeper.execute.ordering import peers, place_of
from viewkeeper.model.types import Row, Type
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.whole import WindowCall


class Framed:
    """One call over the rows of one partition, which are in order."""

    def __init__(self, call: WindowCall, rows: Sequence[Row]) -> None:
        self._call = call
        self._rows = rows

    def frames(self) -> Iterator[tuple[int, int]]:
        """For each row where its frame begins, and where it ends, not included; an empty one ends where it begins."""
        frame, size = self._call.frame, len(self._rows)
        if frame.by_rows:
            for place in range(size):
                start = 0 if frame.start is None else min(size, max(0, place + frame.start))
                end = size if frame.end is None else max(0, min(size, place + frame.end + 1))
                yield start, max(start, end)
            return
        for start, end in peers(self._rows, self._call.order):
            for _ in range(start, end):
                yield 0 if frame.start is None else start, size if frame.end is None else end

    def values(self) -> tuple[list[Any], list[int]]:
        """The aggregate of each frame, and the places of those that failed."""
        adding = _Adding(self._call)
        found: list[Any] = []
        failed: list[int] = []
        state, reached = adding.nothing(), (0, 0)
        shown: tuple[Any, bool] | None = None
        for place, (start, end) in enumerate(self.frames()):
            if start != reached[0]:
                state, reached, shown = adding.nothing(), (start, start), None
            if end > reached[1] or shown is None:
                for row in self._rows[reached[1] : end]:
                    adding.add(state, row)
                reached, shown = (start, end), adding.finish(state)
            found.append(shown[0])
            if shown[1]:
                failed.append(place)
        return found, failed


class _Adding:
    """The state of an aggregate, row by row. Least and greatest are kept; how many different ones is not."""

    def __init__(self, call: WindowCall) -> None:
        assert isinstance(call.kind, AggregateKind)
        self._column = call.argument
        argument = None if call.argument is None else 0
        calls = (AggregateCall(call.kind, argument, call.type),)
        types: tuple[Type, ...] = (call.type if call.source is None else call.source,)
        self._sink = AggregateSink((), calls, measures_of(calls, types), preaggregations_of(calls, types))
        self._adders = [adder(measure) for measure in self._sink.measures]
        (self._finish,) = finishers(self._sink)

    def nothing(self) -> GroupState:
        return empty_state(self._sink)

    def add(self, state: GroupState, row: Row) -> None:
        state.weight += 1
        cell: Any = None if self._column is None else row[self._column]
        for place, add in enumerate(self._adders):
            state.sums[place] = add(state.sums[place], (cell,), 1)
        if cell is None:
            return
        for value in state.values:
            kept = normal_double(cell) if isinstance(cell, float) else cell
            if value.different == 0 or place_of(kept) < place_of(value.least):
                value.least = kept
            if value.different == 0 or place_of(kept) > place_of(value.greatest):
                value.greatest = kept
            value.different = 1

    def finish(self, state: GroupState) -> tuple[Any, bool]:
        return self._finish(state)
