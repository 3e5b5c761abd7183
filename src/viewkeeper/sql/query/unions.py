"""UNION ALL and UNION: the rows of several queries, with columns of the same types.

UNION ALL   UnionAll(branches)
UNION       Distinct(UnionAll(branches)); of unions inside of it the branches are taken, since equal rows go anyway
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from viewkeeper.model.types import Type
from viewkeeper.plan.expr import Expr, Input
from viewkeeper.plan.join import UnionAll
from viewkeeper.plan.relation import Distinct, Project, Relation
from viewkeeper.sql.query import exact, refused_joins
from viewkeeper.sql.query.columns import RowColumn
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.fitting import Operand, convert, meet
from viewkeeper.sql.query.from_clause import SubQueries, check_clauses
from viewkeeper.sql.query.outputs import need_no_names
from viewkeeper.sql.query.rows import Bound

_PARTS = {"with_", "this", "expression", "distinct", "order", "limit", "offset"}
_OWN = ("with_", "order", "limit", "offset")
"""What makes a union inside of another a query of its own."""


def bind_union(node: exp.Union, inner: SubQueries) -> Bound:
    """The union; BadDefinition or WrongType if its queries differ in the number or the types of columns."""
    context = inner.context
    branches = _branches(node, node, inner)
    first, others = branches[0], branches[1:]
    for query, bound in others:
        if len(bound.columns) != len(first[1].columns):
            found, expected = len(bound.columns), len(first[1].columns)
            raise context.bad(
                query,
                f"a query of UNION has {found} column{'s' * (found != 1)}, the first one has {expected}",
                detail=f"The columns of the first are {', '.join(column.name for column in first[1].columns)}.",
                hint="Select the same columns in each; CAST(NULL AS type) stands for one that is missing.",
            )
    columns = tuple(_column(place, branches, context) for place in range(len(first[1].columns)))
    types = [column.type for column in columns]
    union = UnionAll(tuple(_fitted(bound, types) for _, bound in branches))
    if not node.args.get("distinct"):
        return Bound(relation=union, columns=columns)
    if any(column.approximate for column in columns):
        raise context.refuse(node, "UNION of a sum of DOUBLE", detail=exact.DETAIL, hint=exact.HINT)
    return Bound(relation=Distinct(union), columns=columns)


def _check(node: exp.Expr, context: Context) -> None:
    if any(node.args.get(name) for name in ("by_name", "side", "kind", "on")):
        raise context.refusal(node, refused_joins.BY_NAME)
    check_clauses(node, _PARTS, context)


def _branches(node: exp.Expr, above: exp.Union, inner: SubQueries) -> list[tuple[exp.Expr, Bound]]:
    """The queries of a union inside of another, where it makes no difference that it is one; else the node alone."""
    inside = node
    while isinstance(inside, exp.Subquery) and [name for name, value in inside.args.items() if value] == ["this"]:
        inside = inside.this
    if inside is not above:
        if not isinstance(inside, exp.Union) or any(inside.args.get(name) for name in _OWN):
            return [(node, inner.bind(node))]
        if inside.args.get("distinct") and not above.args.get("distinct"):
            return [(node, inner.bind(node))]
    _check(inside, inner.context)
    need_no_names(inside.expression)
    return [*_branches(inside.this, above, inner), *_branches(inside.expression, above, inner)]


def _column(place: int, branches: Sequence[tuple[exp.Expr, Bound]], context: Context) -> RowColumn:
    """The column at a place of all branches: with the first one's name, and the type at which they meet."""
    found = [bound.columns[place] for _, bound in branches]
    nodes = [query for query, _ in branches]
    operands = [Operand(node, Input(place, column.type)) for node, column in zip(nodes, found, strict=True)]
    other = next((node for node, one in zip(nodes, found, strict=True) if one.type != found[0].type), nodes[0])
    _, type = meet(operands, f'column "{found[0].name}" of UNION', other, context)
    return RowColumn(
        name=found[0].name,
        type=type,
        nullable=any(column.nullable for column in found),
        temporal=all(column.temporal for column in found),
        approximate=any(column.approximate for column in found),
    )


def _fitted(bound: Bound, types: Sequence[Type]) -> Relation:
    """A branch with these types, and without hidden columns, such as a grouping id."""
    relation, fields = bound.relation, bound.relation.fields
    if [field.type for field in fields] == list(types):
        return relation
    names = tuple(field.name for field in fields[: len(types)])
    exprs: list[Expr] = [Input(place, fields[place].type) for place in range(len(types))]
    if isinstance(relation, Project):
        exprs = list(relation.exprs[: len(types)])
        return Project(relation.input, tuple(map(convert, exprs, types)), names)
    return Project(relation, tuple(map(convert, exprs, types)), names)
