"""Conversions between types."""

from __future__ import annotations

from typing import assert_never

from pyspark.sql import Column
from pyspark.sql import functions as sf

from viewkeeper.execute.rows.parsing import DECIMAL_FORM, DOUBLE_FORM, MAX_DECIMAL_TEXT, TIMESTAMP_FORM
from viewkeeper.execute.spark.code import only_if, within
from viewkeeper.execute.spark.literals import type_name
from viewkeeper.execute.spark.python import in_python
from viewkeeper.model.types import DATE_MAX, DATE_MIN, TIMESTAMP_MAX, TIMESTAMP_MIN, Kind, Type
from viewkeeper.plan.casts import can_cast, cast_can_fail
from viewkeeper.plan.expr import Cast


def cast_column(cast: Cast, column: Column) -> Column:
    source, target = cast.arg.type, cast.type
    if not can_cast(source, target):
        raise ValueError(f"no conversion from {source} to {target}")
    if source == target:
        return column
    if source.kind is Kind.STRING:
        return _from_text(column, target)
    if source.kind is Kind.DOUBLE and target.kind is Kind.DECIMAL:
        # Spark takes the digits of Double.toString, which are not those of the shortest text before Java 19.
        return in_python(cast, [column])
    if source.kind is Kind.DECIMAL and target.kind is Kind.INT:
        # Spark goes by way of DOUBLE, in which 0.99999999999999999999 is 1.
        return column.try_cast("bigint").try_cast("int")
    if cast_can_fail(source, target):
        return column.try_cast(type_name(target))
    return column.cast(type_name(target))


def _from_text(text: Column, target: Type) -> Column:
    """Spark's conversion, of only those texts that it and rows/parsing.py read alike."""
    match target.kind:
        case Kind.BOOLEAN | Kind.INT | Kind.BIGINT:
            return text.try_cast(type_name(target))
        case Kind.DOUBLE:
            return _of_form(text, DOUBLE_FORM).try_cast("double")
        case Kind.DECIMAL:
            short = only_if(sf.length(text) <= MAX_DECIMAL_TEXT, text)
            return _of_form(short, DECIMAL_FORM).try_cast(type_name(target))
        case Kind.DATE:
            day = text.try_cast("date")
            return only_if(within(day, DATE_MIN, DATE_MAX, target), day)
        case Kind.TIMESTAMP:
            moment = _of_form(text, TIMESTAMP_FORM).try_cast("timestamp")
            return only_if(within(moment, TIMESTAMP_MIN, TIMESTAMP_MAX, target), moment)
        case Kind.BINARY | Kind.STRING:
            return text.cast(type_name(target))
    assert_never(target.kind)


def _of_form(text: Column, form: str) -> Column:
    return only_if(text.rlike(rf"\A(?:{form})\z"), text)
