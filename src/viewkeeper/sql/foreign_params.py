"""Parameters as other databases and drivers write them: $1, @id, %s, %(id)s, {id}, :1. Here they are :name or ?."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot import Token, TokenType

from viewkeeper.errors import SqlSyntax
from viewkeeper.sql.place import quoted, syntax_error

_FORM = re.compile(r"[$@#]\{\w+\}|[$@]\w+|%s\b|%\(\w+\)s\b|\{+\w+\}+|:\d+|\?\d+")
_VALUES = (TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN)
"""What may stand before % where it is an operator."""


def hinted(error: SqlSyntax, tokens: Sequence[Token], text: str) -> SqlSyntax:
    """A syntax error, with how parameters are written if the statement has one of another form."""
    found = None if error.hint else _first(tokens, text)
    return error if found is None else SqlSyntax(error.message, detail=error.detail, hint=_hint(found))


def refuse_braces(tokens: Sequence[Token], text: str) -> None:
    """A syntax error at {id}, which could be read as a struct."""
    for token in tokens:
        found = _FORM.match(text, token.start) if token.token_type == TokenType.L_BRACE else None
        if found is not None:
            problem = f"unexpected {quoted(text, found.start(), found.end())}"
            raise syntax_error(text, found.start(), problem, hint=_hint(found[0]))


def _first(tokens: Sequence[Token], text: str) -> str | None:
    for before, token in zip([None, *tokens], tokens, strict=False):
        found = _FORM.match(text, token.start)
        if found is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            continue
        if before is None or token.token_type != TokenType.MOD or before.token_type not in _VALUES:
            return found[0]
    return None


def _hint(written: str) -> str:
    return f"{written} is a parameter of another database; here it is written :name, or ? without a name."
