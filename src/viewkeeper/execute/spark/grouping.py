"""Groups of a frame: Spark adds up what is kept of each, and the row executor computes the aggregates from that.

Sums of whole numbers and decimals are exact as far as 38 digits hold them; where they might not, all rows of a group go
through the row executor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from viewkeeper.delta.deltaplan import AggregateSink, Measure, MeasureKind, measures_of, preaggregations_of
from viewkeeper.execute.changetable import normal_double
from viewkeeper.execute.groupstate import GroupState, ValueState, finishers
from viewkeeper.execute.recompute import grouped_rows
from viewkeeper.execute.spark.intasks import brought_together, in_one_task, in_tasks, name_of
from viewkeeper.execute.spark.literals import type_name
from viewkeeper.execute.spark.normal import normalised
from viewkeeper.model.types import BIGINT, BOOLEAN, DOUBLE, Kind, Row, Type, decimal
from viewkeeper.plan.aggregate import WHOLE, AggregateCall, AggregateKind
from viewkeeper.plan.relation import Aggregate, Scan

_DIGITS = 28
"""Digits of a value of which as many as 10 ** 10 add up within 38 digits."""
_WHOLE_DIGITS = {Kind.INT: 10, Kind.BIGINT: 19}


def can_fail(relation: Aggregate) -> bool:
    """Whether an aggregate can be out of range."""
    kinds = (AggregateKind.SUM, AggregateKind.AVG)
    return any(call.kind in kinds and call.type.kind is not Kind.DOUBLE for call in relation.calls)


def grouped(relation: Aggregate, frame: DataFrame, parts: int) -> DataFrame:
    """The rows of an aggregate over a frame, and behind them whether one was out of range."""
    types = [field.type for field in relation.input.fields]
    made = (*(field.type for field in relation.fields), BOOLEAN)
    sink = _sink(relation, types)
    if all(_is_exact(measure) for measure in sink.measures):
        return _added_up(relation, sink, frame, types, made)
    above = _over_scan(relation)

    def compute(rows: list[Row]) -> Iterable[Row]:
        for key, members in _members(relation, rows).items():
            (row,), failed = grouped_rows(above, members)
            yield (*key, *row[len(key) :], failed > 0)

    if not relation.group:
        return in_one_task(frame, types, lambda rows: _single(above, rows), made)
    return in_tasks(brought_together(frame, relation.group, types, parts), types, compute, made)


def _single(relation: Aggregate, rows: list[Row]) -> Iterable[Row]:
    made, failed = grouped_rows(relation, rows)
    return [(*row, failed > 0) for row in made]


def _members(relation: Aggregate, rows: list[Row]) -> dict[Row, list[Row]]:
    found: dict[Row, list[Row]] = {}
    for row in rows:
        key = tuple(
            normal_double(row[place]) if isinstance(row[place], float) else row[place] for place in relation.group
        )
        found.setdefault(key, []).append(row)
    return found


def _over_scan(relation: Aggregate) -> Aggregate:
    """The same over rows, so that no task is sent the relation below."""
    fields = relation.input.fields
    return Aggregate(Scan(0, "", tuple(range(len(fields))), fields), relation.group, relation.calls, relation.names)


def _sink(relation: Aggregate, types: Sequence[Type]) -> AggregateSink:
    calls = tuple(call for call in relation.calls if call.kind not in WHOLE)
    given = tuple(types)
    group = tuple(types[place] for place in relation.group)
    return AggregateSink(group, calls, measures_of(calls, given), preaggregations_of(calls, given))


def _is_exact(measure: Measure) -> bool:
    if measure.kind is MeasureKind.NOT_NULL or measure.type.kind is Kind.DOUBLE:
        return True
    digits = _WHOLE_DIGITS.get(measure.type.kind, measure.type.precision)
    return (2 * digits if measure.kind is MeasureKind.SQUARES else digits) <= _DIGITS


def _pieces(measure: Measure) -> list[tuple[Column, Type]]:
    """What is summed for a measure, and the type of each sum."""
    value = sf.col(name_of(measure.column))
    if measure.kind is MeasureKind.NOT_NULL:
        return [(sf.count(value), BIGINT)]
    squared = measure.kind is MeasureKind.SQUARES
    if measure.type.kind is Kind.DOUBLE:
        number = value * value if squared else value
        infinite = number.isin(math.inf, -math.inf)
        finite = sf.sum(sf.when(~sf.isnan(number) & ~infinite, number).otherwise(sf.lit(0.0)))
        counts = (sf.isnan(number), number == math.inf, number == -math.inf)
        return [
            (sf.coalesce(finite, sf.lit(0.0)), DOUBLE),
            *((sf.count(sf.when(condition, sf.lit(1))), BIGINT) for condition in counts),
        ]
    scale = measure.type.scale
    digits = _WHOLE_DIGITS.get(measure.type.kind, measure.type.precision)
    number = value.cast(type_name(decimal(digits, scale)))
    if squared:
        number, scale = number * number, 2 * scale
    type = decimal(38, scale)
    return [(sf.coalesce(sf.sum(number), sf.lit(0)).cast(type_name(type)), type)]


def _added_up(
    relation: Aggregate, sink: AggregateSink, frame: DataFrame, types: Sequence[Type], made: Sequence[Type]
) -> DataFrame:
    columns: list[tuple[Column, Type]] = [(sf.count(sf.lit(1)), BIGINT)]
    for measure in sink.measures:
        columns += _pieces(measure)
    counted = {call.argument for call in sink.calls if call.kind is AggregateKind.COUNT_DISTINCT}
    for kept in sink.preaggregations:
        value = normalised(sf.col(name_of(kept.column)), kept.type)
        different = sf.count_distinct(value) if kept.column in counted else sf.lit(0).cast("bigint")
        columns += [(different, BIGINT), (sf.min(value), kept.type), (sf.max(value), kept.type)]
    for call in relation.calls:
        if call.fraction is not None:
            assert call.argument is not None
            value = normalised(sf.col(name_of(call.argument)), DOUBLE)
            columns.append((sf.percentile(value, sf.lit(call.fraction)), DOUBLE))
    width = len(relation.group)
    keys = [
        normalised(sf.col(name_of(place)), types[place]).alias(name_of(number))
        for number, place in enumerate(relation.group)
    ]
    named = [column.alias(name_of(width + number)) for number, (column, _) in enumerate(columns)]
    summed = frame.groupBy(*keys).agg(*named) if keys else frame.agg(*named)
    given = (*sink.group, *(type for _, type in columns))
    finish = _Finish(sink, relation.calls)
    return in_tasks(summed, given, lambda rows: map(finish, rows), made)


class _Finish:
    """From what Spark has added up of a group to its row, and whether an aggregate was out of range."""

    def __init__(self, sink: AggregateSink, calls: tuple[AggregateCall, ...]) -> None:
        self._sink = sink
        self._calls = calls

    def __call__(self, row: Row) -> Row:
        sink = self._sink
        width = len(sink.group)
        cells: list[Any] = list(row[width:])
        weight = cells.pop(0)
        sums: list[Any] = []
        for measure in sink.measures:
            is_list = measure.kind is not MeasureKind.NOT_NULL and measure.type.kind is Kind.DOUBLE
            sums.append([cells.pop(0) for _ in range(4)] if is_list else cells.pop(0))
        values = [ValueState(cells.pop(0), cells.pop(0), cells.pop(0)) for _ in sink.preaggregations]
        state = GroupState(weight, sums, values)
        found = [finish(state) for finish in finishers(sink)]
        shown: list[Any] = []
        for call in self._calls:
            shown.append(
                cells.pop(0) if call.kind in WHOLE else found[len(shown) - _before(self._calls, len(shown))][0]
            )
        return (*row[:width], *shown, any(failed for _, failed in found))


def _before(calls: tuple[AggregateCall, ...], place: int) -> int:
    """How many percentiles come before a call."""
    return sum(call.kind in WHOLE for call in calls[:place])
