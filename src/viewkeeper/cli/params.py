"""`--param name=value`: values as SQL writes constants, anything else as text.

5  -1.5  1e3     a number
TRUE FALSE NULL  in any case
'it''s'          a text, also one that looks like something else
DATE '…', TIMESTAMP '…', X'0aff'
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from viewkeeper.errors import BadParameter

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_QUOTED = re.compile(r"(?:(date|timestamp|x)\s*)?'((?:[^']|'')*)'", re.IGNORECASE)
_WORDS: dict[str, Any] = {"null": None, "true": True, "false": False}
_NAME = re.compile(r"[A-Za-z_]\w*")


def read_params(given: list[str]) -> dict[str, Any]:
    """The parameters of `name=value` texts; BadParameter for another form or a name given twice."""
    params: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise BadParameter(
                f"--param {text!r} is not name=value",
                hint="The value of :id is given as id=5; a parameter of a command has a name, so it is not ?.",
            )
        if name in params:
            raise BadParameter(f"--param {name} is given twice")
        params[name] = read_value(name, value)
    return params


def read_value(name: str, text: str) -> Any:
    """
    >>> read_value("p", "9.99"), read_value("p", "red"), read_value("p", "'5'"), read_value("p", "null")
    (9.99, 'red', '5', None)
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        return _number(text)
    found = _QUOTED.fullmatch(text)
    if found is None:
        return text
    kind, inner = (found[1] or "").lower(), found[2].replace("''", "'")
    try:
        return _typed(kind, inner)
    except ValueError:
        raise BadParameter(f"--param {name}: {text} is no {kind.upper()}") from None


def _typed(kind: str, text: str) -> Any:
    if kind == "date":
        return date.fromisoformat(text)
    if kind == "timestamp":
        return datetime.fromisoformat(text)
    return bytes.fromhex(text) if kind == "x" else text


def _number(text: str) -> int | float | Decimal:
    try:
        return int(text)
    except ValueError:
        # A float fits DOUBLE and DECIMAL columns alike, as long as it says exactly what was written.
        exact = Decimal(text)
        near = float(text)
        return near if Decimal(repr(near)) == exact else exact
