"""sqlglot's Spark parser made strict, and the words that our own statements are read with.

sqlglot reads what many databases write and forgives much: a missing AND, an empty place in a list, a statement that
it does not know. Here each of these is an error with a place, since a text that is half understood is run wrongly.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.spark import SparkParser

from viewkeeper.errors import SqlSyntax
from viewkeeper.sql.place import quoted, syntax_error, unsupported
from viewkeeper.sql.tree import Name

T = TypeVar("T")

_RESERVED = """
    ALL ALTER AND ANY AS BETWEEN CASE CREATE CROSS CURRENT_DATE CURRENT_TIMESTAMP CURRENT_USER DESCRIBE DISTINCT
    DROP ELSE EXCEPT EXISTS FALSE FETCH FOR FROM FULL GLOB GRANT GROUP HAVING IF ILIKE IN INNER INSERT INTERSECT
    INTERVAL INTO IS JOIN LATERAL LEFT LIKE LIMIT MINUS NATURAL NOT NOTNULL NULL OFFSET ON OR ORDER OUTER
    PARTITIONED_BY QUALIFY REGEXP RETURNING REVOKE RIGHT RLIKE ROLLBACK SELECT SERDEPROPERTIES SESSION_USER SET
    TABLE TABLESAMPLE THEN TRUE UNCACHE UNION UNNEST USING VALUES WHEN WHERE WINDOW WITH XOR
"""
RESERVED = frozenset(_RESERVED.split())
"""Words that are names only in quotes: unquoted, they mean something else in some place of a query."""

_NUMBER = re.compile(r"\d+(\.\d*)?([eE][+-]?\d+)?")
_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER)


class Misread(ParseError):
    """Carries our error through sqlglot, which catches ParseError where it tries one reading after another."""

    def __init__(self, error: SqlSyntax) -> None:
        super().__init__(error.message)
        self.error = error


class Reader(SparkParser):
    """What every syntax file builds on: strict expressions, names, words, places."""

    NUMERIC_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        **SparkParser.NUMERIC_PARSERS,
        TokenType.NUMBER: lambda self, token: self._number(token),
        TokenType.HEX_STRING: lambda self, token: self._hex_string(token),
    }
    PRIMARY_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        **SparkParser.PRIMARY_PARSERS,
        **NUMERIC_PARSERS,
        TokenType.STRING: lambda self, token: self._string(token),
        TokenType.NULL: lambda self, token: self.expression(exp.Null(), token),
        TokenType.TRUE: lambda self, token: self.expression(exp.Boolean(this=True), token),
        TokenType.FALSE: lambda self, token: self.expression(exp.Boolean(this=False), token),
    }
    # Parameters are ? and :name, nothing else; @name, $name and {name} have no parser and are thereby syntax errors.
    PLACEHOLDER_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        TokenType.PLACEHOLDER: lambda self: self.expression(exp.Placeholder(), self._prev),
        TokenType.COLON: lambda self: self._named_parameter(),
    }

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> None:
        """sqlglot's message as ours."""
        token = token or self._curr
        expected = re.match(r"Expect(?:ing|ed) (.*?)(?: but got .*)?\.?$", message)
        if expected:
            wanted = expected[1] if expected[1][0].isalpha() else f'"{expected[1]}"'
            problem = f"expected {wanted}, found {self._found(token)}"
        elif message.startswith("Required keyword"):
            problem = f"expected an expression, found {self._found(token)}"
        elif message.startswith("Found multiple"):
            problem = f"{self._found(token)} is given twice"
        else:
            problem = f"unexpected {self._found(token)}"
        raise Misread(syntax_error(self.sql, self._offset(token), problem))

    def _parse_csv(self, parse_method: Callable[[], T | None], sep: TokenType = TokenType.COMMA) -> list[T]:
        # sqlglot skips empty places: `IN (1,,2)` would be IN (1, 2).
        first = parse_method()
        if first is None:
            if self._match(sep, advance=False):
                self.raise_error("Expected an expression")
            return []
        items = [first]
        while self._match(sep):
            item = parse_method()
            if item is None:
                self.raise_error("Expected an expression")
            else:
                items.append(item)
        return items

    def _parse_between(self, this: exp.Expr | None) -> exp.Between:
        low = self._parse_bitwise()
        if not self._match(TokenType.AND):
            self.raise_error("Expected AND")
        return self.expression(exp.Between(this=this, low=low, high=self._parse_bitwise()))

    def _parse_unary(self) -> exp.Expr | None:
        # Gives a place to what sqlglot leaves without one: CASE, NOT, CAST, parentheses, sub-queries.
        token = self._curr
        node = super()._parse_unary()
        if node is not None and token and "start" not in node.meta:
            node.update_positions(token)
        return node

    def _parse_disjunction(self) -> exp.Expr | None:
        # As sqlglot has it, but an OR knows its place.
        this = self._parse_conjunction()
        while self._match_set(self.DISJUNCTION):
            token = self._prev
            kind = self.DISJUNCTION[token.token_type]
            this = self.expression(kind(this=this, expression=self._parse_conjunction()), token)
        return this

    def _string(self, token: Token) -> exp.Expr:
        # sqlglot joins texts that stand side by side; here a forgotten comma is found.
        if self._match(TokenType.STRING, advance=False):
            self.raise_error("Unexpected text")
        return self.expression(exp.Literal(this=token.text, is_string=True), token)

    def _number(self, token: Token) -> exp.Expr:
        end = token.end + 1
        if self._is_connected() and self._is_word(self._curr):
            end = self._curr.end + 1
        if end > token.end + 1 or not _NUMBER.fullmatch(token.text):
            number = quoted(self.sql, token.start, end)
            raise Misread(syntax_error(self.sql, token.start, f"{number} is not a number"))
        return self.expression(exp.Literal(this=token.text, is_string=False), token)

    def _hex_string(self, token: Token) -> exp.Expr:
        # sqlglot makes the same token of 0x0a, which is an integer elsewhere.
        written = self.sql[token.start : token.end + 1]
        if "'" not in written or len(token.text) % 2:
            raise Misread(
                syntax_error(
                    self.sql,
                    token.start,
                    f"{quoted(written, 0, len(written))} is not a binary value",
                    hint="Write two hexadecimal digits for each byte, as in X'0aff'.",
                )
            )
        return self.expression(exp.HexString(this=token.text), token)

    def _named_parameter(self) -> exp.Expr | None:
        colon = self._prev
        if not (self._is_connected() and self._is_word(self._curr)):
            return None
        self._advance()
        return self.expression(exp.Placeholder(this=self._prev.text), colon)

    def _name(self, what: str) -> Name:
        """An identifier; a syntax error that says `what` was expected if there is none."""
        token = self._curr
        if token.token_type == TokenType.IDENTIFIER:
            if not token.text:
                self._fail(what)
        elif not self._is_word(token):
            self._fail(what)
        elif token.text.upper() in RESERVED:
            self._fail(what, hint=f"{token.text.upper()} is a reserved word; as a name write `{token.text}`, quoted.")
        self._advance()
        return Name(text=token.text, start=token.start)

    def _names(self, what: str) -> tuple[Name, ...]:
        """(name, …)"""
        self._symbol(TokenType.L_PAREN, '"("')
        names = [self._name(what)]
        while self._match(TokenType.COMMA):
            names.append(self._name(what))
        self._symbol(TokenType.R_PAREN, '"," or ")"')
        return tuple(names)

    def _whole_number(self, what: str) -> int:
        token = self._curr
        if token.token_type != TokenType.NUMBER or not token.text.isdigit() or len(token.text) > 18:
            self._fail(what)
        self._advance()
        return int(token.text)

    def _value(self, what: str = "a value") -> exp.Expr:
        """Any expression; which are allowed is decided when it is bound."""
        value = self._guarded(self._parse_disjunction)
        if value is None:
            self._fail(what)
        return value

    def _whole_query(self) -> exp.Expr:
        """The query that the rest of the statement is; sqlglot would read more than one that is in parentheses."""
        place, first = self._index, self._curr
        query = self._guarded(self._parse_statement)
        self._end()
        if query is None or (isinstance(query, exp.Select) and not query.expressions):
            self._retreat(place + 1)
            self._fail("a column or *")
        if not isinstance(query, exp.Query) or (isinstance(query, exp.Subquery) and query.args.get("joins")):
            hint = "Write SELECT * FROM (SELECT …) AS a, and the rest behind it."
            raise syntax_error(self.sql, first.start, "a query in parentheses is only a part of this", hint=hint)
        return query

    def _guarded(self, read: Callable[[], T]) -> T:
        """What sqlglot reads. Where it fails over a text that it did not foresee, a syntax error at that place."""
        try:
            return read()
        except (AttributeError, TypeError, ValueError, LookupError) as error:
            problem = f"unexpected {self._found(self._curr)}"
            raise syntax_error(self.sql, self._offset(self._curr), problem) from error

    def _words(self, *words: str) -> None:
        for word in words:
            if not self._match_text_seq(word):
                self._fail(word)

    def _symbol(self, kind: TokenType, shown: str) -> None:
        if not self._match(kind):
            self._fail(shown)

    def _end(self, expected: str = "") -> None:
        """A syntax error if the statement goes on."""
        if self._curr:
            self._fail(expected or "the end of the statement")

    def _fail(self, expected: str, *, hint: str = "") -> NoReturn:
        problem = f"expected {expected}, found {self._found(self._curr)}"
        raise syntax_error(self.sql, self._offset(self._curr), problem, hint=hint)

    def _refuse(self, construct: str, token: Token, *, detail: str, hint: str) -> NoReturn:
        raise unsupported(self.sql, token.start, construct, detail=detail, hint=hint)

    def _is_word(self, token: Token) -> bool:
        return bool(token) and token.token_type not in _QUOTED and token.text.isidentifier()

    def _found(self, token: Token) -> str:
        return quoted(self.sql, token.start, token.end + 1) if token else "the end of the statement"

    def _offset(self, token: Token) -> int:
        return token.start if token else self._prev.end + 1 if self._prev else 0
