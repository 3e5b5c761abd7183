"""FROM: the one source of a query, a table, a view, a sub-query or a name of WITH. Joins will be added here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from viewkeeper.plan.relation import Field, Scan
from viewkeeper.sql.constructs import construct
from viewkeeper.sql.query import refused
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.refused import Refusal
from viewkeeper.sql.query.rows import Bound, RowColumn, Rows
from viewkeeper.sql.sources import Source, source_of

Named = Mapping[str, Bound]
"""The queries of WITH by name, lowered."""

BindQuery = Callable[[exp.Expr, Context, Named], Bound]


def bind_from(query: exp.Select, context: Context, named: Named, bind_query: BindQuery) -> Rows:
    """The rows that a query reads. Unsupported unless they are of one source."""
    clause = query.args.get("from_")
    if clause is None:
        raise context.refuse(
            query,
            "SELECT without FROM",
            detail="A view follows a table or another view.",
            hint="Name a table: SELECT … FROM t.",
        )
    refuse_joins(query, context)
    node = clause.this
    refuse_joins(node, context)
    match node:
        case exp.Table() if isinstance(node.this, exp.Identifier):
            check_clauses(node, {"this", "alias", "joins"}, context)
            alias = _alias(node, context)
            bound = named.get(node.name.lower())
            if bound is not None:
                return _of_query(bound, alias or node.name)
            return of_source(source_of(context.find(node.name)), alias or node.name)
        case exp.Table():
            raise context.refusal(node, refused.TABLE_FUNCTION, f"{construct(node.this)} in FROM")
        case exp.Subquery():
            check_clauses(node, {"this", "alias", "joins", "order", "limit", "offset", "with_"}, context)
            return _of_query(bind_query(node, context, named), _alias(node, context))
        case exp.Values():
            raise context.refusal(node, refused.VALUES)
    if isinstance(node, exp.Lateral | exp.Unnest):
        raise context.refusal(node, refused.CLAUSES["laterals"])
    raise context.refusal(node, refused.TABLE_FUNCTION, f"{construct(node)} in FROM")


def of_source(source: Source, qualifier: str | None) -> Rows:
    """All columns of a table or view."""
    fields = tuple(Field(column.name, column.type) for column in source.columns)
    columns = tuple(
        (
            qualifier,
            RowColumn(
                name=column.name,
                type=column.type,
                nullable=column.nullable,
                temporal=column.temporal,
                approximate=number in source.approximate,
            ),
        )
        for number, column in enumerate(source.columns)
    )
    return Rows(relation=Scan(source.id, source.name, tuple(range(len(fields))), fields), columns=columns)


def _of_query(bound: Bound, qualifier: str | None) -> Rows:
    return Rows(relation=bound.relation, columns=tuple((qualifier, column) for column in bound.columns))


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


def refuse_joins(node: exp.Expr, context: Context) -> None:
    for join in node.args.get("joins") or ():
        if join.args.get("method") == "NATURAL":
            raise context.refusal(join, refused.NATURAL)
        if isinstance(join.this, exp.Lateral | exp.Unnest):
            raise context.refusal(join, refused.CLAUSES["laterals"])
        if join.args.get("kind") == "CROSS" and not isinstance(join.parent, exp.Table):
            word = context.parsed.source[context.start(join) :][:1]
            if word != ",":
                raise context.refusal(join, refused.CROSS)
        raise context.refusal(join, refused.JOIN)


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
