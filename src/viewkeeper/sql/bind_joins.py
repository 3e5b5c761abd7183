"""SELECT of several sources: the same query as of a view, then sorted and cut.

Which rows it has to read is not decided here.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from viewkeeper.errors import Unsupported
from viewkeeper.model.schema import Column
from viewkeeper.sql.bind_select import compile_limit
from viewkeeper.sql.constructs import bare, construct, start_of
from viewkeeper.sql.filled_query import filled
from viewkeeper.sql.params import Values
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import at, syntax_error
from viewkeeper.sql.query.columns import RowColumn
from viewkeeper.sql.query.context import Context, Find
from viewkeeper.sql.query.prune import prune
from viewkeeper.sql.query.select import bind_top
from viewkeeper.sql.select_source import check_limit, refuse_clause
from viewkeeper.sql.statements import JoinSelect, Sorting
from viewkeeper.sql.tree import SelectTree

_ADDED = "viewkeeper order "
"""How a column is called that is there to be sorted by, before its number. No text can name it without quotes."""


def is_joined(tree: SelectTree) -> bool:
    """Whether a query joins anything, be it in a sub-query."""
    return tree.query.find(exp.Join) is not None


def bind_joins(parsed: Parsed, tree: SelectTree, find: Find, values: Values) -> JoinSelect:
    """What a query with joins asks for; refused as the SELECT of a view would be, apart from ORDER BY and LIMIT."""
    check_limit(parsed, tree, tree.query.args.get("limit"))
    offset = tree.query.args.get("offset")
    if offset is not None:
        raise refuse_clause(parsed, tree, offset, "OFFSET", "Read the rows and skip the first ones in your program.")
    limit = compile_limit(tree.query.args.get("limit"), parsed)
    query = filled(tree.query, parsed, values)
    order = query.args.get("order")
    query.set("order", None)
    query.set("limit", None)
    context = Context(parsed=parsed, find=find, periodic=False)
    sorted_by = [] if order is None else [(item, _name(item, query, context)) for item in order.expressions]
    try:
        bound, retained = bind_top(query, context, {})
        plan = prune(bound.relation)
    except RecursionError:
        raise syntax_error(parsed.source, parsed.start, "the statement is nested too deeply") from None
    if retained is not None:
        raise context.refuse(
            retained.node,
            "RETAIN in a query",
            detail="It is the epochs of a view that grow old.",
            hint="Write a condition on the time in WHERE.",
        )
    join = tree.query.find(exp.Join)
    assert join is not None
    return JoinSelect(
        plan=plan,
        columns=tuple(_column(column) for column in bound.columns if not column.name.startswith(_ADDED)),
        order=tuple(_sorting(item, name, bound.columns, context) for item, name in sorted_by),
        limit=None if limit is None else limit(values),
        place=at(parsed.source, start_of(join, parsed.start)),
    )


def _column(column: RowColumn) -> Column:
    return Column(name=column.name, type=column.type, nullable=column.nullable, temporal=column.temporal)


def _name(item: exp.Expr, query: exp.Expr, context: Context) -> str:
    """The output column, lowered, that an item of ORDER BY sorts by; one that is not shown is added to the query."""
    node = bare(item.this)
    is_name = isinstance(node, exp.Column) and not node.table
    can_add = isinstance(query, exp.Select) and not query.args.get("distinct")
    if is_name and (not can_add or node.name.lower() in {one.alias_or_name.lower() for one in query.expressions}):
        return str(node.name.lower())
    if not can_add or isinstance(node, exp.Literal) or item.args.get("with_fill"):
        raise _not_shown(item, context)
    name = f"{_ADDED}{len(query.expressions)}"
    value = node.transform(_spelled_out, {one.alias.lower(): one.this for one in query.expressions if one.alias})
    query.append("expressions", exp.Alias(this=value, alias=exp.Identifier(this=name, quoted=True)))
    return name


def _spelled_out(node: exp.Expr, aliases: Mapping[str, exp.Expr]) -> exp.Expr:
    """What a name of the list of SELECT stands for."""
    if isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases:
        return exp.Paren(this=aliases[node.name.lower()].copy())
    return node


def _sorting(item: exp.Expr, name: str, columns: tuple[RowColumn, ...], context: Context) -> Sorting:
    place = next((place for place, column in enumerate(columns) if column.name.lower() == name), None)
    if place is None:
        raise _not_shown(item, context)
    return Sorting(column=place, descending=bool(item.args.get("desc")), nulls_first=bool(item.args.get("nulls_first")))


def _not_shown(item: exp.Expr, context: Context) -> Unsupported:
    return context.refuse(
        item,
        f"{construct(bare(item.this))} in ORDER BY",
        detail="Rows are sorted by values that belong to each of them.",
        hint="Name a column of the list of SELECT.",
    )
