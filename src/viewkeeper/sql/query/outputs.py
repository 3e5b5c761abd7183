"""The list of SELECT: what is shown, and under which names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.plan.expr import Expr
from viewkeeper.sql.constructs import bare, construct
from viewkeeper.sql.names import written
from viewkeeper.sql.query import aggregates
from viewkeeper.sql.query.columns import Alone, Columns
from viewkeeper.sql.query.context import Context

EPOCH = "epoch"
"""What WINDOW(…) is called without AS."""

NAMELESS = "column"
"""What an expression without a name is called where its name does not matter."""

_NAMELESS = "viewkeeper_nameless"
"""Where a query keeps that it needs no names, in its `meta`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One output column. `expr` is what it shows where it is one of those that * stands for."""

    name: str
    node: exp.Expr
    expr: Expr | None = None


def need_no_names(query: exp.Expr) -> None:
    """Marks a query whose columns are known by their places: one of UNION after the first, or the query of IN."""
    while isinstance(query, exp.Subquery | exp.SetOperation):
        query = query.this
    query.meta[_NAMELESS] = True


def items_of(query: exp.Select, columns: Columns, context: Context) -> list[Item]:
    """The output columns with each * spread out, in the text too. Unsupported if a name is missing or comes twice."""
    items: list[Item] = []
    nameless = bool(query.meta.get(_NAMELESS))
    for node in query.expressions:
        items += _items(node, columns, context, nameless=nameless)
    if nameless:
        names = distinct_names([item.name for item in items])
        return [replace(item, name=name) for item, name in zip(items, names, strict=True)]
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


def _items(node: exp.Expr, columns: Columns, context: Context, *, nameless: bool) -> list[Item]:
    alias = node.args.get("alias") if isinstance(node, exp.Alias) else None
    value = bare(node.this) if isinstance(node, exp.Alias) else bare(node)
    if is_star(value) and not columns.width:
        raise context.refuse(
            value, "* without FROM", detail="There are no columns.", hint="Name a table: SELECT * FROM t."
        )
    if is_star(value):
        if alias is not None:
            raise _refuse_star(value, "* with a name", context)
        return [Item(name=one.name, node=value, expr=one.expr) for one in spread(value, columns, context)]
    if alias is not None:
        if not isinstance(alias, exp.Identifier):
            raise context.refuse(node, "a parameter as a name", detail="Parameters are values.", hint="Write the name.")
        return [Item(name=alias.name, node=value)]
    name = _default_name(value)
    if isinstance(value, exp.Column) and not value.table:
        _keep_name(value, columns, context)
    if name is None and nameless:
        return [Item(name=NAMELESS, node=value)]
    if name is None and not columns.width:
        # Without FROM it is a question of its own: SELECT 1.
        return [Item(name=value.sql(), node=value)]
    if name is None:
        raise context.refuse(
            value,
            f"{construct(value)} without a name",
            detail="Columns of a view are read by name; only columns and aggregates of one column have one already.",
            hint="Write AS and a name behind it.",
        )
    return [Item(name=name, node=value)]


def _keep_name(value: exp.Column, columns: Columns, context: Context) -> None:
    """What USING makes of several columns is written out in the kept text, and then needs its name behind it."""
    found = columns.alone_as(value.name)
    if len(found) == 1 and not found[0].is_column:
        edit = f"{found[0].text} AS {written(value.name)}"
        context.edits[value.this.meta["start"]] = (value.this.meta["end"] + 1, edit)


def _default_name(value: exp.Expr) -> str | None:
    if isinstance(value, exp.Column):
        return str(value.name)
    if isinstance(value, exp.Anonymous) and value.name.upper() == "WINDOW":
        return EPOCH
    return aggregates.default_name(value)


def is_star(value: exp.Expr) -> bool:
    return isinstance(value, exp.Star) or (isinstance(value, exp.Column) and isinstance(value.this, exp.Star))


def spread(value: exp.Expr, columns: Columns, context: Context) -> list[Alone]:
    """What * or source.* stands for; in the kept text it is written out."""
    star = value.this if isinstance(value, exp.Column) else value
    if any(star.args.values()):
        raise _refuse_star(value, "* with EXCEPT or REPLACE", context)
    qualifier = value.table if isinstance(value, exp.Column) else ""
    found = columns.spread(qualifier)
    if not found:
        raise context.refuse(
            value,
            f'the qualifier "{qualifier}"',
            detail="The query does not read a source of that name.",
            hint="Write * alone.",
        )
    prefix = f"{written(qualifier)}." if qualifier else ""
    texts = (_written(one) if columns.is_joined else prefix + written(one.name) for one in found)
    context.edits[context.start(value)] = (star.meta["end"] + 1, ", ".join(texts))
    return found


def _refuse_star(value: exp.Expr, what: str, context: Context) -> Exception:
    detail = "* stands for all columns as they are."
    return context.refuse(value, what, detail=detail, hint="Name the columns one by one.")


def _written(one: Alone) -> str:
    """A column of * in a query of several sources."""
    return one.text if one.is_column else f"{one.text} AS {written(one.name)}"


def distinct_names(names: Sequence[str]) -> list[str]:
    """The names, each made different from those before it by underscores behind it; case does not make a difference.

    >>> distinct_names(["a", "A", "b"])
    ['a', 'A_', 'b']
    """
    found: list[str] = []
    seen: set[str] = set()
    for name in names:
        fresh = name
        while fresh.lower() in seen:
            fresh += "_"
        seen.add(fresh.lower())
        found.append(fresh)
    return found
