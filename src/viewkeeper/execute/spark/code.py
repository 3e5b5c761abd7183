"""What an implementation of a function on Spark is."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as sf

from viewkeeper.execute.spark.literals import literal
from viewkeeper.execute.spark.python import in_python
from viewkeeper.model.types import Cell, Kind, Type
from viewkeeper.plan.expr import Call, Expr

Implementation = Callable[[Call, list[Column]], Column]
"""The column of a call, given those of its arguments. It is NULL where the call fails, and never raises."""


def native(function: Callable[..., Column]) -> Implementation:
    """A function of Spark on the same arguments."""
    return lambda call, args: function(*args)


def python(call: Call, args: list[Column]) -> Column:
    return in_python(call, args)


def only_if(condition: Column, value: Column) -> Column:
    """The value where the condition is true, else NULL."""
    return sf.when(condition, value)


def all_of(conditions: list[Column]) -> Column:
    return reduce(lambda left, right: left & right, conditions)


def any_of(conditions: list[Column]) -> Column:
    return reduce(lambda left, right: left | right, conditions)


def within(value: Column, least: Cell, most: Cell, type: Type) -> Column:
    return value.between(literal(least, type), literal(most, type))


def fenced(column: Column, expr: Expr, operator: str) -> Column:
    """The column, as an operand of `operator`, so that the optimizer does not merge it with other operands.

    Of whole numbers it makes (c * 3) * 5 into c * 15, and so loses that c * 3 was out of range.
    """
    if not (isinstance(expr, Call) and expr.name == operator and expr.type.kind in (Kind.INT, Kind.BIGINT)):
        return column
    # All bits inverted twice change nothing, and no rule looks through it.
    return sf.bitwise_not(sf.bitwise_not(column))
