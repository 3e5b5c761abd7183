"""Conversions between types; parsing.py reads texts."""

from __future__ import annotations

from datetime import date
from typing import assert_never

from viewkeeper.execute.rows import parsing
from viewkeeper.execute.rows.arithmetic import double_to_decimal, double_to_whole
from viewkeeper.execute.rows.code import Bind, Code, range_check
from viewkeeper.execute.rows.decimals import rescaled
from viewkeeper.execute.rows.moments import DAY, ORDINAL
from viewkeeper.model.types import BIGINT_MAX, BIGINT_MIN, INT_MAX, INT_MIN, Kind, Type
from viewkeeper.plan.casts import can_cast, cast_can_fail

_LIMITS = {Kind.INT: (INT_MIN, INT_MAX), Kind.BIGINT: (BIGINT_MIN, BIGINT_MAX)}


def cast_code(source: Type, target: Type, bind: Bind) -> Code:
    if not can_cast(source, target):
        raise ValueError(f"no conversion from {source} to {target}")
    if source == target:
        return Code("{0}")
    if source.kind is Kind.STRING:
        return _from_text(target, bind)
    check = range_check(target) if cast_can_fail(source, target) else None
    match target.kind:
        case Kind.STRING:
            return Code(_to_text(source, bind))
        case Kind.INT | Kind.BIGINT:
            return _to_whole(source, target, check, bind)
        case Kind.DECIMAL:
            if source.kind is Kind.DOUBLE:
                return Code(f"{bind(double_to_decimal)}({{0}}, {target.precision}, {target.scale})", fallible=True)
            return Code(rescaled("{0}", source.scale, target.scale, bind), check)
        case Kind.DOUBLE:
            return Code(f"{{0}} / {10**source.scale}" if source.scale else "float({0})")
        case Kind.DATE:
            return Code(f"{{0}} // {DAY}")
        case Kind.TIMESTAMP:
            return Code(f"{{0}} * {DAY}")
        case Kind.BOOLEAN | Kind.BINARY:
            raise ValueError(f"no conversion from {source} to {target}")
    assert_never(target.kind)


def _to_whole(source: Type, target: Type, check: str | None, bind: Bind) -> Code:
    match source.kind:
        case Kind.BOOLEAN:
            return Code("int({0})")
        case Kind.DOUBLE:
            least, most = _LIMITS[target.kind]
            return Code(f"{bind(double_to_whole)}({{0}}, {least}, {most})", fallible=True)
        case Kind.DECIMAL if source.scale:
            unit = 10**source.scale
            return Code(f"({{0}} // {unit} if {{0}} >= 0 else -(-{{0}} // {unit}))", check)
    return Code("{0}", check)


def _from_text(target: Type, bind: Bind) -> Code:
    match target.kind:
        case Kind.BOOLEAN:
            return Code(f"{bind(parsing.text_to_boolean)}({{0}})", fallible=True)
        case Kind.INT | Kind.BIGINT:
            least, most = _LIMITS[target.kind]
            return Code(f"{bind(parsing.text_to_whole)}({{0}}, {least}, {most})", fallible=True)
        case Kind.DOUBLE:
            return Code(f"{bind(parsing.text_to_double)}({{0}})", fallible=True)
        case Kind.DECIMAL:
            return Code(f"{bind(parsing.text_to_decimal)}({{0}}, {target.precision}, {target.scale})", fallible=True)
        case Kind.DATE:
            return Code(f"{bind(parsing.text_to_date)}({{0}})", fallible=True)
        case Kind.TIMESTAMP:
            return Code(f"{bind(parsing.text_to_timestamp)}({{0}})", fallible=True)
        case Kind.BINARY:
            return Code("{0}.encode()")
        case Kind.STRING:
            return Code("{0}")
    assert_never(target.kind)


def _to_text(source: Type, bind: Bind) -> str:
    match source.kind:
        case Kind.BOOLEAN:
            return "('true' if {0} else 'false')"
        case Kind.DECIMAL if source.scale:
            return f"{bind(decimal_to_text)}({{0}}, {source.scale})"
        case Kind.DATE:
            return f"{bind(date_to_text)}({{0}})"
        case Kind.TIMESTAMP:
            return f"{bind(timestamp_to_text)}({{0}})"
    return "str({0})"


def decimal_to_text(units: int, scale: int) -> str:
    """All digits, never an exponent.

    >>> decimal_to_text(-5, 2)
    '-0.05'
    """
    digits = str(abs(units)).zfill(scale + 1)
    return f"{'-' if units < 0 else ''}{digits[:-scale]}.{digits[-scale:]}"


def date_to_text(days: int) -> str:
    return date.fromordinal(days + ORDINAL).isoformat()


def timestamp_to_text(micros: int) -> str:
    """With a fraction only where there is one, and without zeros at its end.

    >>> timestamp_to_text(0), timestamp_to_text(-1_500)
    ('1970-01-01 00:00:00', '1969-12-31 23:59:59.9985')
    """
    days, rest = divmod(micros, DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    tail = f".{fraction:06}".rstrip("0") if fraction else ""
    return f"{date_to_text(days)} {clock}{tail}"
