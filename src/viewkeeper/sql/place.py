"""Where in a text something stands, and the errors that say so."""

from __future__ import annotations

from viewkeeper.errors import SqlSyntax, Unsupported

_WIDTH = 96
"""Characters of a line that an error shows."""


def place(text: str, start: int) -> tuple[int, int]:
    """Line and column of an offset, both from 1.

    >>> place("SELECT *\\nFROM t", 9)
    (2, 1)
    """
    return text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)


def excerpt(text: str, start: int) -> str:
    """The line around an offset, cut to a width that fits a terminal, and a caret below it.

    >>> print(excerpt("SELECT *\\nFORM t", 9))
        FORM t
        ^
    """
    begin = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    line = text[begin : len(text) if end < 0 else end].rstrip("\r")
    column = start - begin
    if len(line) > _WIDTH:
        cut = max(0, min(column - _WIDTH // 2, len(line) - _WIDTH))
        line, column = line[cut : cut + _WIDTH], column - cut
    # Tabs stay tabs, so that the caret stands right however wide they are shown.
    margin = "".join("\t" if character == "\t" else " " for character in line[:column])
    return f"    {line}\n    {margin}^"


def syntax_error(text: str, start: int, problem: str, *, hint: str = "") -> SqlSyntax:
    """`problem` says what was found against what was expected."""
    line, column = place(text, start)
    return SqlSyntax(
        f"syntax error at line {line}, column {column}: {problem}",
        detail=f"In this line:\n{excerpt(text, start)}",
        hint=hint,
    )


def unsupported(text: str, start: int, construct: str, *, detail: str, hint: str) -> Unsupported:
    """The refusal of a construct by name: where it stands, why it is refused, what to write instead."""
    return Unsupported(f"{construct} is not supported, {at(text, start)}", detail=detail, hint=hint)


def at(text: str, start: int) -> str:
    """A place as an error names it.

    >>> at("SELECT *\\nFROM t", 9)
    'at line 2, column 1'
    """
    line, column = place(text, start)
    return f"at line {line}, column {column}"


def quoted(text: str, start: int, end: int) -> str:
    """The piece of a text at start <= offset < end in quotes, shortened if it is long."""
    piece = " ".join(text[start:end].split())
    return f'"{piece}"' if len(piece) <= 40 else f'"{piece[:37]}..."'
