"""ORDER BY: the order of the key, forwards or backwards."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.errors import Unsupported
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.scope import Scope


def is_descending(
    order: exp.Expr | None, columns: tuple[tuple[str, int], ...], fixed: frozenset[int], scope: Scope
) -> bool:
    """Whether ORDER BY asks for the reverse of the key order; Unsupported if it asks for neither.

    A column that `=` fixes to one value may be left out or stand anywhere, in any direction.
    """
    if order is None:
        return False
    stored_down = scope.descending
    keys = [number for number in scope.table.key_ids if number not in fixed]
    direction: bool | None = None
    for item in order.expressions:
        number = _ordered_by(item, columns, scope)
        if number in fixed:
            continue
        if not keys or keys.pop(0) != number or item.args.get("with_fill"):
            raise _bad_order(item, "ORDER BY of another order than the key's", scope)
        asked_down = bool(item.args.get("desc"))
        if scope.table.columns[number].nullable and bool(item.args.get("nulls_first")) is asked_down:
            # NULL is below every value, so it comes first ascending and last descending.
            raise _bad_order(item, f"NULLS {'FIRST' if asked_down else 'LAST'} in ORDER BY", scope)
        descending = asked_down is not (number in stored_down)
        if direction is not None and direction is not descending:
            what = "ORDER BY with other directions than the key's" if stored_down else "ORDER BY with both ASC and DESC"
            raise _bad_order(item, what, scope)
        direction = descending
    return bool(direction)


def _ordered_by(item: exp.Expr, columns: tuple[tuple[str, int], ...], scope: Scope) -> int:
    """The column id that one item of ORDER BY names. An output name goes before a column of the table."""
    node = bare(item.this)
    if not isinstance(node, exp.Column):
        raise _bad_order(item, f"{construct(node)} in ORDER BY", scope)
    if not node.table:
        for name, number in columns:
            if name.lower() == node.name.lower():
                return number
    return scope.column_id(node)


def _bad_order(item: exp.Expr, what: str, scope: Scope) -> Unsupported:
    if not scope.order:
        detail, hint = (
            f'The rows of {scope.kind} "{scope.table.name}" are in no order.',
            "Sort the rows in your program.",
        )
        return scope.refuse(item, what, detail=detail, hint=hint)
    forwards = ", ".join(name + " DESC" * down for name, down in scope.order)
    backwards = ", ".join(name + " DESC" * (not down) for name, down in scope.order)
    return scope.refuse(
        item,
        what,
        detail=f"Rows are kept in the order of {scope.key}, and read forwards or backwards.",
        hint=f"Write ORDER BY {forwards} or ORDER BY {backwards}, or sort the rows in your program.",
    )
