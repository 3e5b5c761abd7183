"""A source that FROM has, named by a condition or column that does not see it."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from viewkeeper.sql.names import written
from viewkeeper.sql.query.context import Context


def out_of_sight(node: exp.Column, seen: Sequence[str], context: Context) -> Exception | None:
    """Why the source before the dot is not seen there, and what to do; None if FROM does not have it at all.

    `seen` are the sources that are.
    """
    query = node.find_ancestor(exp.Select)
    found = None if query is None else _source(node.table, query)
    if query is None or found is None:
        return None
    shown = " and ".join(f'"{name}"' for name in seen)
    partner = _partner(found, query, node)
    if partner is not None:
        return context.bad(
            node,
            f'source "{node.table}" of {partner} JOIN has no columns to show',
            detail="It says which rows of the other side stay.",
            hint="Write JOIN, if its columns are needed.",
        )
    name = written(node.table)
    if context.start(found) > context.start(node):
        return context.bad(
            node,
            f'source "{node.table}" is joined behind this ON',
            detail=f"ON sees what is joined up to it: {shown}.",
            hint=f"Write the condition in the ON behind {name}, or join {name} earlier.",
        )
    if any(map(context.is_comma, query.args.get("joins") or [])):
        why, hint = "A comma binds weaker than JOIN", "Write JOIN in place of the comma, or the condition in WHERE."
    else:
        why, hint = "A join inside of another comes first", "Write the condition in the ON of the join around it."
    return context.bad(
        node, f'source "{node.table}" is not seen by this ON', detail=f"{why}, so it sees {shown}.", hint=hint
    )


def _source(name: str, query: exp.Select) -> exp.Expr | None:
    for found in query.find_all(exp.Table, exp.Subquery):
        is_source = isinstance(found.parent, exp.From | exp.Join | exp.Subquery)
        if is_source and found.alias_or_name.lower() == name.lower() and found.find_ancestor(exp.Select) is query:
            return found
    return None


def _partner(found: exp.Expr, query: exp.Select, node: exp.Expr) -> str | None:
    """The semi- or anti-join on whose right a source stands, unless the node is inside of it, too."""
    parent = found.parent
    while parent is not None and parent is not query:
        if isinstance(parent, exp.Join) and parent.kind in ("SEMI", "ANTI"):
            return None if _is_inside(node, parent) else f"{'an' if parent.kind == 'ANTI' else 'a'} {parent.kind}"
        parent = parent.parent
    return None


def _is_inside(node: exp.Expr | None, around: exp.Expr) -> bool:
    while node is not None and node is not around:
        node = node.parent
    return node is not None
