"""LIKE patterns: `%` is any text, `_` any one character, `\\` takes the special meaning from `%`, `_` and itself."""

from __future__ import annotations

from enum import Enum


class Wild(Enum):
    ANY = "%"
    ONE = "_"


def like_parts(pattern: str) -> tuple[str | Wild, ...] | None:
    r"""The texts and wildcards of a pattern in order; None if a `\` stands before anything else or at the end.

    >>> like_parts(r"50\%_%")
    ('50%', <Wild.ONE: '_'>, <Wild.ANY: '%'>)
    >>> like_parts("a\\") is None
    True
    """
    parts: list[str | Wild] = []
    text: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == "\\":
            escaped = next(characters, "")
            if escaped not in ("%", "_", "\\"):
                return None
            text.append(escaped)
        elif character in "%_":
            if text:
                parts.append("".join(text))
                text.clear()
            parts.append(Wild(character))
        else:
            text.append(character)
    if text:
        parts.append("".join(text))
    return tuple(parts)
