"""EXISTS and IN with a sub-query: what they look like, and what to write where they cannot stand."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.sql.constructs import bare
from viewkeeper.sql.names import written
from viewkeeper.sql.query import refused_joins
from viewkeeper.sql.query.columns import Columns
from viewkeeper.sql.query.context import Context


def is_exists(node: exp.Expr) -> bool:
    """EXISTS (query), also with more parentheses around the query, which sqlglot takes for a function."""
    return isinstance(node, exp.Exists) or (
        isinstance(node, exp.Anonymous)
        and node.name.upper() == "EXISTS"
        and len(node.expressions) == 1
        and isinstance(node.expressions[0], exp.Query)
    )


def query_of(node: exp.Expr) -> exp.Expr:
    """The sub-query of EXISTS or IN, without parentheses around it."""
    if isinstance(node, exp.In):
        found = node.args["query"]
    else:
        found = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
    while isinstance(found, exp.Subquery) and [name for name, value in found.args.items() if value] == ["this"]:
        found = found.this
    return bare(found)


def is_in_query(node: exp.Expr) -> bool:
    return isinstance(node, exp.In) and isinstance(node.args.get("query"), exp.Query)


def misplaced(node: exp.Expr, clause: str, context: Context) -> Exception:
    """The refusal of EXISTS or IN (sub-query) inside an expression, or in a clause other than WHERE."""
    word = "EXISTS" if is_exists(node) else "IN (sub-query)"
    around = _around(node)
    if clause in refused_joins.PARTNERS_IN:
        return context.refusal(node, refused_joins.PARTNERS_IN[clause], f"{word} in {clause}")
    if clause != "WHERE":
        return context.refusal(node, refused_joins.PARTNERS_IN["SELECT"], f"{word} in {clause}")
    return context.refusal(node, refused_joins.PARTNERS_UNDER[around], f"{word} {around}")


def _around(node: exp.Expr) -> str:
    """What an expression is inside of."""
    found: set[type[exp.Expr]] = set()
    parent = node.parent
    while parent is not None and not isinstance(parent, exp.Where | exp.Query | exp.Join):
        found.add(type(parent))
        parent = parent.parent
    if exp.Or in found:
        return "under OR"
    if exp.Case in found or exp.If in found:
        return "in CASE"
    return "under NOT" if exp.Not in found else "in an expression"


def not_in(node: exp.In, columns: Columns, context: Context) -> Exception:
    """The refusal of NOT IN (sub-query), with NOT EXISTS written out where one column is looked up in one table."""
    refusal = refused_joins.NOT_IN
    value, query = bare(node.this), query_of(node)
    hint = None
    if isinstance(value, exp.Column) and isinstance(value.this, exp.Identifier):
        found = columns.alone_as(value.name)
        outer = f"{written(value.table)}.{written(value.name)}" if value.table else found[0].text if found else ""
        hint = _not_exists(outer, query) if outer and isinstance(query, exp.Select) else None
    return context.refuse(node, refusal.name, detail=refusal.detail, hint=hint or refusal.hint)


def _not_exists(outer: str, query: exp.Select) -> str | None:
    """The hint; None unless the sub-query gives a column of one table."""
    source = query.args.get("from_")
    table = None if source is None else source.this
    items = [bare(item.unalias()) for item in query.expressions]
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier) or len(items) != 1:
        return None
    if not isinstance(items[0], exp.Column) or not isinstance(items[0].this, exp.Identifier):
        return None
    if any(query.args.get(clause) for clause in ("joins", "group", "having")):
        return None
    name = written(table.alias_or_name)
    named = written(table.name) + (f" AS {name}" if table.alias else "")
    also = " AND …" if query.args.get("where") else ""
    return f"Write NOT EXISTS (SELECT 1 FROM {named} WHERE {name}.{written(items[0].name)} = {outer}{also})."
