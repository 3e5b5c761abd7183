"""A query to a relation:

    plain       Project(Filter?(source))
    grouped     Project(Filter?(Aggregate(Filter?(Project | Expand(Filter?(source))))))
    DISTINCT    Distinct(either)

The Filter right below Aggregate keeps the epochs that a row is in. Scans still have all columns; prune.py takes away
what is not used.
"""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.plan.expr import Expr, Input, Literal
from viewkeeper.plan.relation import Distinct, Filter, Project
from viewkeeper.sql.constructs import construct
from viewkeeper.sql.query import exact, refused, whole
from viewkeeper.sql.query.aggregates import Collector
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.epochs import Epochs
from viewkeeper.sql.query.expressions import Expressions
from viewkeeper.sql.query.from_clause import Named, bind_from, check_clauses, refuse_joins
from viewkeeper.sql.query.grouped import GroupedSelect, Retained
from viewkeeper.sql.query.outputs import Item, items_of
from viewkeeper.sql.query.rows import Bound, RowColumn

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
    named = _with(node, context, named)
    if isinstance(node, exp.Subquery):
        check_clauses(node, _AROUND, context)
        refuse_joins(node, context)
        found = bind_top(node.this, context, named)
        _cuts(node, context)
        return found
    if isinstance(node, exp.Union):
        raise context.refusal(node, refused.UNION)
    if isinstance(node, exp.SetOperation):
        raise context.refusal(node, refused.SET_OPERATION, construct(node))
    if not isinstance(node, exp.Select):
        hint = "Write SELECT … FROM t."
        raise context.refuse(node, f"{construct(node)} as a query", detail="A view is a SELECT.", hint=hint)
    return _Select(node, context, named).bind()


def _with(node: exp.Expr, context: Context, named: Named) -> Named:
    clause = node.args.get("with_")
    if clause is None:
        return named
    if clause.args.get("recursive"):
        raise context.refusal(clause, refused.RECURSIVE)
    check_clauses(clause, {"expressions", "recursive"}, context)
    found = dict(named)
    for part in clause.expressions:
        check_clauses(part, {"this", "alias"}, context)
        alias = part.args["alias"]
        if alias.args.get("columns"):
            raise context.refuse(
                alias,
                "a name of WITH with columns",
                detail="The columns of a query are named in its SELECT.",
                hint="Give the columns their names with AS.",
            )
        found[alias.name.lower()] = bind_query(part.this, context, found)
    return found


def _cuts(node: exp.Expr, context: Context) -> None:
    for clause, name in (("order", "ORDER BY"), ("limit", "LIMIT"), ("offset", "OFFSET")):
        found = node.args.get(clause)
        if found is not None:
            whole.cut(found, name, context)


class _Select:
    """One SELECT while it is bound."""

    def __init__(self, query: exp.Select, context: Context, named: Named) -> None:
        check_clauses(query, _SELECT, context)
        self.query = query
        self.context = context
        self.rows = bind_from(query, context, named, bind_query)
        where = query.args.get("where")
        if where is not None:
            condition = Expressions(context, self.rows, "WHERE").condition(where.this)
            self.rows = self.rows.over(Filter(self.rows.relation, condition))
        self.items = items_of(query, self.rows, context)

    def bind(self) -> tuple[Bound, Retained | None]:
        width = self.rows.width
        # Behind the columns come the stand-ins: the epoch, the grouping id, then the aggregates.
        collector = Collector(width + 2, self._is_approximate)
        epochs = Epochs(width)
        group = self.query.args.get("group")
        having = self.query.args.get("having")
        grouped = GroupedSelect(self.context, self.rows, collector, epochs, id_place=width + 1)
        if group is not None:
            grouped.group_by(group, self.items)
        binder = Expressions(
            self.context,
            self.rows,
            "SELECT",
            aggregates=collector,
            epochs=epochs if group is not None else None,
            grouping=grouped.grouping if group is not None else None,
        )
        shown = [self._value(item, binder) for item in self.items]
        if having is not None:
            self._having(having, shown, grouped, binder)
        self._order(shown, binder)
        if group is None and having is None and not collector.is_used:
            return self._finished(self._plain(shown)), None
        bound, retained = grouped.finish(self.items, shown, binder)
        return self._finished(bound), retained

    def _is_approximate(self, place: int) -> bool:
        return place < len(self.rows.columns) and self.rows.columns[place][1].approximate

    def _value(self, item: Item, binder: Expressions) -> Expr:
        if item.column is not None:
            binder.seen.setdefault(item.column, item.node)
            return self.rows.input(item.column)
        return binder.bind(item.node)

    def _having(self, having: exp.Expr, shown: list[Expr], grouped: GroupedSelect, binder: Expressions) -> None:
        aliases = {item.name.lower(): expr for item, expr in zip(self.items, shown, strict=True) if item.column is None}
        grouped.having(having.this, binder.like("HAVING", aliases))

    def _order(self, shown: list[Expr], binder: Expressions) -> None:
        """ORDER BY, LIMIT, OFFSET: their names are looked up where they are allowed."""
        _cuts(self.query, self.context)
        order = self.query.args.get("order")
        if order is not None:
            aliases = {item.name.lower(): expr for item, expr in zip(self.items, shown, strict=True)}
            names = binder.like("ORDER BY", aliases)
            for item in order.expressions:
                names.bind(item.this)

    def _plain(self, shown: list[Expr]) -> Bound:
        names = tuple(item.name for item in self.items)
        columns = []
        for item, expr in zip(self.items, shown, strict=True):
            approximate = Expressions(self.context, self.rows, "SELECT").check_exact(expr, item.node)
            columns.append(self._column(item, expr, approximate))
        return Bound(relation=Project(self.rows.relation, tuple(shown), names), columns=tuple(columns))

    def _column(self, item: Item, expr: Expr, approximate: bool) -> RowColumn:
        nullable, temporal = not (isinstance(expr, Literal) and expr.value is not None), False
        if isinstance(expr, Input):
            found = self.rows.columns[expr.index][1]
            nullable, temporal = found.nullable, found.temporal
        return RowColumn(name=item.name, type=expr.type, nullable=nullable, temporal=temporal, approximate=approximate)

    def _finished(self, bound: Bound) -> Bound:
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
