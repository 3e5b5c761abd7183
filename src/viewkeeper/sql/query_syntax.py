"""Queries as sqlglot reads them, with what it would lose or rewrite kept.

sqlglot turns functions of many databases into nodes of its own and rearranges their arguments. Here a function stays
the name and the arguments that were written: which functions there are is decided when they are bound. Clauses know
their place, CAST takes the type names of CREATE TABLE, GROUP BY takes `WINDOW(…) RETAIN '…'`, and HASH(…) may end in
`INTO m`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.parsers.spark import SparkParser

from viewkeeper.sql.place import syntax_error
from viewkeeper.sql.reader import Misread
from viewkeeper.sql.type_syntax import TypeSyntax

T = TypeVar("T")

TYPE = "viewkeeper_type"
"""Where CAST keeps its type, in the `meta` of the node."""

RETAIN = "viewkeeper_retain"
"""Where an item of GROUP BY keeps the literal behind RETAIN."""

INTO = "viewkeeper_into"
"""Where HASH(…) INTO m keeps its number."""

MAX = "viewkeeper_max"
"""Where LIMIT :n MAX 50 and IN :list MAX 20 keep their number."""

USING = "viewkeeper_using"
"""Where a join keeps the offsets of its USING (…): of the word, and behind the parenthesis."""

MAX_LIST = 1_000
"""Values that a list may be declared to have: each is a place in the plan."""
MAX_LIMIT = 1_000_000_000

_MULTIPLE = {TokenType.CUBE: exp.Cube, TokenType.ROLLUP: exp.Rollup, TokenType.GROUPING_SETS: exp.GroupingSets}


def _placed(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def parse(self: QuerySyntax) -> Any:
        token = self._curr
        key, node = read(self)
        first = node[0] if isinstance(node, list) and node else node
        if isinstance(first, exp.Expr):
            first.update_positions(token)
        return key, node

    return parse


class QuerySyntax(TypeSyntax):
    FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {}
    # A join without ON stays one: whether it has to have one depends on its kind.
    ADD_JOIN_ON_TRUE = False
    _using: tuple[int, int] | None = None
    FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CAST": lambda self: self._cast(),
        "EXTRACT": SparkParser.FUNCTION_PARSERS["EXTRACT"],
    }
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Callable[..., Any]]] = {
        "CASE": SparkParser.NO_PAREN_FUNCTION_PARSERS["CASE"],
    }
    QUERY_MODIFIER_PARSERS: ClassVar[dict[TokenType, Callable[..., Any]]] = {
        token: _placed(read) for token, read in SparkParser.QUERY_MODIFIER_PARSERS.items()
    }

    def _cast(self) -> exp.Expr:
        value = self._parse_disjunction()
        if value is None:
            self.raise_error("Expected an expression")
        if not self._match(TokenType.ALIAS):
            self.raise_error("Expected AS")
        node = exp.Cast(this=value)
        node.meta[TYPE] = self._type()
        return node

    def _parse_dcolon(self) -> exp.Expr | None:
        node = exp.Var(this="type")
        node.meta[TYPE] = self._type()
        return node

    COLUMN_OPERATORS: ClassVar[dict[TokenType, Callable[..., Any] | None]] = {
        **SparkParser.COLUMN_OPERATORS,
        TokenType.DCOLON: lambda self, this, to: self._cast_of(this, to),
    }

    def _cast_of(self, value: exp.Expr, to: exp.Expr) -> exp.Expr:
        node = exp.Cast(this=value)
        node.meta[TYPE] = to.meta[TYPE]
        return node

    def _parse_function(self, *args: Any, **named: Any) -> exp.Expr | None:
        node = super()._parse_function(*args, **named)
        if isinstance(node, exp.Anonymous) and node.name.upper() == "HASH" and self._match(TokenType.INTO):
            if self._curr.token_type != TokenType.NUMBER:
                self.raise_error("Expected a number")
            self._advance()
            node.meta[INTO] = exp.Literal.number(self._prev.text).update_positions(self._prev)
        return node

    def _parse_in(self, *args: Any, **named: Any) -> exp.In:
        node = super()._parse_in(*args, **named)
        if isinstance(node.args.get("field"), exp.Placeholder):
            self._maximum(node, MAX_LIST)
        return node

    def _parse_limit(self, *args: Any, **named: Any) -> exp.Expr | None:
        node = super()._parse_limit(*args, **named)
        if isinstance(node, exp.Limit) and isinstance(node.expression, exp.Placeholder):
            self._maximum(node, MAX_LIMIT)
        return node

    def _maximum(self, node: exp.Expr, most: int) -> None:
        """MAX and a number, if they come next. MAX without a number may be a name."""
        if self._next.token_type != TokenType.NUMBER or not self._match_text_seq("MAX"):
            return
        token = self._curr
        number = self._whole_number("a whole number")
        if not 1 <= number <= most:
            raise Misread(syntax_error(self.sql, token.start, f"expected a number from 1 to {most:,} behind MAX"))
        node.meta[MAX] = number

    def _parse_as_command(self, start: Token) -> NoReturn:
        # sqlglot would keep the rest of a statement inside a query as a raw text, and log a warning.
        raise Misread(syntax_error(self.sql, start.start, f"unexpected {self._found(start)}"))

    def _parse_hint(self) -> exp.Hint | None:
        if self._match(TokenType.HINT):
            detail = "How rows are found is not part of a query."
            self._refuse("a hint", self._prev, detail=detail, hint="Leave it out.")
        return None

    def _located(self, read: Callable[..., T], *args: Any, **named: Any) -> T:
        """What is read, with the place of its first word."""
        token = self._curr
        node = read(*args, **named)
        if isinstance(node, exp.Expr) and token and "start" not in node.meta:
            node.update_positions(token)
        return node

    def _parse_join(self, *args: Any, **named: Any) -> exp.Join | None:
        # sqlglot takes a comma without a table, and ON without a condition, for nothing.
        token = self._curr
        self._using = None
        node: exp.Join | None
        if self._match(TokenType.COMMA):
            table = self._parse_table()
            if table is None:
                self.raise_error("Expected a table")
            node = exp.Join(this=table)
        else:
            node = super()._parse_join(*args, **named)
            if node is not None and self._prev.token_type == TokenType.ON:
                self.raise_error("Expected an expression")
        if node is not None:
            if "start" not in node.meta:
                node.update_positions(token)
            if node.args.get("using"):
                node.meta[USING] = self._using
        return node

    def _parse_using_identifiers(self) -> list[exp.Expr]:
        start = self._prev.start
        found: list[exp.Expr] = []
        for name in self._names("a column name"):
            node = exp.Identifier(this=name.text)
            node.meta["start"] = name.start
            found.append(node)
        self._using = (start, self._prev.end + 1)
        return found

    def _parse_lateral(self) -> exp.Lateral | None:
        return self._located(super()._parse_lateral)

    def _parse_table_sample(self, *args: Any, **named: Any) -> exp.TableSample | None:
        return self._located(super()._parse_table_sample, *args, **named)

    def _parse_pivot(self) -> exp.Pivot | None:
        return self._located(super()._parse_pivot)

    def _parse_with(self, *args: Any, **named: Any) -> exp.With | None:
        return self._located(super()._parse_with, *args, **named)

    def _parse_select(self, *args: Any, **named: Any) -> exp.Expr | None:
        return self._located(super()._parse_select, *args, **named)

    def parse_set_operation(self, *args: Any, **named: Any) -> exp.SetOperation | None:
        return self._located(super().parse_set_operation, *args, **named)

    def _parse_group(self, skip_group_by_token: bool = False) -> exp.Group | None:
        # sqlglot takes WINDOW at the beginning for another clause, and sorts the items by kind.
        if not skip_group_by_token and not self._match(TokenType.GROUP_BY):
            return None
        if self._match_set((TokenType.ALL, TokenType.DISTINCT)):
            word = self._prev.text.upper()
            self._refuse(
                f"GROUP BY {word}",
                self._prev,
                detail="The columns of a group are part of the definition of a view.",
                hint="Name the columns to group by.",
            )
        items = self._parse_csv(self._group_item)
        if not items:
            self.raise_error("Expected an expression")
        suffix = self._curr
        if self._match_pair(TokenType.WITH, TokenType.CUBE, advance=False) or self._match_pair(
            TokenType.WITH, TokenType.ROLLUP, advance=False
        ):
            word = self._next.text.upper()
            hint = f"Write GROUP BY {word} (…)."
            self._refuse(f"WITH {word}", suffix, detail="What is grouped stands in parentheses.", hint=hint)
        if self._match(TokenType.GROUPING_SETS, advance=False):
            self._refuse(
                "GROUPING SETS behind a list",
                suffix,
                detail="The sets say by themselves what is grouped.",
                hint="Write GROUP BY GROUPING SETS (…).",
            )
        return self.expression(exp.Group(expressions=items))

    def _group_item(self) -> exp.Expr | None:
        item = self._grouping()
        if item is not None and self._match_text_seq("RETAIN"):
            if self._curr.token_type != TokenType.STRING:
                self.raise_error("Expected a duration in quotes")
            self._advance()
            item.meta[RETAIN] = exp.Literal.string(self._prev.text).update_positions(self._prev)
        return item

    def _grouping(self) -> exp.Expr | None:
        token = self._curr
        kind = _MULTIPLE.get(token.token_type) if self._next.token_type == TokenType.L_PAREN else None
        if kind is None:
            return self._parse_disjunction()
        self._advance(2)
        items = [] if self._match(TokenType.R_PAREN, advance=False) else self._parse_csv(self._grouping)
        self._match_r_paren()
        node = kind(expressions=items)
        node.update_positions(token)
        return node
