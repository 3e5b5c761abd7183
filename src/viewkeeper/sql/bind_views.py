"""CREATE VIEW, CREATE INDEX and CREATE JOIN INDEX."""

from __future__ import annotations

from sqlglot import exp

from viewkeeper.errors import SqlSyntax
from viewkeeper.model.schema import MAX_COLUMNS, Column
from viewkeeper.plan.relation import Relation, scans
from viewkeeper.plan.whole import is_whole
from viewkeeper.sql.maintain import Mode, ViewKind
from viewkeeper.sql.parse import Parsed
from viewkeeper.sql.place import syntax_error
from viewkeeper.sql.query import exact, join_index
from viewkeeper.sql.query.columns import RowColumn
from viewkeeper.sql.query.context import Context, Find
from viewkeeper.sql.query.index import bind_index_columns
from viewkeeper.sql.query.prune import prune
from viewkeeper.sql.query.rows import Bound
from viewkeeper.sql.query.select import bind_top
from viewkeeper.sql.statements import CreateView, Retain
from viewkeeper.sql.tree import CreateIndexTree, CreateJoinIndexTree, CreateViewTree, KeyColumnTree
from viewkeeper.sql.view_text import index_text, join_index_text, view_text


def bind_view(parsed: Parsed, tree: CreateViewTree, find: Find) -> CreateView:
    """The view; Unsupported, BadDefinition, UnknownColumn or WrongType, each with its place, if it cannot be."""
    context = Context(parsed=parsed, find=find, periodic=tree.maintain.mode is Mode.PERIODIC)
    try:
        bound, retained = bind_top(tree.query, context, {})
        plan = prune(bound.relation)
    except RecursionError:
        raise _too_deep(parsed) from None
    visible = _visible(bound, tree.query, context)
    key = _key(tree.key, bound, context)
    retain = None
    if retained is not None:
        if is_whole(plan):
            raise context.bad(
                retained.node,
                "RETAIN in a view that is computed whole",
                detail="There are no groups that could be dropped one by one.",
                hint="Write a WHERE that takes the rows that are wanted.",
            )
        retain = Retain(column=retained.column, length_ms=retained.length_ms, retain_ms=retained.retain_ms)
    return CreateView(
        name=tree.name.text,
        or_replace=tree.or_replace,
        if_not_exists=tree.if_not_exists,
        kind=ViewKind.VIEW,
        key=key,
        maintain=tree.maintain,
        plan=plan,
        visible=visible,
        approximate=_approximate(bound),
        retain=retain,
        text=view_text(parsed, tree, context.edits),
        sources=_sources(bound.relation),
    )


def bind_index(parsed: Parsed, tree: CreateIndexTree, find: Find) -> CreateView:
    """The index, which is a view with a KEY: the indexed columns, then those of INCLUDE."""
    context = Context(parsed=parsed, find=find, periodic=False)
    try:
        bound = bind_index_columns(tree, context)
        plan = prune(bound.relation)
    except RecursionError:
        raise _too_deep(parsed) from None
    return CreateView(
        name=tree.name.text,
        or_replace=tree.or_replace,
        if_not_exists=tree.if_not_exists,
        kind=ViewKind.INDEX,
        key=tuple((place, item.descending) for place, item in enumerate(tree.items)),
        maintain=tree.maintain,
        plan=plan,
        visible=_visible(bound, tree.items[0].value, context),
        approximate=_approximate(bound),
        retain=None,
        text=index_text(parsed, tree),
        sources=_sources(bound.relation),
    )


def bind_join_index(parsed: Parsed, tree: CreateJoinIndexTree, find: Find) -> CreateView:
    """The join index, which is a view with a KEY: the join columns, then the side that a row is of."""
    context = Context(parsed=parsed, find=find, periodic=False)
    sides = join_index.bind_sides(tree, context)
    bound, width = join_index.bind_join_index(sides, context)
    return CreateView(
        name=tree.name.text,
        or_replace=tree.or_replace,
        if_not_exists=tree.if_not_exists,
        kind=ViewKind.JOIN_INDEX,
        key=tuple((place, False) for place in range(width + 1)),
        maintain=tree.maintain,
        plan=prune(bound.relation),
        visible=_visible(bound, join_index.at(tree.name), context),
        approximate=_approximate(bound),
        retain=None,
        text=join_index_text(join_index.with_includes(tree, sides)),
        sources=_sources(bound.relation),
    )


def _visible(bound: Bound, node: exp.Expr, context: Context) -> tuple[Column, ...]:
    if len(bound.columns) > MAX_COLUMNS:
        raise context.bad(node, f"the view has {len(bound.columns)} columns, more than {MAX_COLUMNS}")
    return tuple(map(_column, bound.columns))


def _column(column: RowColumn) -> Column:
    return Column(name=column.name, type=column.type, nullable=column.nullable, temporal=column.temporal)


def _approximate(bound: Bound) -> frozenset[int]:
    return frozenset(place for place, column in enumerate(bound.columns) if column.approximate)


def _sources(relation: Relation) -> tuple[int, ...]:
    return tuple(dict.fromkeys(scan.object for scan in scans(relation)))


def _key(key: tuple[KeyColumnTree, ...], bound: Bound, context: Context) -> tuple[tuple[int, bool], ...]:
    """The columns of KEY (…) by place."""
    places = {column.name.lower(): place for place, column in enumerate(bound.columns)}
    found: list[tuple[int, bool]] = []
    for column in key:
        node = exp.Identifier(this=column.name.text)
        node.meta["start"] = column.name.start
        place = places.get(column.name.text.lower())
        if place is None:
            raise context.bad(
                node,
                f'column "{column.name.text}" of KEY is not in the list of SELECT',
                detail=f"The columns are {', '.join(shown.name for shown in bound.columns)}.",
            )
        if place in [taken for taken, _ in found]:
            raise context.bad(node, f'column "{column.name.text}" is in KEY twice')
        if bound.columns[place].approximate:
            raise context.refuse(node, "KEY of a sum of DOUBLE", detail=exact.DETAIL, hint=exact.HINT)
        found.append((place, column.descending))
    return tuple(found)


def _too_deep(parsed: Parsed) -> SqlSyntax:
    return syntax_error(parsed.source, parsed.start, "the statement is nested too deeply")
