"""A text to its statements, each with the parameters that it names. Imports sqlglot at the first text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from viewkeeper.errors import SqlSyntax
from viewkeeper.model.schema import Table
from viewkeeper.sql.place import quoted, syntax_error
from viewkeeper.sql.sources import Source
from viewkeeper.sql.statements import Statement
from viewkeeper.sql.tree import Tree

if TYPE_CHECKING:
    from sqlglot import Token

_CACHED = 4096
"""Characters of the longest text that is kept with its trees: longer ones are large and rarely the same twice."""


class Memo:
    """What bind.py found out about a statement: its table's name, and what it compiled to for the last such table."""

    __slots__ = ("compiled", "target")

    def __init__(self) -> None:
        self.target: str | None = None
        self.compiled: tuple[Table | Source, Callable[[Any], Statement]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parsed:
    """One statement of a text.

    `parameters` are those of this statement by their offset in the text: a name for `:name`, and for `?` its number
    among all of the text, from 0. `names` and `numbers` are the same, sorted out.
    """

    source: str = field(repr=False)
    start: int
    end: int
    tree: Tree
    parameters: Mapping[int, str | int]
    names: frozenset[str]
    numbers: tuple[int, ...]
    memo: Memo = field(default_factory=Memo, repr=False)

    @property
    def text(self) -> str:
        """The statement's own text, without the semicolon."""
        return self.source[self.start : self.end]


def parse(text: str) -> tuple[Parsed, ...]:
    """The statements of a text, between semicolons; empty ones are skipped.

    SqlSyntax with line, column and the line itself; Unsupported for a statement of another database.
    """
    return _cached(text) if len(text) <= _CACHED else _parse(text)


def _parse(text: str) -> tuple[Parsed, ...]:
    from sqlglot import TokenType

    statements: list[Parsed] = []
    chunk: list[Token] = []
    ordinal = 0
    for token in [*_tokens(text), None]:
        if token is not None and token.token_type != TokenType.SEMICOLON:
            chunk.append(token)
        elif chunk:
            parameters = _parameters(chunk, ordinal)
            statements.append(
                Parsed(
                    source=text,
                    start=chunk[0].start,
                    end=chunk[-1].end + 1,
                    tree=_tree(chunk, text),
                    parameters=parameters,
                    names=frozenset(key for key in parameters.values() if isinstance(key, str)),
                    numbers=tuple(key for key in parameters.values() if isinstance(key, int)),
                )
            )
            ordinal += len(statements[-1].numbers)
            chunk = []
    return tuple(statements)


_cached = lru_cache(maxsize=512)(_parse)


def _tokens(text: str) -> list[Token]:
    from sqlglot.errors import TokenError

    from viewkeeper.sql.dialect import DIALECT

    try:
        return DIALECT.tokenize(text)
    except TokenError as error:
        raise _token_error(text, str(error.__cause__ or error)) from None


def _token_error(text: str, message: str) -> SqlSyntax:
    """What the tokenizer could not read, found again in the text, since it gives no usable place."""
    rest = re.compile(
        r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|(?P<open>/\*|['"`])""", re.DOTALL
    )
    for match in rest.finditer(text):
        if match["open"]:
            return syntax_error(text, match.start(), f"{match['open']} is not closed")
        hexadecimal = match.start() and text[match.start() - 1] in "xX" and match[0][0] == "'"
        if hexadecimal and re.search(r"[^0-9a-fA-F']", match[0]):
            start = match.start() - 1
            hint = "Write two hexadecimal digits for each byte, as in X'0aff'."
            return syntax_error(text, start, f"{quoted(text, start, match.end())} is not a binary value", hint=hint)
    return syntax_error(text, 0, f"the text cannot be read: {message}")


def _parameters(tokens: list[Token], ordinal: int) -> dict[int, str | int]:
    from sqlglot import TokenType

    found: dict[int, str | int] = {}
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.token_type == TokenType.PLACEHOLDER:
            found[token.start] = ordinal
            ordinal += 1
        elif token.token_type == TokenType.COLON and following is not None and following.start == token.end + 1:
            found[token.start] = following.text
    return found


def _tree(tokens: list[Token], text: str) -> Tree:
    from sqlglot.errors import ParseError

    from viewkeeper.sql.dialect import DIALECT, StatementParser
    from viewkeeper.sql.foreign_params import hinted, refuse_braces
    from viewkeeper.sql.reader import Misread

    parser = StatementParser(dialect=DIALECT)
    try:
        tree = parser.read(tokens, text)
    except Misread as misread:
        raise hinted(misread.error, tokens, text) from None
    except SqlSyntax as error:
        raise hinted(error, tokens, text) from None
    except ParseError as error:
        raise syntax_error(text, tokens[0].start, f"the statement cannot be read: {error}") from None
    except RecursionError:
        raise syntax_error(text, tokens[0].start, "the statement is nested too deeply") from None
    refuse_braces(tokens, text)
    return tree
