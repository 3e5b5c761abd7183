"""Upper and lower case, one letter for one.

A letter whose other case is not one letter (ß, ŉ, İ) stays as it is, and Σ is always σ: so a text keeps its length, and
Spark can do the same with a table of single letters. Which letters there are is up to Python's version of Unicode.
"""

from __future__ import annotations

from functools import cache

_CASED_END = 0x20000
"""No script with two cases is above it, and looking through all of Unicode would take a tenth of a second."""


@cache
def upper_table() -> dict[int, str]:
    """Each letter that has one upper-case letter, by code point."""
    return {code: chr(code).upper() for code in range(_CASED_END) if _is_mapped(chr(code), chr(code).upper())}


@cache
def lower_table() -> dict[int, str]:
    """Each letter that has one lower-case letter, by code point."""
    return {code: chr(code).lower() for code in range(_CASED_END) if _is_mapped(chr(code), chr(code).lower())}


def _is_mapped(letter: str, other: str) -> bool:
    return len(other) == 1 and other != letter


def upper(text: str) -> str:
    """
    >>> upper("Straße"), upper("ὀδυσσεύς")
    ('STRAßE', 'ὈΔΥΣΣΕΎΣ')
    """
    return text.upper() if text.isascii() else text.translate(upper_table())


def lower(text: str) -> str:
    """
    >>> lower("ÉCOLE"), lower("ΟΔΟΣ")
    ('école', 'οδοσ')
    """
    return text.lower() if text.isascii() else text.translate(lower_table())
