"""WITH: queries that the query behind them, and those after them, can name."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from viewkeeper.sql.query import refused
from viewkeeper.sql.query.from_clause import SubQueries, check_clauses


def bind_with(node: exp.Expr, inner: SubQueries) -> SubQueries:
    """The names that the query of a node may use."""
    clause = node.args.get("with_")
    if clause is None:
        return inner
    context = inner.context
    if clause.args.get("recursive"):
        raise context.refusal(clause, refused.RECURSIVE)
    check_clauses(clause, {"expressions", "recursive"}, context)
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
        inner = replace(inner, named={**inner.named, alias.name.lower(): inner.bind(part.this)})
    return inner
