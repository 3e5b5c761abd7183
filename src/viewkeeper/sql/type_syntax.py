"""The words of a type: a name, and for DECIMAL its precision and scale."""

from __future__ import annotations

from sqlglot import TokenType

from viewkeeper.errors import BadDefinition
from viewkeeper.model.types import Type, decimal
from viewkeeper.sql import type_names
from viewkeeper.sql.reader import Reader


class TypeSyntax(Reader):
    def _type(self) -> Type:
        token = self._curr
        # One token may be two words: DOUBLE PRECISION, CHARACTER VARYING.
        word = " ".join(token.text.upper().split())
        quoted = token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
        if not token or quoted or not word.replace(" ", "").isidentifier():
            self._fail("a type")
        self._advance()
        if word in type_names.DECIMAL:
            return self._decimal()
        if word not in type_names.SIMPLE:
            self._refuse(
                f"type {word}",
                token,
                detail="Each kind of value has one type, so that what is stored reads the same everywhere.",
                hint=type_names.instead_of(word),
            )
        if self._match(TokenType.L_PAREN, advance=False):
            self._refuse(
                f"a length of type {word}",
                self._curr,
                detail="Only DECIMAL takes numbers.",
                hint=f"Write {type_names.SIMPLE[word]} alone.",
            )
        return type_names.SIMPLE[word]

    def _decimal(self) -> Type:
        precision, scale = 10, 0
        if self._match(TokenType.L_PAREN):
            precision = self._whole_number("a precision")
            if self._match(TokenType.COMMA):
                scale = self._whole_number("a scale")
            self._symbol(TokenType.R_PAREN, '"," or ")"')
        try:
            return decimal(precision, scale)
        except ValueError as error:
            raise BadDefinition(str(error)) from None
