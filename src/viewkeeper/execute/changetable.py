"""The change table of an aggregate: for each group that a batch touches, what to add to its state."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from viewkeeper.delta.deltaplan import AggregateSink, Measure, MeasureKind
from viewkeeper.model.types import Cell, Kind, Row

Weighted = tuple[Row, int]
"""A row and its weight."""

Sum = Any
"""An exact int; for DOUBLE a list [sum of the finite, NaNs, infinities, negative infinities]."""


@dataclass(slots=True)
class GroupChange:
    """What a batch adds to one group: weight, and each measure."""

    weight: int
    sums: list[Sum]

    @property
    def is_nothing(self) -> bool:
        """Whether it leaves the state as it is."""
        return not self.weight and not any(any(sum) if isinstance(sum, list) else sum for sum in self.sums)


@dataclass(slots=True)
class ChangeTable:
    """`groups` by group key; `values`, for each pre-aggregation, the weight to add by group key and value."""

    groups: dict[Row, GroupChange] = field(default_factory=dict)
    values: list[dict[tuple[Row, Cell], int]] = field(default_factory=list)

    def is_empty(self) -> bool:
        return not self.groups


def new_change_table(sink: AggregateSink) -> ChangeTable:
    """A change table without changes. The one group of a global aggregate is always in it: its row is always there."""
    groups: dict[Row, GroupChange] = {(): _no_change(sink)} if sink.is_global else {}
    return ChangeTable(groups, [{} for _ in sink.preaggregations])


def _no_change(sink: AggregateSink) -> GroupChange:
    return GroupChange(0, [zero(measure) for measure in sink.measures])


def reduce_rows(sink: AggregateSink, rows: Iterable[Weighted]) -> ChangeTable:
    """The change table of signed rows: γ over the group columns, inserted rows with +1, deleted ones with −1.

    Groups whose changes cancel out stay in, with zeros: folding them changes nothing.
    """
    return Reduction(sink)(rows)


class Reduction:
    """The same, prepared once for many batches."""

    def __init__(self, sink: AggregateSink) -> None:
        self._sink = sink
        self._doubles = [place for place, type in enumerate(sink.group) if type.kind is Kind.DOUBLE]
        self._adders = list(enumerate(map(adder, sink.measures)))
        self._values = [(kept.column, kept.type.kind is Kind.DOUBLE) for kept in sink.preaggregations]
        zeros = [zero(measure) for measure in sink.measures]
        self._zeros = zeros if all(total == 0 for total in zeros) else None

    def __call__(self, rows: Iterable[Weighted]) -> ChangeTable:
        sink, doubles, adders = self._sink, self._doubles, self._adders
        table = new_change_table(sink)
        width = len(sink.group)
        groups = table.groups
        for row, weight in rows:
            key = row[:width]
            if doubles:
                key = tuple(normal_double(cell) if place in doubles else cell for place, cell in enumerate(key))
            change = groups.get(key)
            if change is None:
                change = GroupChange(0, self._zeros.copy()) if self._zeros is not None else _no_change(sink)
                groups[key] = change
            change.weight += weight
            sums = change.sums
            for place, add in adders:
                sums[place] = add(sums[place], row, weight)
            for values, (column, is_double) in zip(table.values, self._values, strict=True):
                cell = row[column]
                if cell is not None:
                    if is_double:
                        cell = normal_double(cell)
                    values[key, cell] = values.get((key, cell), 0) + weight
        return table


def net_rows(rows: Sequence[Weighted], *, has_doubles: bool) -> list[Weighted]:
    """Weighted rows with what cancels out left out, each different one once.

    >>> net_rows([(("a",), -1), (("b",), 1), (("b",), -1), (("c",), 1)], has_doubles=False)
    [(('a',), -1), (('c',), 1)]
    """
    net: dict[Any, tuple[Row, int]] = {}
    for row, weight in rows:
        # As texts 0.0 and -0.0 differ, and NaN is the same as NaN.
        key = repr(row) if has_doubles else row
        known = net.get(key)
        net[key] = (row, weight if known is None else known[1] + weight)
    return [(row, weight) for row, weight in net.values() if weight]


_NAN = float("nan")


def normal_double(cell: Any) -> Any:
    """-0.0 as 0.0 and every NaN as one object, so that equal doubles are equal dict keys."""
    if cell is None:
        return None
    return _NAN if cell != cell else cell + 0.0


def zero(measure: Measure) -> Sum:
    if measure.kind is MeasureKind.NOT_NULL or measure.type.kind is not Kind.DOUBLE:
        return 0
    return [0.0, 0, 0, 0]


def adder(measure: Measure) -> Callable[[Sum, Row, int], Sum]:
    """A function that adds one row to a measure and gives the new sum."""
    column = measure.column
    if measure.kind is MeasureKind.NOT_NULL:
        return lambda total, row, weight: total if row[column] is None else total + weight
    squared = measure.kind is MeasureKind.SQUARES
    if measure.type.kind is Kind.DOUBLE:
        return lambda total, row, weight: _add_double(total, row[column], weight, squared)
    if squared:
        return lambda total, row, weight: total if row[column] is None else total + row[column] ** 2 * weight  # type: ignore[operator]
    return lambda total, row, weight: total if row[column] is None else total + row[column] * weight  # type: ignore[operator]


def _add_double(total: list[Any], cell: Any, weight: int, squared: bool) -> list[Any]:
    if cell is None:
        return total
    value = cell * cell if squared else cell
    if math.isnan(value):
        total[1] += weight
    elif value == math.inf:
        total[2] += weight
    elif value == -math.inf:
        total[3] += weight
    else:
        total[0] += value * weight
    return total


def combine(measure: Measure, left: Sum, right: Sum) -> Sum:
    """The sum of two sums of one measure."""
    if isinstance(zero(measure), list):
        return [mine + theirs for mine, theirs in zip(left, right, strict=True)]
    return left + right
