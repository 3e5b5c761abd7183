"""Numbers. What can fail has a try_ form, or is kept from the arguments on which it would."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as sf

from viewkeeper.execute.spark.code import Implementation, fenced, native, only_if, python
from viewkeeper.execute.spark.literals import literal, type_name
from viewkeeper.model.types import DOUBLE, Kind, decimal
from viewkeeper.plan.expr import Call
from viewkeeper.plan.failing import rounding_digits

_MAX_QUOTIENT = 39
"""Digits of a decimal quotient beyond which the JVM refuses to give a remainder, try_ or not."""
_MAX_NEGATED = 34
"""Digits to which Spark rounds a decimal that it negates."""


def _associative(call: Call, args: list[Column]) -> Column:
    operate = sf.try_add if call.name == "+" else sf.try_multiply
    return operate(*(fenced(arg, part, call.name) for part, arg in zip(call.args, args, strict=True)))


def _remainder(call: Call, args: list[Column]) -> Column:
    left, right = (arg.type for arg in call.args)
    if left.precision - left.scale + right.scale > _MAX_QUOTIENT:
        return python(call, args)
    return sf.try_mod(*args)


def _whole_quotient(call: Call, args: list[Column]) -> Column:
    """`div` has no try_ form. It fails for 0, and for -1 where the negated dividend is out of range."""
    left, right = args
    if call.args[0].type.kind is Kind.DECIMAL:
        return python(call, args)
    zero, minus_one = literal(0, call.type), literal(-1, call.type)
    harmless = only_if((right != zero) & (right != minus_one), right)
    return sf.when(right == minus_one, sf.try_subtract(zero, left)).otherwise(sf.call_function("div", left, harmless))


def _negate(call: Call, args: list[Column]) -> Column:
    if call.type.kind in (Kind.INT, Kind.BIGINT):
        return sf.try_subtract(literal(0, call.type), args[0])
    return python(call, args) if call.type.precision > _MAX_NEGATED else -args[0]


def _abs(call: Call, args: list[Column]) -> Column:
    if call.type.kind in (Kind.INT, Kind.BIGINT):
        return sf.when(args[0] < 0, sf.try_subtract(literal(0, call.type), args[0])).otherwise(args[0])
    return python(call, args) if call.type.precision > _MAX_NEGATED else sf.abs(args[0])


def _whole_part(call: Call, args: list[Column]) -> Column:
    if call.args[0].type.kind in (Kind.INT, Kind.BIGINT):
        return args[0]
    round_down = sf.floor if call.name == "floor" else sf.ceil
    if call.args[0].type != DOUBLE:
        return round_down(args[0])
    # NaN is above every number. What is outside must not even reach the function, which fails on it.
    inside = (args[0] >= sf.lit(-(2.0**63))) & (args[0] < sf.lit(2.0**63))
    return round_down(only_if(inside, args[0]))


def _round(call: Call, args: list[Column]) -> Column:
    type, digits = call.args[0].type, rounding_digits(call)
    if type.kind is Kind.DOUBLE:
        return python(call, args)
    if digits >= type.scale:
        return args[0].cast(type_name(call.type))
    if type.kind is Kind.DECIMAL:
        if digits != call.type.scale:
            return python(call, args)
        return args[0].try_cast(type_name(call.type))
    return sf.round(args[0].cast(type_name(decimal(38, 0))), digits).try_cast(type_name(call.type))


NUMERIC: dict[str, Implementation] = {
    "+": _associative,
    "-": native(sf.try_subtract),
    "*": _associative,
    "/": native(sf.try_divide),
    "%": _remainder,
    "div": _whole_quotient,
    "negate": _negate,
    "abs": _abs,
    "floor": _whole_part,
    "ceil": _whole_part,
    "round": _round,
    "sign": native(sf.signum),
    "sqrt": native(sf.sqrt),
    "isnan": native(sf.isnan),
    "bucket": python,
}
