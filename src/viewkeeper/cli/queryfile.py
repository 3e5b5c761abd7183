"""Files of queries: statements between semicolons, each with its name in a comment above it.

    -- name: twoTags
    SELECT … ;

One without a name is called after its number among the queries: query_1, query_2, ….
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from viewkeeper.cli.sql import text_of
from viewkeeper.cli.statements import split_all
from viewkeeper.errors import BadParameter
from viewkeeper.sql.refused_statements import INSTEAD

_NAME = re.compile(r"^[ \t]*--[ \t]*name:[ \t]*(.*?)[ \t\r]*$", re.IGNORECASE)
_CREATE = re.compile(r"(?:CREATE|SET)\b", re.IGNORECASE)
_OTHER = {"INSERT", "UPDATE", "DELETE", "DROP", "ALTER", *INSTEAD} - {"VALUES", "TABLE", "FROM"}
"""What statements that are known and are no queries begin with. Those that are not known are syntax errors."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A statement of a file without its semicolon, and where its first word stands, from line 1 and column 0."""

    text: str
    file: str
    line: int
    column: int = 0

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def in_place(self) -> str:
        """The text with as many lines before it as in the file, so that errors tell the line there."""
        return "\n" * (self.line - 1) + " " * self.column + self.text

    @property
    def refusal(self) -> str:
        """Why it is not analysed; empty if it may be a query."""
        word = self.text.split(None, 1)[0].upper()
        if word not in _OTHER:
            return ""
        return f"{word} is not analysed: advise reads SELECT, and CREATE statements of what they read"


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries of some files by name, and the statements before them that make tables, indexes and views."""

    queries: dict[str, Placed]
    definitions: list[Placed]


def read_queries(files: Sequence[str]) -> Queries:
    """What is in these files, in their order; - is standard input."""
    found = Queries({}, [])
    for file in files:
        _add(found, text_of(file), shown(file))
    return found


def shown(file: str) -> str:
    return "standard input" if file == "-" else file


def _add(found: Queries, text: str, file: str) -> None:
    lines = text.split("\n")
    names = {number: match[1] for number, line in enumerate(lines, 1) if (match := _NAME.match(line))}
    last = 0
    for statement in split_all(text):
        above = [number for number in range(last + 1, statement.line) if number in names]
        last = statement.line + statement.text.count("\n")
        column = lines[statement.line - 1].find(statement.text.split("\n", 1)[0])
        placed = Placed(statement.text, file, statement.line, column)
        if _CREATE.match(statement.text):
            found.definitions.append(placed)
            continue
        name = names[above[-1]] if above else f"query_{len(found.queries) + 1}"
        if not name.isidentifier():
            raise BadParameter(
                f'{file}:{above[-1]}: "{name}" cannot be the name of a query',
                hint="A name is one word of letters, digits and _, since views are called after it: twoTags, two_tags.",
            )
        if name in found.queries:
            raise BadParameter(
                f"{placed.where}: two queries are called {name}, the other at {found.queries[name].where}"
            )
        found.queries[name] = placed
