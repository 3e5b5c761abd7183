"""The state of one group of an aggregate, its bytes, and the aggregates that follow from it.

state    := msgpack [weight, [sum, …], [values, …]]
sum      := int | bin, big-endian two's complement, where 64 bits do not hold it
          | [float, int, int, int] for DOUBLE: the finite ones, NaNs, infinities, negative infinities
values   := [how many different, least, greatest] for each pre-aggregation; cells as in rowcodec.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from viewkeeper.delta.deltaplan import AggregateSink, MeasureKind
from viewkeeper.execute.changetable import Sum, normal_double, zero
from viewkeeper.model.types import BIGINT_MAX, BIGINT_MIN, Cell, Kind, Type
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder().decode


@dataclass(slots=True)
class ValueState:
    """Of the different values of a column in a group: how many, the least and the greatest (None if there is none)."""

    different: int
    least: Cell
    greatest: Cell


@dataclass(slots=True)
class GroupState:
    weight: int
    sums: list[Sum]
    values: list[ValueState]


def empty_state(sink: AggregateSink) -> GroupState:
    return GroupState(
        0, [zero(measure) for measure in sink.measures], [ValueState(0, None, None) for _ in sink.preaggregations]
    )


def encode_state(sink: AggregateSink, state: GroupState) -> bytes:
    sums = [_big(total) if isinstance(total, int) else total for total in state.sums]
    values = [
        [value.different, _wide(value.least, kept.type), _wide(value.greatest, kept.type)]
        for value, kept in zip(state.values, sink.preaggregations, strict=True)
    ]
    return _pack([state.weight, sums, values])


def decode_state(sink: AggregateSink, data: bytes) -> GroupState:
    weight, sums, values = _unpack(data)
    return GroupState(
        weight,
        [int.from_bytes(total, "big", signed=True) if isinstance(total, bytes) else total for total in sums],
        [
            ValueState(different, _narrow(least, kept.type), _narrow(greatest, kept.type))
            for (different, least, greatest), kept in zip(values, sink.preaggregations, strict=True)
        ],
    )


def _big(number: int) -> int | bytes:
    if BIGINT_MIN <= number <= BIGINT_MAX:
        return number
    return number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)


def _wide(cell: Any, type: Type) -> Any:
    return cell.to_bytes(16, "big", signed=True) if type.is_wide and cell is not None else cell


def _narrow(cell: Any, type: Type) -> Any:
    if type.kind is Kind.DOUBLE:
        return normal_double(cell)
    return int.from_bytes(cell, "big", signed=True) if type.is_wide and cell is not None else cell


Finish = Callable[[GroupState], tuple[Cell, bool]]
"""The value of an aggregate, and whether computing it failed."""


def finishers(sink: AggregateSink) -> list[Finish]:
    """For each call of an aggregate, what computes it from the state."""
    return [_finisher(sink, call) for call in sink.calls]


def _finisher(sink: AggregateSink, call: AggregateCall) -> Finish:
    kind = call.kind
    if kind is AggregateKind.COUNT_ROWS:
        return lambda state: (state.weight, False)
    kept = {value.column: place for place, value in enumerate(sink.preaggregations)}
    if kind is AggregateKind.COUNT_DISTINCT:
        place = kept[call.argument]  # type: ignore[index]
        return lambda state: (state.values[place].different, False)
    if kind is AggregateKind.MIN:
        place = kept[call.argument]  # type: ignore[index]
        return lambda state: (state.values[place].least, False)
    if kind is AggregateKind.MAX:
        place = kept[call.argument]  # type: ignore[index]
        return lambda state: (state.values[place].greatest, False)
    places = {measure.kind: place for place, measure in enumerate(sink.measures) if measure.column == call.argument}
    count = places[MeasureKind.NOT_NULL]
    if kind is AggregateKind.COUNT:
        return lambda state: (state.sums[count], False)
    total = places[MeasureKind.SUM]
    source = sink.measures[total].type
    if kind is AggregateKind.SUM:
        return lambda state: _sum(state.sums[count], state.sums[total], call.type)
    if kind is AggregateKind.AVG:
        return lambda state: _avg(state.sums[count], state.sums[total], source, call.type)
    squares = places[MeasureKind.SQUARES]
    return lambda state: (_spread(kind, state.sums[count], state.sums[total], state.sums[squares], source), False)


def _double(total: list[Any]) -> float:
    """The sum of doubles, given the finite ones and how many are not."""
    finite, nans, infinities, negatives = total
    if nans > 0 or (infinities > 0 and negatives > 0):
        return math.nan
    if infinities > 0:
        return math.inf
    return -math.inf if negatives > 0 else float(finite)


def _sum(count: int, total: Sum, type: Type) -> tuple[Cell, bool]:
    if count == 0:
        return None, False
    if type.kind is Kind.DOUBLE:
        return _double(total), False
    if type.kind is Kind.DECIMAL:
        return (total, False) if abs(total) < 10**type.precision else (None, True)
    return (total, False) if BIGINT_MIN <= total <= BIGINT_MAX else (None, True)


def _avg(count: int, total: Sum, source: Type, type: Type) -> tuple[Cell, bool]:
    if count == 0:
        return None, False
    if source.kind is Kind.DOUBLE:
        return _double(total) / count, False
    if type.kind is Kind.DECIMAL:
        cell = half_up(total * 10 ** (type.scale - source.scale), count)
        return (cell, False) if abs(cell) < 10**type.precision else (None, True)
    return total / count, False


def half_up(numerator: int, denominator: int) -> int:
    """The nearest whole number to a fraction; a half goes away from zero.

    >>> half_up(5, 2), half_up(-5, 2), half_up(4, 3)
    (3, -3, 1)
    """
    quotient, rest = divmod(abs(numerator), abs(denominator))
    if 2 * rest >= abs(denominator):
        quotient += 1
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


def _spread(kind: AggregateKind, count: int, total: Sum, squares: Sum, source: Type) -> Cell:
    """Variance or standard deviation, from exact sums but for DOUBLE."""
    sample = kind in (AggregateKind.VAR_SAMP, AggregateKind.STDDEV_SAMP)
    if count < (2 if sample else 1):
        return None
    divisor = count - 1 if sample else count
    if source.kind is Kind.DOUBLE:
        if any(squares[1:]) or any(total[1:]):
            return math.nan
        variance = max(0.0, (squares[0] - total[0] * total[0] / count) / divisor)
    else:
        scale = 10 ** (2 * source.scale)
        variance = float(Fraction(squares * count - total * total, count * divisor * scale))
    return math.sqrt(variance) if kind in (AggregateKind.STDDEV_SAMP, AggregateKind.STDDEV_POP) else variance
