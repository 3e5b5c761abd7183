"""Functions of DATE, as days, and TIMESTAMP, as microseconds, since 1970; all of them UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import cast

from viewkeeper.execute.rows.code import Bind, Code, Implementation, inline
from viewkeeper.model.types import DATE_MAX, DATE_MIN, TIMESTAMP, TIMESTAMP_MAX, TIMESTAMP_MIN
from viewkeeper.plan.expr import Call, Literal
from viewkeeper.plan.failing import call_can_fail

DAY = 86_400_000_000
ORDINAL = 719_163
"""What Python's ordinal of a day is above the number of days since 1970."""

IN_TIMESTAMP = f"{TIMESTAMP_MIN} <= {{v}} <= {TIMESTAMP_MAX}"
_IN_DATE = f"{DATE_MIN} <= {{v}} <= {DATE_MAX}"


def _epoch(symbol: str) -> Implementation:
    """Whole milliseconds, rounded down, plus or minus milliseconds; minus a TIMESTAMP, the milliseconds between."""

    def implementation(call: Call, _bind: Bind) -> Code:
        if call.args[1].type == TIMESTAMP:
            return Code("{0} // 1000 - {1} // 1000")
        return Code(f"({{0}} // 1000 {symbol} {{1}}) * 1000", IN_TIMESTAMP)

    return implementation


def _epoch_modulo(call: Call, _bind: Bind) -> Code:
    if call_can_fail(call):
        return Code("({0} // 1000 % {1} if {1} else None)", fallible=True)
    return Code("{0} // 1000 % {1}")


def _days(call: Call) -> str:
    return f"({{0}} // {DAY})" if call.args[0].type == TIMESTAMP else "{0}"


def _calendar(part: str) -> Implementation:
    """A part of the calendar day, given as an attribute or method of Python's date."""
    return lambda call, bind: Code(f"{bind(date.fromordinal)}({_days(call)} + {ORDINAL}){part}")


def _quarter(call: Call, bind: Bind) -> Code:
    return Code(f"({bind(date.fromordinal)}({_days(call)} + {ORDINAL}).month + 2) // 3")


def _day_of_week(call: Call, _bind: Bind) -> Code:
    # Day 0 was a Thursday, and Sunday is 1.
    return Code(f"({_days(call)} + 4) % 7 + 1")


def _truncate(call: Call, bind: Bind) -> Code:
    unit = cast(str, cast(Literal, call.args[0]).value).lower()
    lengths = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": DAY}
    if unit in lengths:
        return Code(f"{{1}} - {{1}} % {lengths[unit]}")
    if unit == "week":
        # Weeks begin on Monday, and day -3 was one.
        return Code(f"{{1}} - ({{1}} + {3 * DAY}) % {7 * DAY}")
    return Code(f"{bind(_FIRST_DAYS[unit])}({{1}}) * {DAY}")


def _first_of(first: Callable[[date], date]) -> Callable[[int], int]:
    return lambda micros: first(date.fromordinal(micros // DAY + ORDINAL)).toordinal() - ORDINAL


_FIRST_DAYS = {
    "month": _first_of(lambda day: day.replace(day=1)),
    "quarter": _first_of(lambda day: date(day.year, (day.month - 1) // 3 * 3 + 1, 1)),
    "year": _first_of(lambda day: date(day.year, 1, 1)),
}


def _checked(text: str, fits: str) -> Implementation:
    return lambda call, bind: Code(text, fits)


TIME: dict[str, Implementation] = {
    "epoch+": _epoch("+"),
    "epoch-": _epoch("-"),
    "epoch%": _epoch_modulo,
    "year": _calendar(".year"),
    "quarter": _quarter,
    "month": _calendar(".month"),
    "weekofyear": _calendar(".isocalendar()[1]"),
    "day": _calendar(".day"),
    "dayofweek": _day_of_week,
    "dayofyear": _calendar(".timetuple().tm_yday"),
    "hour": inline("{0} // 3_600_000_000 % 24"),
    "minute": inline("{0} // 60_000_000 % 60"),
    "second": inline("{0} // 1_000_000 % 60"),
    "date_trunc": _truncate,
    "date_add": _checked("{0} + {1}", _IN_DATE),
    "date_sub": _checked("{0} - {1}", _IN_DATE),
    "datediff": inline("{0} - {1}"),
    "unix_seconds": inline("{0} // 1_000_000"),
    "unix_millis": inline("{0} // 1_000"),
    "timestamp_seconds": _checked("{0} * 1_000_000", IN_TIMESTAMP),
    "timestamp_millis": _checked("{0} * 1_000", IN_TIMESTAMP),
}
