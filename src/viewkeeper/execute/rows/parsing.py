"""Texts as values of other types: what CAST of a STRING accepts. Each function gives None where it fails."""

from __future__ import annotations

import re
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal

from viewkeeper.execute.rows.moments import DAY, ORDINAL
from viewkeeper.model.types import TIMESTAMP_MAX, TIMESTAMP_MIN

MAX_DECIMAL_TEXT = 1_000
"""Characters: reading the digits of longer ones takes the JVM quadratic time."""

CONTROLS = "".join(map(chr, range(0x21)))
"""What is ignored around a number with a point."""
BLANKS = CONTROLS + "\x7f"
"""What is ignored around anything else."""

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_EDGE = r"[\x00-\x20]*"
DECIMAL_FORM = rf"{_EDGE}{_NUMBER}(?:[eE][+-]?[0-9]{{1,4}})?{_EDGE}"
DOUBLE_FORM = (
    rf"{_EDGE}(?:{_NUMBER}(?:[eE][+-]?[0-9]+)?|[+-]?[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN]){_EDGE}"
)
TIMESTAMP_FORM = (
    r"[\x00-\x20\x7f]*([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,6}))?(Z|[+-][0-9]{2}:[0-9]{2})?)?)?[\x00-\x20\x7f]*"
)
"""Regular expressions of whole texts that mean the same to Python and to Java."""

_is_decimal = re.compile(DECIMAL_FORM).fullmatch
_is_double = re.compile(DOUBLE_FORM).fullmatch
_timestamp = re.compile(TIMESTAMP_FORM).fullmatch
_whole = re.compile(r"([+-]?)0*([0-9]{1,19})").fullmatch
_date = re.compile(r"\+?0{0,3}([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL).fullmatch
_PLENTY = Context(prec=12_000, Emin=-20_000, Emax=20_000, rounding=ROUND_HALF_UP)

_TRUTH = dict.fromkeys(("t", "true", "y", "yes", "1"), True) | dict.fromkeys(("f", "false", "n", "no", "0"), False)


def text_to_boolean(text: str) -> bool | None:
    return _TRUTH.get(text.strip(BLANKS).lower())


def text_to_whole(text: str, least: int, most: int) -> int | None:
    """ASCII digits with or without a sign."""
    found = _whole(text.strip(BLANKS))
    if found is None:
        return None
    number = int(found[1] + found[2])
    return number if least <= number <= most else None


def text_to_double(text: str) -> float | None:
    """Digits, a point, an exponent; inf, infinity or nan. A number too large is infinite."""
    return float(text.strip(CONTROLS)) if _is_double(text) else None


def text_to_decimal(text: str, precision: int, scale: int) -> int | None:
    """Digits, a point, an exponent of up to four digits; rounded half up to the scale."""
    if len(text) > MAX_DECIMAL_TEXT or not _is_decimal(text):
        return None
    number = Decimal(text.strip(CONTROLS))
    if number.adjusted() > 40:
        return None if number else 0
    units = int(number.scaleb(scale, _PLENTY).to_integral_value(ROUND_HALF_UP, _PLENTY))
    return units if abs(units) < 10**precision else None


def text_to_date(text: str) -> int | None:
    """yyyy, yyyy-[m]m or yyyy-[m]m-[d]d, the last of them with anything behind a blank or a T."""
    found = _date(text.strip(BLANKS))
    return None if found is None else _days(int(found[1]), int(found[2] or 1), int(found[3] or 1))


def _days(year: int, month: int, day: int) -> int | None:
    try:
        return date(year, month, day).toordinal() - ORDINAL
    except ValueError:
        return None


def text_to_timestamp(text: str) -> int | None:
    """yyyy-mm-dd[ hh:mm[:ss[.ffffff][Z|+hh:mm]]], with a blank or a T between; UTC if it names no offset."""
    found = _timestamp(text)
    if found is None:
        return None
    day, hour, minute, second, fraction, zone = found.groups()
    days = _days(*map(int, day.split("-")))
    clock = [int(part or 0) for part in (hour, minute, second)]
    offset = _offset(zone)
    if days is None or offset is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    seconds = clock[0] * 3600 + clock[1] * 60 + clock[2] - offset
    micros = days * DAY + seconds * 1_000_000 + int((fraction or "").ljust(6, "0"))
    return micros if TIMESTAMP_MIN <= micros <= TIMESTAMP_MAX else None


def _offset(zone: str | None) -> int | None:
    """Seconds east of UTC; None beyond 18 hours."""
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:])
    seconds = hours * 3600 + minutes * 60
    if minutes > 59 or seconds > 18 * 3600:
        return None
    return -seconds if zone[0] == "-" else seconds
