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
from viewkeeper.errors import BadParameter, Unsupported

_NAME = re.compile(r"^[ \t]*--[ \t]*name:[ \t]*(\S+)[ \t]*$")
_CREATE = re.compile(r"(?:CREATE|SET)\b", re.IGNORECASE)
_QUERY = re.compile(r"(?:SELECT|WITH)\b|\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Queries:
    """The queries of some files by name, and the statements before them that make tables, indexes and views."""

    queries: dict[str, str]
    definitions: list[str]


def read_queries(files: Sequence[str]) -> Queries:
    """What is in these files, in their order; - is standard input."""
    found = Queries({}, [])
    for file in files:
        _add(found, text_of(file), "standard input" if file == "-" else f'"{file}"')
    return found


def _add(found: Queries, text: str, where: str) -> None:
    lines = enumerate(text.splitlines(), 1)
    names = {number: match[1] for number, line in lines if (match := _NAME.match(line))}
    last = 0
    for statement in split_all(text):
        above = [names[number] for number in range(last + 1, statement.line) if number in names]
        last = statement.line + statement.text.count("\n")
        if _CREATE.match(statement.text):
            found.definitions.append(statement.text)
            continue
        if not _QUERY.match(statement.text):
            word = statement.text.split(None, 1)[0].upper()
            raise Unsupported(
                f"{where} line {statement.line}: {word} in a file of queries",
                hint="It has SELECT, and CREATE of what they read.",
            )
        name = above[-1] if above else f"query_{len(found.queries) + 1}"
        if name in found.queries:
            raise BadParameter(f"{where} line {statement.line}: two queries are called {name}")
        found.queries[name] = statement.text
