"""Lengths of time as people write them."""

from __future__ import annotations

import re

from viewkeeper.errors import WrongType

_SHORT = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_WORDS = {
    "millisecond": 1,
    "sec": 1000,
    "second": 1000,
    "min": 60_000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
}
# Only words have a plural: "ms" is not several "m".
_UNITS = _SHORT | _WORDS | {word + "s": unit for word, unit in _WORDS.items()}
_TEXT = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,9})?)\s*([a-z]+)\s*", re.ASCII | re.IGNORECASE)


def milliseconds(text: str) -> int:
    """The length of a duration; WrongType if it is none.

    >>> milliseconds("500ms"), milliseconds("2 hours"), milliseconds("1.5s")
    (500, 7200000, 1500)
    """
    found = _TEXT.fullmatch(text) if isinstance(text, str) else None
    unit = _UNITS.get(found[2].lower()) if found else None
    if found is None or unit is None:
        raise WrongType(
            f"{text!r} is not a duration", hint='Write a number and a unit, such as "500ms", "90s" or "24h".'
        )
    return round(float(found[1]) * unit)
