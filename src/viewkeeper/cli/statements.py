"""Where the statements of a script begin and end: at semicolons outside of quotes and comments."""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`"""
    r"""|(?P<open>/\*|['"`])|(?P<end>;)|(?P<param>(?<![:\w]):[A-Za-z_]\w*)|(?P<other>[^\s;'"`:/-]+|\S)""",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement without its semicolon; `line` is where its first word stands, `names` are its parameters."""

    text: str
    line: int
    names: frozenset[str]


def split(script: str) -> tuple[list[Statement], str]:
    """The statements that a semicolon ends, and what follows the last one; empty if nothing but blanks and comments do.

    >>> done, rest = split("SELECT ';' -- ;\\n FROM a; SELECT :b")
    >>> [s.text for s in done], rest
    (["SELECT ';' -- ;\\n FROM a"], 'SELECT :b')
    """
    statements: list[Statement] = []
    start: int | None = None
    names: set[str] = set()
    line, counted = 1, 0
    for token in _TOKEN.finditer(script):
        if token["end"]:
            if start is not None:
                line += script.count("\n", counted, start)
                counted = start
                statements.append(Statement(script[start : token.start()].rstrip(), line, frozenset(names)))
            start, names = None, set()
        elif token["open"]:
            # A quote or comment that is not closed yet swallows the rest.
            start = token.start() if start is None else start
            break
        elif token[0].startswith(("--", "/*")):
            continue
        else:
            start = token.start() if start is None else start
            if token["param"]:
                names.add(token["param"][1:])
    return statements, "" if start is None else script[start:]


def split_all(script: str) -> list[Statement]:
    """The statements of a whole script, whose last one may lack its semicolon."""
    statements, rest = split(script)
    if rest:
        tail, unfinished = split(script + "\n;")
        if not unfinished:
            return tail
        line = script.count("\n", 0, len(script) - len(rest)) + 1
        statements.append(Statement(rest.rstrip(), line, frozenset()))
    return statements
