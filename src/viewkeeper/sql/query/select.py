"""A query to a relation:

    plain       Project(rows)
    grouped     Project(Filter?(Aggregate(Filter?(Project | Expand(rows)))))
    OVER        Project(Window(Project?(rows or groups))), in place of the Project of either
    DISTINCT    Distinct(either)
    LIMIT       Project?(TopN(all of that))

The rows are those that FROM and WHERE give, see cluster.py. The Filter right below Aggregate keeps the epochs that a
row is in. Scans still have all columns; prune.py takes away what is not used.
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.plan.expr import Expr, Input, Literal, inputs, rewrite
from viewkeeper.plan.relation import Distinct, Project
from viewkeeper.sql.constructs import construct
from viewkeeper.sql.query import exact, refused_joins
from viewkeeper.sql.query.aggregates import Collector
from viewkeeper.sql.query.columns import RowColumn
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.cut import Cut, cut_of, cut_query, first_rows, order_of
from viewkeeper.sql.query.epochs import Epochs
from viewkeeper.sql.query.expressions import Expressions
from viewkeeper.sql.query.from_clause import Named, SubQueries, bind_from, check_clauses
from viewkeeper.sql.query.grouped import GroupedSelect, Retained
from viewkeeper.sql.query.outputs import Item, distinct_names, items_of
from viewkeeper.sql.query.rows import Bound
from viewkeeper.sql.query.sub_queries import bind_where
from viewkeeper.sql.query.unions import bind_union
from viewkeeper.sql.query.windows import Ordered, Windows
from viewkeeper.sql.query.with_clause import bind_with

_SELECT = {"with_", "expressions", "from_", "joins", "where", "group", "having", "distinct", "order", "limit", "offset"}
_AROUND = {"this", "alias", "joins", "with_", "order", "limit", "offset"}


def bind_query(node: exp.Expr, context: Context, named: Named) -> Bound:
    """A query and what its columns are; `named` are the queries of WITH around it."""
    bound, retained = bind_top(node, context, named)
    if retained is not None:
        raise context.refuse(
            retained.node,
            "RETAIN in a sub-query",
            detail="It is the epochs of a view that grow old.",
            hint="Create a view of the sub-query, with RETAIN, and read that.",
        )
    return bound


def bind_top(node: exp.Expr, context: Context, named: Named) -> tuple[Bound, Retained | None]:
    """The query of a view itself, and the epochs that it drops."""
    inner = bind_with(node, SubQueries(context=context, named=named, bind_query=bind_query))
    match node:
        case exp.Subquery():
            check_clauses(node, _AROUND, context)
            bound, retained = bind_top(node.this, context, inner.named)
            return cut_query(node, bound, context), retained
        case exp.Union():
            return cut_query(node, bind_union(node, inner), context), None
        case exp.SetOperation():
            raise context.refusal(node, refused_joins.SET_OPERATIONS[type(node)], construct(node))
        case exp.Select():
            return _Select(node, inner).bind()
    hint = "Write SELECT … FROM t."
    raise context.refuse(node, f"{construct(node)} as a query", detail="A view is a SELECT.", hint=hint)


class _Select:
    """One SELECT while it is bound."""

    def __init__(self, query: exp.Select, inner: SubQueries) -> None:
        self.query = query
        self.context = inner.context
        check_clauses(query, _SELECT, self.context)
        self.rows = bind_where(query, bind_from(query, inner), inner).build(self.context)
        self.items = items_of(query, self.rows.columns, self.context)

    def bind(self) -> tuple[Bound, Retained | None]:
        width = self.rows.width
        # Behind the columns come the stand-ins: the epoch, the grouping id, then the aggregates.
        collector = Collector(width + 2, self._is_approximate)
        epochs, windows = Epochs(width), Windows()
        group = self.query.args.get("group")
        having = self.query.args.get("having")
        grouped = GroupedSelect(self.context, self.rows, collector, epochs, windows, id_place=width + 1)
        if group is not None:
            grouped.group_by(group, self.items)
        binder = Expressions(
            self.context,
            self.rows.columns,
            "SELECT",
            aggregates=collector,
            epochs=epochs if group is not None else None,
            grouping=grouped.grouping if group is not None else None,
            windows=windows,
        )
        shown = [self._value(item, binder) for item in self.items]
        if having is not None:
            self._having(having, shown, grouped, binder)
        cut, order = self._order(shown, binder)
        more = list(dict.fromkeys(expr for expr, _ in order if expr not in shown)) if cut.is_needed else []
        retained = None
        if group is None and having is None and not collector.calls:
            bound = self._plain(shown, windows, binder, more)
        else:
            bound, retained = grouped.finish(self.items, shown, binder, more)
        return self._cut(self._finished(bound, more), cut, order, [*shown, *more]), retained

    def _is_approximate(self, place: int) -> bool:
        return place < self.rows.width and self.rows.columns.is_approximate(place)

    def _value(self, item: Item, binder: Expressions) -> Expr:
        if item.expr is None:
            return binder.bind(item.node)
        for place in inputs(item.expr):
            binder.seen.setdefault(place, item.node)
        return item.expr

    def _having(self, having: exp.Expr, shown: list[Expr], grouped: GroupedSelect, binder: Expressions) -> None:
        aliases = {item.name.lower(): expr for item, expr in zip(self.items, shown, strict=True) if item.expr is None}
        grouped.having(having.this, binder.like("HAVING", aliases))

    def _order(self, shown: list[Expr], binder: Expressions) -> tuple[Cut, list[Ordered]]:
        """ORDER BY, LIMIT, OFFSET: their names are looked up where they are allowed."""
        cut = cut_of(self.query, self.context)
        aliases = {item.name.lower(): expr for item, expr in zip(self.items, shown, strict=True)}
        return cut, order_of(self.query, shown, binder.like("ORDER BY", aliases), self.context)

    def _cut(self, bound: Bound, cut: Cut, order: list[Ordered], exprs: list[Expr]) -> Bound:
        """The first rows; the fields behind the visible and the hidden ones, for the order alone, are taken away."""
        if not cut.is_needed:
            return bound
        more = len(exprs) - len(self.items)
        width = len(bound.relation.fields) - more

        def place_of(expr: Expr) -> int:
            place = exprs.index(expr)
            return place if place < len(self.items) else width + place - len(self.items)

        return Bound(relation=first_rows(bound.relation, order, place_of, cut, width), columns=bound.columns)

    def _plain(self, shown: list[Expr], windows: Windows, binder: Expressions, more: list[Expr]) -> Bound:
        names = distinct_names([*(item.name for item in self.items), *("order" for _ in more)])
        columns = []
        for item, expr in zip(self.items, shown, strict=True):
            columns.append(self._column(item, expr, binder.check_exact(expr, item.node)))
        below = windows.over(self.rows.relation, lambda expr: expr)
        exprs = tuple(rewrite(expr, windows.moved) for expr in (*shown, *more))
        return Bound(relation=Project(below, exprs, tuple(names)), columns=tuple(columns))

    def _column(self, item: Item, expr: Expr, approximate: bool) -> RowColumn:
        nullable, temporal = not (isinstance(expr, Literal) and expr.value is not None), False
        if isinstance(expr, Input) and expr.index < self.rows.width:
            found = self.rows.columns.column(expr.index)
            nullable, temporal = found.nullable, found.temporal
        return RowColumn(name=item.name, type=expr.type, nullable=nullable, temporal=temporal, approximate=approximate)

    def _finished(self, bound: Bound, more: list[Expr]) -> Bound:
        distinct = self.query.args.get("distinct")
        if distinct is None:
            return bound
        if distinct.args.get("on"):
            raise self.context.refuse(
                distinct,
                "DISTINCT ON",
                detail="Which row of each is kept is left to chance.",
                hint="Write GROUP BY with MIN or MAX.",
            )
        if more:
            raise self.context.bad(
                self.query.args["order"],
                "ORDER BY of what SELECT DISTINCT does not show",
                detail="A row that is shown once may stand for rows with many values of it.",
                hint="Show it, or write GROUP BY with MIN or MAX.",
            )
        for item, column in zip(self.items, bound.columns, strict=True):
            if column.approximate:
                what = "DISTINCT of a sum of DOUBLE"
                raise self.context.refuse(item.node, what, detail=exact.DETAIL, hint=exact.HINT)
        relation = bound.relation
        if len(relation.fields) > len(bound.columns):
            # Hidden columns, such as a grouping id, would make equal rows different.
            kept = range(len(bound.columns))
            names = tuple(relation.fields[place].name for place in kept)
            relation = Project(relation, tuple(Input(place, relation.fields[place].type) for place in kept), names)
        return Bound(relation=Distinct(relation), columns=bound.columns)
