"""ORDER BY, LIMIT and OFFSET: the first rows of an order. Only PERIODIC views have them; see plan/whole.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.model.types import BOOLEAN
from viewkeeper.plan.expr import Call, Expr, Input
from viewkeeper.plan.relation import Project, Relation
from viewkeeper.plan.whole import Sort, TopN
from viewkeeper.sql.constructs import bare
from viewkeeper.sql.query import exact, whole
from viewkeeper.sql.query.columns import Columns
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.expressions import Expressions
from viewkeeper.sql.query.rows import Bound
from viewkeeper.sql.query.windows import Ordered

_CLAUSES = (("order", "ORDER BY"), ("limit", "LIMIT"), ("offset", "OFFSET"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Which rows of an order are taken; `is_needed` if that is not all of them: an order alone says nothing."""

    limit: int | None
    offset: int

    @property
    def is_needed(self) -> bool:
        return self.limit is not None or self.offset > 0


def cut_of(node: exp.Expr, context: Context) -> Cut:
    """LIMIT and OFFSET of a query; Unsupported if it has one of the three clauses and the view is not PERIODIC."""
    for clause, name in _CLAUSES:
        found = node.args.get(clause)
        if found is not None:
            whole.cut(found, name, context)
    limit, offset = node.args.get("limit"), node.args.get("offset")
    return Cut(
        limit=None if limit is None else _number(limit, "LIMIT", context),
        offset=0 if offset is None else _number(offset, "OFFSET", context),
    )


def _number(clause: exp.Expr, name: str, context: Context) -> int:
    node = bare(clause.expression) if isinstance(clause.expression, exp.Expr) else None
    if not (isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit() and len(node.this) < 19):
        hint = f"Write {name} 10."
        if name == "OFFSET" and context.parameters is not None:
            hint = "Ask for the rows behind the last one that was read: WHERE a > :a, or (a, b) > (:a, :b)."
        raise context.refuse(
            clause if node is None else node,
            f"{name} other than a whole number",
            detail="How many rows are taken here is part of the definition.",
            hint=hint,
        )
    return int(node.this)


def ordered_by(item: exp.Expr, expr: Expr) -> list[Ordered]:
    """An item of an order; where its NULLs do not go below every value, that goes first."""
    descending = bool(item.args.get("desc"))
    nulls_first = bool(item.args.get("nulls_first"))
    own: Ordered = (expr, descending)
    if nulls_first is not descending:
        return [own]
    return [(Call("is_null", (expr,), BOOLEAN), nulls_first), own]


def order_of(node: exp.Expr, shown: Sequence[Expr], names: Expressions, context: Context) -> list[Ordered]:
    """ORDER BY of a query; a whole number stands for a column that it shows.

    Unsupported by a sum of DOUBLE, in a view: two computations of it could give different rows.
    """
    clause = node.args.get("order")
    found: list[Ordered] = []
    for item in [] if clause is None else clause.expressions:
        value = bare(item.this)
        if isinstance(value, exp.Literal) and not value.is_string and value.this.isdigit():
            number = int(value.this) if len(value.this) < 6 else 0
            if not 1 <= number <= len(shown):
                raise context.bad(value, f"column {value.this} of SELECT is not there: it has {len(shown)}")
            expr = shown[number - 1]
        else:
            expr = names.bind(value)
        if names.check_exact(expr, value) and context.parameters is None:
            raise context.refuse(value, "ORDER BY of a sum of DOUBLE", detail=exact.DETAIL, hint=exact.HINT)
        found += ordered_by(item, expr)
    return found


def cut_query(node: exp.Expr, bound: Bound, context: Context) -> Bound:
    """A union, or a query in parentheses, with the ORDER BY, LIMIT and OFFSET behind it."""
    cut = cut_of(node, context)
    fields = bound.relation.fields
    shown = [Input(place, column.type) for place, column in enumerate(bound.columns)]
    hidden = (field.type for field in fields[len(bound.columns) :])
    names = Expressions(context, Columns.of(None, bound.columns, hidden), "ORDER BY")
    order = order_of(node, shown, names, context)
    if not cut.is_needed:
        return bound
    exprs: list[Expr] = [Input(place, field.type) for place, field in enumerate(fields)]
    relation = bound.relation
    more = [expr for expr, _ in order if expr not in exprs]
    if more:
        exprs += dict.fromkeys(more)
        names_of = (*(field.name for field in fields), *(f"order_{place}" for place in range(len(exprs) - len(fields))))
        relation = Project(relation, tuple(exprs), names_of)
    return Bound(relation=first_rows(relation, order, exprs.index, cut, len(fields)), columns=bound.columns)


def first_rows(
    relation: Relation, order: Sequence[Ordered], place_of: Callable[[Expr], int], cut: Cut, width: int
) -> Relation:
    """The first rows of a relation, of which the fields from `width` on are there for the order alone."""
    sorts = tuple(Sort(place_of(expr), descending) for expr, descending in order)
    top = TopN(relation, sorts, cut.limit, cut.offset)
    if width == len(relation.fields):
        return top
    kept = relation.fields[:width]
    exprs = tuple(Input(place, field.type) for place, field in enumerate(kept))
    return Project(top, exprs, tuple(field.name for field in kept))
