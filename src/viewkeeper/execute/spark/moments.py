"""Functions of DATE and TIMESTAMP. Results are checked against the years 1 to 9999, which Spark itself goes beyond."""

from __future__ import annotations

from typing import cast

from pyspark.sql import Column
from pyspark.sql import functions as sf

from viewkeeper.execute.spark.code import Implementation, fenced, native, only_if, within
from viewkeeper.execute.spark.literals import literal
from viewkeeper.model.types import BIGINT, DATE_MAX, DATE_MIN, TIMESTAMP, TIMESTAMP_MAX, TIMESTAMP_MIN
from viewkeeper.plan.expr import Call, Literal


def _from_units(units: Column, per_unit: int) -> Column:
    """The TIMESTAMP of so many units of `per_unit` microseconds; NULL out of range."""
    inside = within(units, -(-TIMESTAMP_MIN // per_unit), TIMESTAMP_MAX // per_unit, BIGINT)
    return sf.timestamp_micros(only_if(inside, units) * literal(per_unit, BIGINT))


def _epoch_plus(call: Call, args: list[Column]) -> Column:
    return _from_units(sf.try_add(sf.unix_millis(args[0]), fenced(args[1], call.args[1], "+")), 1_000)


def _epoch_minus(call: Call, args: list[Column]) -> Column:
    if call.args[1].type == TIMESTAMP:
        return sf.unix_millis(args[0]) - sf.unix_millis(args[1])
    return _from_units(sf.try_subtract(sf.unix_millis(args[0]), args[1]), 1_000)


def _epoch_modulo(call: Call, args: list[Column]) -> Column:
    """Floor modulo: where the remainder and the divisor have different signs, one divisor more."""
    divisor = args[1]
    left = sf.try_mod(sf.unix_millis(args[0]), divisor)
    given = call.args[1]
    if isinstance(given, Literal) and isinstance(given.value, int) and given.value > 0:
        return sf.when(left < 0, left + divisor).otherwise(left)
    return sf.when((left != 0) & ((left < 0) != (divisor < 0)), left + divisor).otherwise(left)


def _truncate(call: Call, args: list[Column]) -> Column:
    return sf.date_trunc(cast(str, cast(Literal, call.args[0]).value), args[1])


def _shifted(sign: int) -> Implementation:
    def implementation(_call: Call, args: list[Column]) -> Column:
        days = sf.unix_date(args[0]).cast("bigint") + args[1].cast("bigint") * literal(sign, BIGINT)
        return sf.date_from_unix_date(only_if(within(days, DATE_MIN, DATE_MAX, BIGINT), days).cast("int"))

    return implementation


TIME: dict[str, Implementation] = {
    "epoch+": _epoch_plus,
    "epoch-": _epoch_minus,
    "epoch%": _epoch_modulo,
    "year": native(sf.year),
    "quarter": native(sf.quarter),
    "month": native(sf.month),
    "weekofyear": native(sf.weekofyear),
    "day": native(sf.dayofmonth),
    "dayofweek": native(sf.dayofweek),
    "dayofyear": native(sf.dayofyear),
    "hour": native(sf.hour),
    "minute": native(sf.minute),
    "second": native(sf.second),
    "date_trunc": _truncate,
    "date_add": _shifted(1),
    "date_sub": _shifted(-1),
    "datediff": native(sf.datediff),
    "unix_seconds": native(sf.unix_seconds),
    "unix_millis": native(sf.unix_millis),
    "timestamp_seconds": lambda call, args: _from_units(args[0], 1_000_000),
    "timestamp_millis": lambda call, args: _from_units(args[0], 1_000),
}
