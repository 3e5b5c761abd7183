"""FROM: the sources of a query, tables, views, sub-queries and names of WITH, and how they are joined.

A comma binds weaker than JOIN: `a, b LEFT JOIN c ON …` is a beside (b LEFT JOIN c).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.plan.relation import Field, Scan
from viewkeeper.plan.whole import Single
from viewkeeper.sql.constructs import construct
from viewkeeper.sql.query import refused, refused_joins
from viewkeeper.sql.query.cluster import Cluster
from viewkeeper.sql.query.columns import Columns, RowColumn
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.joins import beside, check_kind, join, lateral
from viewkeeper.sql.query.refused import Refusal
from viewkeeper.sql.query.rows import Bound, Rows
from viewkeeper.sql.sources import Source, source_of

Named = Mapping[str, Bound]
"""The queries of WITH by name, lowered."""

BindQuery = Callable[[exp.Expr, Context, Named], Bound]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubQueries:
    """How the queries inside a query are bound: `named` are those of WITH around it."""

    context: Context
    named: Named
    bind_query: BindQuery

    def bind(self, node: exp.Expr) -> Bound:
        return self.bind_query(node, self.context, self.named)


def bind_from(query: exp.Select, inner: SubQueries) -> Cluster:
    """The sources that a query reads, joined as far as FROM says it."""
    clause = query.args.get("from_")
    if clause is None and inner.context.parameters is not None:
        return Cluster.of(Single(), Columns.of(None, ()), query)
    if clause is None:
        raise inner.context.refuse(
            query,
            "SELECT without FROM",
            detail="A view follows a table or another view.",
            hint="Name a table: SELECT … FROM t.",
        )
    first = clause.this
    return _joined(first, [*_joins(first), *_joins(query)], inner, is_alone=True)


def _joins(node: exp.Expr) -> list[exp.Join]:
    return node.args.get("joins") or []


def _joined(first: exp.Expr, joins: list[exp.Join], inner: SubQueries, *, is_alone: bool) -> Cluster:
    """Sources joined from left to right between commas, then side by side. `is_alone`: there is nothing beside them."""
    context = inner.context
    groups = [_one(first, inner, is_alone=is_alone and not joins)]
    for node in joins:
        check_kind(node, context)
        right = _joined(node.this, _joins(node.this), inner, is_alone=False)
        if context.is_comma(node):
            groups.append(right)
        else:
            groups[-1] = join(groups[-1], right, node, context)
    found, *others = groups
    for right in others:
        found = beside(found, right, context)
    return found


def _one(node: exp.Expr, inner: SubQueries, *, is_alone: bool) -> Cluster:
    """One source, or what stands in parentheses."""
    context = inner.context
    if not _is_in_parentheses(node):
        rows = _rows(node, inner, is_alone=is_alone)
        return Cluster.of(rows.relation, rows.columns, node)
    check_clauses(node, {"this", "alias", "joins"}, context)
    alias = node.args.get("alias")
    if alias is not None:
        raise context.refuse(
            alias,
            "a name of a join in parentheses",
            detail="Its sources have their names, and its columns are read by them.",
            hint="Write a sub-query: (SELECT … FROM …) AS name.",
        )
    return _joined(node.this, _joins(node.this), inner, is_alone=is_alone)


def _is_in_parentheses(node: exp.Expr) -> bool:
    """Whether a node is parentheses around sources, not around a query."""
    if not isinstance(node, exp.Subquery):
        return False
    inside = node.this
    if isinstance(inside, exp.Subquery):
        return bool(inside.args.get("alias") or _joins(inside)) or _is_in_parentheses(inside)
    return isinstance(inside, exp.Table)


def _rows(node: exp.Expr, inner: SubQueries, *, is_alone: bool) -> Rows:
    context = inner.context
    match node:
        case exp.Table() if isinstance(node.this, exp.Identifier):
            check_clauses(node, {"this", "alias", "joins"}, context)
            alias = _alias(node, context)
            bound = inner.named.get(node.name.lower())
            if bound is not None:
                return of_query(bound, alias or node.name)
            return of_source(source_of(context.find(node.name)), alias or node.name)
        case exp.Table():
            raise context.refusal(node, refused.TABLE_FUNCTION, f"{construct(node.this)} in FROM")
        case exp.Subquery():
            check_clauses(node, {"this", "alias", "joins", "order", "limit", "offset", "with_"}, context)
            alias = _alias(node, context)
            if alias is None and not is_alone:
                raise context.refusal(node, refused_joins.UNNAMED)
            return of_query(inner.bind(node), alias)
        case exp.Values():
            raise context.refusal(node, refused.VALUES)
    if isinstance(node, exp.Lateral | exp.Unnest):
        raise lateral(node, context)
    raise context.refusal(node, refused.TABLE_FUNCTION, f"{construct(node)} in FROM")


def of_source(source: Source, qualifier: str | None) -> Rows:
    """All columns of a table or view."""
    fields = tuple(Field(column.name, column.type) for column in source.columns)
    columns = (
        RowColumn(
            name=column.name,
            type=column.type,
            nullable=column.nullable,
            temporal=column.temporal,
            approximate=number in source.approximate,
        )
        for number, column in enumerate(source.columns)
    )
    scan = Scan(source.id, source.name, tuple(range(len(fields))), fields, source.is_view)
    return Rows(relation=scan, columns=Columns.of(qualifier, columns))


def of_query(bound: Bound, qualifier: str | None) -> Rows:
    """The columns of a query; its hidden ones stay, without a name."""
    hidden = (field.type for field in bound.relation.fields[len(bound.columns) :])
    return Rows(relation=bound.relation, columns=Columns.of(qualifier, bound.columns, hidden))


def _alias(node: exp.Expr, context: Context) -> str | None:
    alias = node.args.get("alias")
    if alias is None:
        return None
    if alias.args.get("columns") or not isinstance(alias.this, exp.Identifier):
        raise context.refuse(
            alias,
            "an alias with columns",
            detail="A source has one name, and its columns have theirs.",
            hint="Give the columns other names with AS in the sub-query.",
        )
    return str(alias.this.name)


def check_clauses(node: exp.Expr, allowed: set[str], context: Context) -> None:
    """Unsupported for any part of a node that is not among those `allowed`."""
    for clause, value in node.args.items():
        if value and clause not in allowed:
            found = value[0] if isinstance(value, list) else value
            where = found if isinstance(found, exp.Expr) else node
            name = clause.strip("_").replace("_", " ").upper()
            other = Refusal(detail="It is no part of a view.", hint="Leave it out.")
            refusal = refused.CLAUSES.get(clause, other)
            raise context.refusal(where, refusal, refusal.name or name)
