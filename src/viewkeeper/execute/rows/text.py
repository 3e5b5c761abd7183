"""Functions of texts. A character is a code point."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import cast

from viewkeeper.execute.rows.code import Bind, Code, Implementation, calls, inline
from viewkeeper.model.letters import lower, upper
from viewkeeper.model.types import INT_MAX, INT_MIN
from viewkeeper.model.words import tokens
from viewkeeper.plan.expr import Call, Literal
from viewkeeper.plan.failing import call_can_fail
from viewkeeper.plan.likes import Wild, like_parts


def substring(text: str, start: int, length: int = INT_MAX) -> str:
    """`length` characters from the 1-based `start` on, 0 being 1 and a negative one counted from the end.

    A start before the text uses up length before the first character.

    >>> substring("abcd", 2, 2), substring("abcd", -3, 2), substring("abc", -5, 3)
    ('bc', 'bc', 'a')
    """
    first = start - 1 if start > 0 else len(text) + start if start < 0 else 0
    end = min(max(first + length, INT_MIN), INT_MAX)
    return text[max(first, 0) : end] if end > max(first, 0) else ""


def right(text: str, length: int) -> str:
    return text[-length:] if length > 0 else ""


def _pads(call: Call, bind: Bind) -> Code:
    length = cast(int, cast(Literal, call.args[1]).value)
    pad = pad_left if call.name == "lpad" else pad_right
    return Code(f"{bind(pad)}({{0}}, {length}, {{2}})")


def pad_left(text: str, length: int, filling: str) -> str:
    """Exactly `length` characters, filled up in front or cut at the end; not filled up with nothing.

    >>> pad_left("7", 3, "0"), pad_left("1234", 3, "0"), pad_left("a", 3, "")
    ('007', '123', 'a')
    """
    return _filling(length - len(text), filling) + text[:length]


def pad_right(text: str, length: int, filling: str) -> str:
    return text[:length] + _filling(length - len(text), filling)


def _filling(length: int, filling: str) -> str:
    return (filling * (length // len(filling) + 1))[:length] if filling and length > 0 else ""


def _replace(text: str, old: str, new: str) -> str:
    return text.replace(old, new) if old else text


def _split_part(text: str, separator: str, number: int) -> str | None:
    """The part of that number, from 1 on, from the end if negative, "" if there is none; fails for 0."""
    if not number:
        return None
    parts = text.split(separator) if separator else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""


def _join(separator: str | None, *texts: str | None) -> str | None:
    return None if separator is None else separator.join(text for text in texts if text is not None)


def like_expression(parts: tuple[str | Wild, ...]) -> str:
    """A pattern as a regular expression for Python and for Java, to be matched against the whole text.

    What stands between two `%` is found where it first occurs, and not looked for again (an atomic group): to go back
    could not help, and takes a number of steps that grows with the power of the number of `%`.
    """
    pieces = [""]
    for part in parts:
        if part is Wild.ANY:
            pieces.append("")
        else:
            pieces[-1] += "[\\s\\S]" if isinstance(part, Wild) else _escaped(part)
    first, *middle = pieces
    if not middle:
        return first
    last = middle.pop()
    found = "".join(f"(?>[\\s\\S]*?{piece})" for piece in middle if piece)
    return f"{first}{found}[\\s\\S]*{last}"


def _escaped(text: str) -> str:
    return re.sub(r"[^\w\s]", lambda found: "\\" + found[0] if found[0].isascii() else found[0], text)


def matcher(pattern: str) -> Callable[[str], bool] | None:
    """Whether a text is LIKE a pattern; None if the pattern is none."""
    parts = like_parts(pattern)
    if parts is None:
        return None
    match parts:
        case (str(text),):
            return lambda value: value == text
        case (str(text), Wild.ANY):
            return lambda value: value.startswith(text)
        case (Wild.ANY, str(text)):
            return lambda value: value.endswith(text)
        case (Wild.ANY, str(text), Wild.ANY):
            return lambda value: text in value
    found = re.compile(like_expression(parts)).fullmatch
    return lambda value: found(value) is not None


_matcher = lru_cache(maxsize=1024)(matcher)


def like(text: str, pattern: str) -> bool | None:
    matches = _matcher(pattern)
    return None if matches is None else matches(text)


def _like(call: Call, bind: Bind) -> Code:
    pattern = call.args[1]
    if call_can_fail(call) or not isinstance(pattern, Literal):
        return Code(f"{bind(like)}({{0}}, {{1}})", fallible=True)
    return Code(f"{bind(matcher(cast(str, pattern.value)))}({{0}})")


def has_word(text: str, word: str) -> bool:
    """Whether a word is one of a text, in upper or lower case; what is no single word is in none.

    >>> has_word("The cat_and the dog", "CAT"), has_word("The cat_and the dog", "the cat")
    (True, False)
    """
    return lower(word) in tokens(text)


def has_word_like(text: str, pattern: str) -> bool:
    """Whether one of the words of a text, in lower case, is LIKE the pattern in lower case.

    What is no pattern is like no word: unlike LIKE, this never fails.

    >>> has_word_like("The cat_and the dog", "CA%"), has_word_like("The cat_and the dog", "the c%")
    (True, False)
    """
    matches = _matcher(lower(pattern))
    return matches is not None and any(map(matches, tokens(text)))


def _concat(call: Call, _bind: Bind) -> Code:
    return Code(" + ".join(f"{{{place}}}" for place in range(len(call.args))))


TEXT: dict[str, Implementation] = {
    "upper": calls(upper),
    "lower": calls(lower),
    "trim": inline("{0}.strip(' ')"),
    "ltrim": inline("{0}.lstrip(' ')"),
    "rtrim": inline("{0}.rstrip(' ')"),
    "length": inline("len({0})"),
    "substring": calls(substring),
    "left": inline("{0}[: max({1}, 0)]"),
    "right": calls(right),
    "lpad": _pads,
    "rpad": _pads,
    "reverse": inline("{0}[::-1]"),
    "concat": _concat,
    "concat_ws": calls(_join),
    "replace": calls(_replace),
    "split_part": calls(_split_part, fallible=True),
    "instr": inline("{0}.find({1}) + 1"),
    "startswith": inline("{0}.startswith({1})"),
    "endswith": inline("{0}.endswith({1})"),
    "contains": inline("{1} in {0}"),
    "like": _like,
    "has_word": calls(has_word),
    "has_word_like": calls(has_word_like),
}
