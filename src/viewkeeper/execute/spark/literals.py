"""Types and constants as Spark has them."""

from __future__ import annotations

from typing import assert_never, cast

from pyspark.sql import Column
from pyspark.sql import functions as sf

from viewkeeper.execute.rows.casts import decimal_to_text
from viewkeeper.model.types import Cell, Kind, Type


def type_name(type: Type) -> str:
    """The type as Spark's DDL spells it, which is how we spell it too."""
    return str(type)


def literal(cell: Cell, type: Type) -> Column:
    """A constant of exactly this type.

    Dates and timestamps go over as numbers, decimals as texts: what Python's objects become on the way depends on the
    time zone of the machine, and on the calendar.
    """
    if cell is None:
        return sf.lit(None).cast(type_name(type))
    match type.kind:
        case Kind.BOOLEAN | Kind.INT | Kind.DOUBLE | Kind.STRING | Kind.BINARY:
            return sf.lit(cell)
        case Kind.BIGINT:
            return sf.lit(cell).cast("bigint")
        case Kind.DECIMAL:
            units = cast(int, cell)
            text = decimal_to_text(units, type.scale) if type.scale else str(units)
            return sf.lit(text).cast(type_name(type))
        case Kind.DATE:
            return sf.date_from_unix_date(sf.lit(cell))
        case Kind.TIMESTAMP:
            return sf.timestamp_micros(sf.lit(cell).cast("bigint"))
    assert_never(type.kind)
