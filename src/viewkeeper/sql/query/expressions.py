"""Expressions of a query to those of a plan."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from viewkeeper.model.types import TIMESTAMP, Type
from viewkeeper.plan.aggregate import AggregateKind
from viewkeeper.plan.expr import Expr, Literal, inputs
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.query import exact, refused, whole
from viewkeeper.sql.query.aggregates import AggregateBinder, Collector
from viewkeeper.sql.query.calls import bind_call, check_arguments, extract
from viewkeeper.sql.query.columns import Columns
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.epochs import Epochs, window
from viewkeeper.sql.query.fitting import Operand, fit
from viewkeeper.sql.query.grouping import Grouping, grouping_call
from viewkeeper.sql.query.literals import literal
from viewkeeper.sql.query.misplaced import is_exists, is_in_query, misplaced, not_in
from viewkeeper.sql.query.operators import bind_operator
from viewkeeper.sql.query.over import window_function
from viewkeeper.sql.query.scalar import scalar
from viewkeeper.sql.query.spellings import AGGREGATES
from viewkeeper.sql.query.windows import FIRST as FIRST_WINDOW
from viewkeeper.sql.query.windows import Windows


class Expressions:
    """Binds the expressions of one clause of one SELECT.

    `clause` is its name. Without `aggregates`, an aggregate is refused there, without `windows` a window function.
    `aliases` are output names that the clause may use, lowered; they go before columns.
    """

    def __init__(
        self,
        context: Context,
        columns: Columns,
        clause: str,
        *,
        aggregates: Collector | None = None,
        epochs: Epochs | None = None,
        grouping: Grouping | None = None,
        windows: Windows | None = None,
        aliases: Mapping[str, Expr] | None = None,
    ) -> None:
        self.context = context
        self.seen: dict[int, exp.Expr] = {}
        """The columns that were met, each where it first stood."""
        self._columns = columns
        self.clause = clause
        self._aggregates = aggregates
        self._epochs = epochs
        self._grouping = grouping
        self._windows = windows
        self._aliases = aliases or {}

    def like(self, clause: str, aliases: Mapping[str, Expr]) -> Expressions:
        """The binder of another clause of the same SELECT, over the same groups."""
        found = Expressions(
            self.context,
            self._columns,
            clause,
            aggregates=self._aggregates,
            epochs=self._epochs,
            grouping=self._grouping,
            windows=self._windows if clause == "ORDER BY" else None,
            aliases=aliases,
        )
        if clause in ("ORDER BY", "OVER"):
            # Their expressions are made ones over groups with those of SELECT.
            found.seen = self.seen
        return found

    def inside_over(self) -> Expressions:
        """The binder of what stands in a window function: over the same groups, and without another one inside."""
        return self.like("OVER", self._aliases)

    def bind(self, node: exp.Expr) -> Expr:
        operand = self.operand(node)
        if operand.is_parameter:
            return self._alone(operand)
        found = operand.expr
        if found is None:
            raise self.context.refuse(
                bare(node),
                f"NULL without a type in {self.clause}",
                detail="Every column of a view has a type.",
                hint="Write CAST(NULL AS type).",
            )
        return found

    def _alone(self, operand: Operand) -> Expr:
        assert self.context.parameters is not None
        assert operand.parameter is not None
        return self.context.parameters.alone(*operand.parameter, operand.node)

    def condition(self, node: exp.Expr) -> Expr:
        """A BOOLEAN that does not depend on the order of additions."""
        found = fit("and", [self.operand(node)], self.clause, node, self.context).args[0]
        self.check_exact(found, node)
        return found

    def check_exact(self, expr: Expr, node: exp.Expr) -> bool:
        """Whether the expression is approximate; Unsupported if it puts such a number where it may not go."""
        try:
            return exact.is_approximate(expr, self._is_approximate)
        except exact.Inexact as error:
            what = f"{error.what} of a sum of DOUBLE in {self.clause}"
            raise self.context.refuse(node, what, detail=exact.DETAIL, hint=exact.HINT) from None

    def _is_approximate(self, place: int) -> bool:
        if place < self._columns.width:
            return self._columns.is_approximate(place)
        if place >= FIRST_WINDOW:
            return self._windows is not None and self._windows.is_approximate(place)
        return (
            self._aggregates is not None
            and place >= self._aggregates.first
            and (self._aggregates.is_approximate(place))
        )

    def operand(self, node: exp.Expr) -> Operand:
        node = bare(node)
        if isinstance(node, exp.Null):
            return Operand(node, None)
        if isinstance(node, exp.Placeholder) and self.context.parameters is not None:
            return Operand(node, None, parameter=(self.context.parameters.key(node), None))
        constant = literal(node, self.context)
        if constant is not None:
            return Operand(node, constant, is_text=isinstance(node, exp.Literal) and node.is_string)
        return Operand(node, self._bind(node))

    def _bind(self, node: exp.Expr) -> Expr:
        inner = bare(node.this) if isinstance(node, exp.Not) else node
        if isinstance(inner, exp.In) and is_in_query(inner) and inner is not node:
            raise not_in(inner, self._columns, self.context)
        if is_exists(node) or is_in_query(node):
            raise misplaced(node, self.clause, self.context)
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Extract():
                return extract(node.name, node.expression, node, self)
            case exp.Anonymous():
                return self._function(node)
            case exp.Filter() | exp.Window() | exp.WithinGroup():
                return self._suffixed(node)
        found = bind_operator(node, self)
        if found is None:
            raise self._refuse(node)
        return found

    def _column(self, node: exp.Column) -> Expr:
        if not node.table and node.name.lower() in self._aliases:
            return self._aliases[node.name.lower()]
        found = self._columns.find(node, self.context)
        for place in inputs(found):
            self.seen.setdefault(place, node)
        return found

    def _function(self, node: exp.Anonymous) -> Expr:
        name = node.name.upper()
        if name in AGGREGATES:
            return self._aggregate(node, None)
        if name in whole.PERCENTILES:
            return self._percentile(node, node)
        if name == "WINDOW":
            return self._window(node)
        if name in ("GROUPING", "GROUPING_ID"):
            check_arguments(node, self.context)
            if self._grouping is None:
                raise self._grouped_only(node, name)
            return grouping_call(name, [self.bind(arg) for arg in node.expressions], node, self._grouping, self.context)
        return bind_call(node, self)

    def _window(self, node: exp.Anonymous) -> Expr:
        if self._epochs is None:
            raise self._grouped_only(node, "WINDOW")
        check_arguments(node, self.context)
        moment = self.bind(node.expressions[0]) if node.expressions else Literal(None, TIMESTAMP)
        return self._epochs.input(window(node.expressions, moment, node, self.context), node, self.context)

    def _grouped_only(self, node: exp.Expr, name: str) -> Exception:
        return self.context.refuse(
            node,
            f"function {name} in {self.clause}",
            detail=f"{name} says something about the groups of GROUP BY.",
            hint="Write it in SELECT or HAVING of a query with GROUP BY.",
        )

    def _suffixed(self, node: exp.Expr) -> Expr:
        """f(…) FILTER (…), f(…) WITHIN GROUP (…), f(…) OVER (…)"""
        if isinstance(node, exp.Window):
            return window_function(node, self, self._windows)
        call = node.this
        if isinstance(node, exp.Filter) and isinstance(call, exp.Anonymous) and call.name.upper() in AGGREGATES:
            return self._aggregate(call, node.expression.this)
        if isinstance(call, exp.Anonymous) and call.name.upper() in whole.PERCENTILES:
            return self._percentile(node, call)
        word = "FILTER" if isinstance(node, exp.Filter) else "WITHIN GROUP"
        raise self.context.refuse(
            node,
            f"{word} of {construct(call)}",
            detail=f"{word} belongs to an aggregate function.",
            hint=f"Leave out {word}.",
        )

    def _aggregate(self, node: exp.Anonymous, condition: exp.Expr | None) -> Expr:
        if self._aggregates is None:
            raise self._misplaced(node)
        for argument in node.expressions:
            if not isinstance(argument, exp.Distinct | exp.Star):
                check_arguments(exp.Anonymous(this=node.name, expressions=[argument]), self.context)
        inner = self._inside(node)
        return AggregateBinder(self.context, self._aggregates, inner.bind).bind(node, condition)

    def _percentile(self, node: exp.Expr, call: exp.Anonymous) -> Expr:
        if self._aggregates is None:
            raise self._misplaced(call)
        check_arguments(call, self.context)
        inner = self._inside(call)
        condition = node.expression.this if isinstance(node, exp.Filter) else None
        value, fraction = whole.percentile(node, call, inner)
        return AggregateBinder(self.context, self._aggregates, inner.bind).bind_percentile(
            call, value, fraction, condition
        )

    def aggregate_alone(
        self, node: exp.Anonymous, condition: exp.Expr | None
    ) -> tuple[AggregateKind, Expr | None, Type]:
        """An aggregate that is not one of the groups: kind, argument, which may be one of the groups, and type."""
        found = Collector(0, self._is_approximate)
        for argument in node.expressions:
            if not isinstance(argument, exp.Distinct | exp.Star):
                check_arguments(exp.Anonymous(this=node.name, expressions=[argument]), self.context)
        AggregateBinder(self.context, found, self.bind).bind(node, condition)
        ((kind, expr, type, _),) = found.calls
        return kind, expr, type

    def _inside(self, node: exp.Anonymous) -> Expressions:
        clause = f"function {node.name.upper()}"
        return Expressions(self.context, self._columns, clause, epochs=self._epochs)

    def _misplaced(self, node: exp.Anonymous) -> Exception:
        name = node.name.upper()
        if self.clause.startswith("function"):
            detail, hint = "It is computed over rows, not over groups.", "Write the inner one in a sub-query in FROM."
        elif self.clause == "CREATE INDEX":
            detail, hint = (
                "An index has an entry for each row.",
                "Create a view with GROUP BY, and KEY or an index on it.",
            )
        else:
            detail = "Groups are made of the rows that WHERE leaves."
            hint = "Write conditions on aggregates in HAVING."
        return self.context.refuse(node, f"function {name} in {self.clause}", detail=detail, hint=hint)

    def _refuse(self, node: exp.Expr) -> Exception:
        match node:
            case exp.Placeholder():
                return self.context.refusal(node, refused.PARAMETER)
            case exp.Query():
                return scalar(node, self._columns, self.context)
        known = refused.EXPRESSIONS.get(type(node))
        if known is None and isinstance(node, exp.Func) and node.sql_name() in refused.FUNCTIONS:
            return self.context.refusal(node, refused.FUNCTIONS[node.sql_name()], construct(node))
        refusal = known or refused.OTHER
        return self.context.refusal(node, refusal, f"{refusal.name or construct(node)} in {self.clause}")
