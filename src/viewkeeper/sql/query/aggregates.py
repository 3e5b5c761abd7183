"""Aggregate functions of a query: each different one once, over columns that are computed below."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from viewkeeper.model.types import BOOLEAN, DOUBLE, INT, Type
from viewkeeper.plan.aggregate import EXTREMES, HOLISTIC, WHOLE, AggregateKind, is_approximate, result_type
from viewkeeper.plan.expr import Case, Expr, Input, Literal
from viewkeeper.sql.constructs import bare
from viewkeeper.sql.query import exact
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.spellings import AGGREGATES

Wanted = tuple[AggregateKind, Expr | None, Type, float | None]
"""What is computed, of what, the type of that, and the fraction of a percentile."""


class Collector:
    """The aggregates of one SELECT; to its expressions they are inputs from `first` on."""

    def __init__(self, first: int, of_input: Callable[[int], bool]) -> None:
        self.first = first
        self.calls: list[Wanted] = []
        self.names: list[str] = []
        self._approximate: list[bool] = []
        self._of_input = of_input

    def add(
        self, kind: AggregateKind, argument: Expr | None, name: str, type: Type, fraction: float | None = None
    ) -> Input:
        wanted = (kind, argument, type, fraction)
        if wanted not in self.calls:
            self.calls.append(wanted)
            self.names.append(name)
            self._approximate.append(self._is_approximate(kind, argument))
        return Input(self.first + self.calls.index(wanted), type)

    def is_approximate(self, place: int) -> bool:
        return self._approximate[place - self.first]

    def _is_approximate(self, kind: AggregateKind, argument: Expr | None) -> bool:
        """Inexact if an approximate number would become a key: that of a pre-aggregation."""
        if argument is None:
            return False
        if exact.is_approximate(argument, self._of_input) and kind in HOLISTIC | WHOLE:
            raise exact.Inexact(str(kind))
        return is_approximate(kind, argument.type)


def default_name(node: exp.Expr) -> str | None:
    """The output name of an aggregate without AS: count, sum_price; None if its argument is not a column."""
    if not isinstance(node, exp.Anonymous) or node.name.upper() not in AGGREGATES or len(node.expressions) != 1:
        return None
    function, argument = node.name.lower(), bare(node.expressions[0])
    if isinstance(argument, exp.Distinct) and len(argument.expressions) == 1:
        function, argument = f"{function}_distinct", bare(argument.expressions[0])
    if isinstance(argument, exp.Star) or (isinstance(argument, exp.Literal) and function == "count"):
        return function
    column = _column_name(argument)
    return None if column is None else f"{function}_{column}"


def _column_name(node: exp.Expr) -> str | None:
    """The name of a column, lowered, or of columns of one name in COALESCE: USING of a FULL JOIN is kept as that."""
    if isinstance(node, exp.Column):
        return node.name.lower()
    if isinstance(node, exp.Anonymous) and node.name.upper() == "COALESCE":
        names = {_column_name(bare(argument)) for argument in node.expressions}
        return names.pop() if len(names) == 1 else None
    return None


class AggregateBinder:
    """An aggregate call as it is written to an input of the collector."""

    def __init__(self, context: Context, collector: Collector, argument: Callable[[exp.Expr], Expr]) -> None:
        self._context = context
        self._collector = collector
        self._argument = argument

    def bind(self, node: exp.Anonymous, condition: exp.Expr | None) -> Input:
        """`condition` is that of FILTER (WHERE …), or None."""
        name = node.name.upper()
        if len(node.expressions) != 1:
            raise self._context.wrong_type(
                node,
                f"function {name} takes one argument, found {len(node.expressions)}",
                hint="Write one for each argument, or COUNT(*) over a sub-query with SELECT DISTINCT a, b.",
            )
        argument = bare(node.expressions[0])
        kind = AGGREGATES[name]
        if isinstance(argument, exp.Distinct):
            kind, argument = self._distinct(node, kind, argument)
        bound, shown_type = self._bound(name, kind, argument)
        if name == "COUNT_IF":
            bound = self._condition(argument, bound, name)
        if condition is not None:
            bound = self._filtered(condition, bound)
        if bound is None or (kind is AggregateKind.COUNT and _is_never_null(bound)):
            kind, bound = AggregateKind.COUNT_ROWS, None
        type = result_type(kind, None if bound is None else bound.type)
        if type is None:
            raise self._context.wrong_type(
                node, f"function {name} takes a number, found {shown_type}", hint="Convert it with CAST(… AS type)."
            )
        try:
            return self._collector.add(kind, bound, default_name(node) or name.lower(), type)
        except exact.Inexact as error:
            what = f"{error.what} of a sum of DOUBLE"
            raise self._context.refuse(node, what, detail=exact.DETAIL, hint=exact.HINT) from None

    def _bound(self, name: str, kind: AggregateKind, argument: exp.Expr) -> tuple[Expr | None, Type | None]:
        if isinstance(argument, exp.Star):
            if kind is not AggregateKind.COUNT or name != "COUNT":
                hint = f"Name the column: {name}(col)."
                raise self._context.wrong_type(argument, f"function {name} does not take *", hint=hint)
            return None, None
        bound = self._argument(argument)
        return bound, bound.type

    def _distinct(self, node: exp.Expr, kind: AggregateKind, argument: exp.Distinct) -> tuple[AggregateKind, exp.Expr]:
        if kind in EXTREMES:
            return kind, bare(argument.expressions[0])
        if kind is not AggregateKind.COUNT or node.name.upper() != "COUNT":
            raise self._context.refuse(
                node,
                f"{node.name.upper()}(DISTINCT …)",
                detail="Each different value is kept once for COUNT, MIN and MAX alone.",
                hint="Write SELECT DISTINCT in a sub-query in FROM, and the plain aggregate over it.",
            )
        if len(argument.expressions) != 1 or isinstance(bare(argument.expressions[0]), exp.Star):
            raise self._context.refuse(
                node,
                "COUNT(DISTINCT …) of other than one value",
                detail="Different values are kept for one expression.",
                hint="Write SELECT DISTINCT a, b in a sub-query in FROM, and COUNT(*) over it.",
            )
        return AggregateKind.COUNT_DISTINCT, bare(argument.expressions[0])

    def _condition(self, node: exp.Expr, bound: Expr | None, name: str) -> Expr:
        """What is not NULL where the condition is true."""
        if bound is None or bound.type != BOOLEAN:
            found = "nothing" if bound is None else str(bound.type)
            raise self._context.wrong_type(node, f"function {name} takes a condition, found {found}")
        return Case(((bound, Literal(1, INT)),), Literal(None, INT), INT)

    def bind_percentile(self, node: exp.Anonymous, value: Expr, fraction: float, condition: exp.Expr | None) -> Input:
        if condition is not None:
            value = self._filtered(condition, value)
        name = node.name.upper()
        try:
            return self._collector.add(AggregateKind.PERCENTILE, value, name.lower(), DOUBLE, fraction)
        except exact.Inexact:
            what = f"{name} of a sum of DOUBLE"
            raise self._context.refuse(node, what, detail=exact.DETAIL, hint=exact.HINT) from None

    def _filtered(self, node: exp.Expr, bound: Expr | None) -> Expr:
        condition = self._argument(node)
        if condition.type != BOOLEAN:
            raise self._context.wrong_type(node, f"FILTER takes a condition, found {condition.type}")
        if bound is None:
            bound = Literal(1, INT)
        return Case(((condition, bound),), Literal(None, bound.type), bound.type)


def _is_never_null(expr: Expr) -> bool:
    return isinstance(expr, Literal) and expr.value is not None
