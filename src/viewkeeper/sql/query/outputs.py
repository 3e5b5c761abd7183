"""The list of SELECT: what is shown, and under which names."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.names import written
from viewkeeper.sql.query import aggregates
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.rows import Rows

EPOCH = "epoch"
"""What WINDOW(…) is called without AS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One output column: an expression, or the column at a place of the rows, one of those that * stands for."""

    name: str
    node: exp.Expr
    column: int | None = None


def items_of(query: exp.Select, rows: Rows, context: Context) -> list[Item]:
    """The output columns with each * spread out, in the text too. Unsupported if a name is missing or comes twice."""
    items: list[Item] = []
    for node in query.expressions:
        items += _items(node, rows, context)
    seen: set[str] = set()
    for item in items:
        if item.name.lower() in seen:
            raise context.refuse(
                item.node,
                f'the output name "{item.name}" for two columns',
                detail="Rows have one value a name.",
                hint="Name each column once, or give one of them another name with AS.",
            )
        seen.add(item.name.lower())
    return items


def _items(node: exp.Expr, rows: Rows, context: Context) -> list[Item]:
    alias = node.args.get("alias") if isinstance(node, exp.Alias) else None
    value = bare(node.this) if isinstance(node, exp.Alias) else bare(node)
    if isinstance(value, exp.Star) or (isinstance(value, exp.Column) and isinstance(value.this, exp.Star)):
        return _spread(value, alias is not None, rows, context)
    if alias is not None:
        if not isinstance(alias, exp.Identifier):
            raise context.refuse(node, "a parameter as a name", detail="Parameters are values.", hint="Write the name.")
        return [Item(name=alias.name, node=value)]
    name = _default_name(value)
    if name is None:
        raise context.refuse(
            value,
            f"{construct(value)} without a name",
            detail="Columns of a view are read by name; only columns and aggregates of one column have one already.",
            hint="Write AS and a name behind it.",
        )
    return [Item(name=name, node=value)]


def _default_name(value: exp.Expr) -> str | None:
    if isinstance(value, exp.Column):
        return str(value.name)
    if isinstance(value, exp.Anonymous) and value.name.upper() == "WINDOW":
        return EPOCH
    return aggregates.default_name(value)


def _spread(value: exp.Expr, has_alias: bool, rows: Rows, context: Context) -> list[Item]:
    star = value.this if isinstance(value, exp.Column) else value
    if has_alias or any(star.args.values()):
        what = "* with a name" if has_alias else "* with EXCEPT or REPLACE"
        detail = "* stands for all columns as they are."
        raise context.refuse(value, what, detail=detail, hint="Name the columns one by one.")
    qualifier = value.table if isinstance(value, exp.Column) else ""
    places = rows.places(qualifier)
    if not places:
        raise context.refuse(
            value,
            f'the qualifier "{qualifier}"',
            detail="The query does not read a source of that name.",
            hint="Write * alone.",
        )
    names = [rows.columns[place][1].name for place in places]
    prefix = f"{written(qualifier)}." if qualifier else ""
    start = context.start(value)
    context.edits[start] = (star.meta["end"] + 1, ", ".join(prefix + written(name) for name in names))
    return [Item(name=name, node=value, column=place) for name, place in zip(names, places, strict=True)]
