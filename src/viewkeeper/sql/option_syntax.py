"""The words of SET: `SET name = value`, the value a word or a text in quotes."""

from __future__ import annotations

from sqlglot import TokenType

from viewkeeper.sql.reader import Reader
from viewkeeper.sql.tree import Name, SetTree


class OptionSyntax(Reader):
    def _set(self) -> SetTree:
        option = self._name("the name of an option")
        self._symbol(TokenType.EQ, '"="')
        token = self._curr
        quoted = self._match(TokenType.STRING)
        value = Name(text=token.text, start=token.start) if quoted else self._name("a value")
        self._end()
        return SetTree(option=option, value=value)
