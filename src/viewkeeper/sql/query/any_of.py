"""ANY, SOME and ALL of a list, as other databases compare with one: what to write instead."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.sql.constructs import bare
from viewkeeper.sql.names import written
from viewkeeper.sql.query.context import Context

_COMPARED = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_INSTEAD = {"= ANY": "IN", "= SOME": "IN", "<> ALL": "NOT IN"}


def any_of_list(name: str, node: exp.Anonymous, context: Context) -> Exception | None:
    """The refusal of `col = ANY(list)` and the like; None for any other call."""
    compared, args = node.parent, node.expressions
    if name not in ("ANY", "SOME", "ALL") or not isinstance(compared, exp.Binary) or type(compared) not in _COMPARED:
        return None
    construct = f"{_COMPARED[type(compared)]} {name}"
    detail, values = "A list stands behind IN.", "(value, …)"
    if args and isinstance(args[0], exp.Placeholder) and context.parameters is not None:
        detail = "A list stands behind IN, with the most values that it may have."
        values = f"{f':{args[0].name}' if args[0].this else '?'} MAX 20"
    value = compared.left if bare(compared.right) is node else compared.right
    hint = f"Write {_shown(bare(value))} {_INSTEAD.get(construct)} {values}."
    return context.refuse(
        node,
        f"{construct} of a list",
        detail=detail,
        hint=hint if construct in _INSTEAD else "Compare with the least or the greatest of its values.",
    )


def _shown(node: exp.Expr) -> str:
    """A column as it may be written; a word for anything else."""
    if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier):
        return "value"
    return ".".join(written(part) for part in (node.table, node.name) if part)
