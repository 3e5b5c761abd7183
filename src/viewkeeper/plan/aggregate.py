"""Aggregate functions, and what has to be kept of a group to answer them.

COUNT and SUM are distributive: their state is their value. AVG, VARIANCE and STDDEV are algebraic: they follow from
counts and sums. MIN, MAX and COUNT(DISTINCT) are holistic under deletes: they need every value of the group with its
weight, the pre-aggregation. A percentile is holistic even so, and computed whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from viewkeeper.model.types import BIGINT, DOUBLE, Kind, Type
from viewkeeper.plan.numbers import avg_type, is_number, sum_type


class AggregateKind(StrEnum):
    COUNT_ROWS = "COUNT(*)"
    COUNT = "COUNT"
    COUNT_DISTINCT = "COUNT(DISTINCT)"
    SUM = "SUM"
    AVG = "AVG"
    MIN = "MIN"
    MAX = "MAX"
    VAR_SAMP = "VARIANCE"
    VAR_POP = "VAR_POP"
    STDDEV_SAMP = "STDDEV"
    STDDEV_POP = "STDDEV_POP"
    PERCENTILE = "PERCENTILE"


HOLISTIC = frozenset({AggregateKind.MIN, AggregateKind.MAX, AggregateKind.COUNT_DISTINCT})
EXTREMES = frozenset({AggregateKind.MIN, AggregateKind.MAX})
WHOLE = frozenset({AggregateKind.PERCENTILE})
"""Needs every value of the group in order, so that only PERIODIC views have it."""
SPREAD = frozenset({AggregateKind.VAR_SAMP, AggregateKind.VAR_POP, AggregateKind.STDDEV_SAMP, AggregateKind.STDDEV_POP})


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate over an input column; COUNT(*) has none. `fraction` says which percentile: 0.5 is the median."""

    kind: AggregateKind
    argument: int | None
    type: Type
    fraction: float | None = None

    def __post_init__(self) -> None:
        if (self.argument is None) != (self.kind is AggregateKind.COUNT_ROWS):
            raise ValueError(f"{self.kind} has the wrong number of arguments")
        if (self.fraction is not None) != (self.kind is AggregateKind.PERCENTILE):
            raise ValueError("a percentile, and only that, is taken at a fraction")


def result_type(kind: AggregateKind, argument: Type | None) -> Type | None:
    """The type of an aggregate over a column of this type; None if there is no such aggregate."""
    match kind:
        case AggregateKind.COUNT_ROWS | AggregateKind.COUNT | AggregateKind.COUNT_DISTINCT:
            return BIGINT
        case AggregateKind.MIN | AggregateKind.MAX:
            return argument
        case AggregateKind.SUM:
            return sum_type(argument) if argument is not None and is_number(argument) else None
        case AggregateKind.AVG:
            return avg_type(argument) if argument is not None and is_number(argument) else None
        case _:
            return DOUBLE if argument is not None and is_number(argument) else None


def is_approximate(kind: AggregateKind, argument: Type | None) -> bool:
    """Whether the result depends on the order of additions: sums of DOUBLE."""
    return (
        kind not in HOLISTIC | WHOLE
        and argument is not None
        and argument.kind is Kind.DOUBLE
        and kind is not AggregateKind.COUNT
    )
