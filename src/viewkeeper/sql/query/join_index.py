"""CREATE JOIN INDEX: the rows of several sources side by side under the values that they are joined by.

    UnionAll(Project(Filter?(source)), …)       one for each side

Each side shows the join key, which side it is, and its own columns; the columns of the others are NULL. A row with a
NULL in its join key has no partner and is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from viewkeeper.errors import UnknownColumn, WrongType
from viewkeeper.model.types import BOOLEAN, STRING, Type
from viewkeeper.plan.expr import Call, Expr, Literal
from viewkeeper.plan.join import UnionAll
from viewkeeper.plan.relation import Project, Relation
from viewkeeper.sql.query import exact
from viewkeeper.sql.query.columns import RowColumn
from viewkeeper.sql.query.conjuncts import filtered
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.fitting import Operand, convert, meet
from viewkeeper.sql.query.from_clause import of_source
from viewkeeper.sql.query.outputs import distinct_names
from viewkeeper.sql.query.rows import Bound, Rows
from viewkeeper.sql.sources import Source, source_of
from viewkeeper.sql.tree import CreateJoinIndexTree, JoinSideTree, Name

TABLE = "table"
"""The column that says which side a row is of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """`key` are the places of its join columns, `shown` those of the columns that it shows beside them."""

    tree: JoinSideTree
    source: Source
    rows: Rows
    key: tuple[int, ...]
    shown: tuple[int, ...]
    tag: str

    def column(self, place: int) -> RowColumn:
        return self.rows.columns.column(place)

    def value(self, place: int) -> Expr:
        return self.rows.columns.input(place)


def bind_sides(tree: CreateJoinIndexTree, context: Context) -> list[Side]:
    """The sides; Unsupported unless there are two or more with the same number of join columns."""
    found = [_side(side, context) for side in tree.sides]
    counts = Counter(side.source.id for side in found)
    width = len(found[0].key)
    for side in found:
        if len(side.key) != width:
            raise context.refuse(
                at(side.tree.source),
                f'a join index of "{found[0].source.name}" by {_columns(width)} and "{side.source.name}" by '
                f"{_columns(len(side.key))}",
                detail="Rows stand side by side where all of their join columns are equal.",
                hint="Name as many columns of each side.",
            )
    if len(found) == 1:
        raise context.refuse(
            at(found[0].tree.source),
            "a join index of one side",
            detail="It puts the rows of several sides together.",
            hint="Write CREATE INDEX, or name another side: ON a (col), b (col).",
        )
    several = [replace(side, tag=_long_tag(side)) if counts[side.source.id] > 1 else side for side in found]
    for tag, count in Counter(side.tag.lower() for side in several).items():
        if count > 1:
            twice = [side for side in several if side.tag.lower() == tag][1]
            raise context.bad(
                at(twice.tree.source),
                f'side "{twice.tag}" is in the join index twice',
                hint="Name each source once for each of its join columns.",
            )
    return several


def bind_join_index(sides: Sequence[Side], context: Context) -> tuple[Bound, int]:
    """The visible columns over all sides, and how many of them are the join key."""
    types = [_key_type(place, sides, context) for place in range(len(sides[0].key))]
    key = [
        RowColumn(name=sides[0].column(place).name, type=type, nullable=False)
        for place, type in zip(sides[0].key, types, strict=True)
    ]
    own = _own_columns(sides)
    names = [*(column.name for column in key), TABLE, *(column.name for _, _, column in own)]
    counts = Counter(name.lower() for name in names)
    shown = [
        column if counts[column.name.lower()] == 1 else replace(column, name=f"{source.name}_{column.name}")
        for source, _, column in own
    ]
    tag = RowColumn(name=TABLE, type=STRING, nullable=False)
    columns = [
        replace(column, name=name)
        for column, name in zip(
            [*key, tag, *shown], distinct_names([column.name for column in [*key, tag, *shown]]), strict=True
        )
    ]
    parts = tuple(_relation(side, types, own, [column.name for column in columns]) for side in sides)
    return Bound(relation=UnionAll(parts), columns=tuple(columns)), len(key)


def with_includes(tree: CreateJoinIndexTree, sides: Sequence[Side]) -> CreateJoinIndexTree:
    """The tree with INCLUDE on each side, so that it means the same after a column was added."""
    written = (
        replace(side.tree, include=tuple(Name(text=one.name, start=0) for one in side.source.columns))
        if side.tree.include is None
        else side.tree
        for side in sides
    )
    return replace(tree, sides=tuple(written))


def _side(tree: JoinSideTree, context: Context) -> Side:
    source = source_of(context.find(tree.source.text))
    rows = of_source(source, tree.source.text)
    key = [_place(source, name, context) for name in tree.columns]
    for place, name in zip(key, tree.columns, strict=True):
        if key.count(place) > 1:
            raise context.bad(at(name), f'column "{name.text}" is among the join columns twice')
        if rows.columns.is_approximate(place):
            raise context.refuse(at(name), "a join index by a sum of DOUBLE", detail=exact.DETAIL, hint=exact.HINT)
    shown = set(range(len(source.columns)))
    if tree.include is not None:
        shown = {*source.key, *(_place(source, name, context) for name in tree.include)}
    return Side(tree=tree, source=source, rows=rows, key=tuple(key), shown=tuple(sorted(shown)), tag=tree.source.text)


def _place(source: Source, name: Name, context: Context) -> int:
    try:
        return source.column_id(name.text)
    except UnknownColumn as error:
        raise UnknownColumn(f"{error.message}, {context.at(at(name))}", detail=error.detail) from None


def _long_tag(side: Side) -> str:
    """The source with its join columns: what tells the sides of one source apart."""
    return f"{side.tag}.{', '.join(name.text for name in side.tree.columns)}"


def _key_type(place: int, sides: Sequence[Side], context: Context) -> Type:
    """The type at which the join columns at a place meet; WrongType if there is none."""
    names = [side.tree.columns[place] for side in sides]
    operands = [Operand(at(name), side.value(side.key[place])) for side, name in zip(sides, names, strict=True)]
    try:
        return meet(operands, "JOIN INDEX", operands[0].node, context)[1]
    except WrongType:
        types = [side.column(side.key[place]).type for side in sides]
        other = next(number for number, type in enumerate(types) if type != types[0])
        raise context.wrong_type(
            at(names[other]),
            f'join columns "{names[0].text}" and "{names[other].text}" are {types[0]} and {types[other]}',
            hint="Create a view that converts one of them with CAST, and name that view.",
        ) from None


def _own_columns(sides: Sequence[Side]) -> list[tuple[Source, int, RowColumn]]:
    """The columns beside the key, source by source: all but those that are the same column of it on all its sides."""
    found: dict[tuple[int, int], tuple[Source, int, RowColumn]] = {}
    for source in {side.source.id: side.source for side in sides}.values():
        mine = [side for side in sides if side.source.id == source.id]
        for place in range(len(source.columns)):
            in_key = {side.key.index(place) if place in side.key else None for side in mine}
            if any(place in side.shown for side in mine) and (len(in_key) > 1 or None in in_key):
                column = replace(mine[0].column(place), nullable=True)
                found[source.id, place] = (source, place, column)
    return list(found.values())


def _relation(
    side: Side, types: Sequence[Type], own: Sequence[tuple[Source, int, RowColumn]], names: Sequence[str]
) -> Relation:
    key = [side.value(place) for place in side.key]
    present = (
        Call("not", (Call("is_null", (side.value(place),), BOOLEAN),), BOOLEAN)
        for place in side.key
        if side.column(place).nullable
    )
    exprs = [*map(convert, key, types), Literal(side.tag, STRING), *_values(side, own)]
    return Project(filtered(side.rows.relation, present), tuple(exprs), tuple(names))


def _values(side: Side, own: Sequence[tuple[Source, int, RowColumn]]) -> Iterator[Expr]:
    for source, place, column in own:
        is_shown = source.id == side.source.id and place in side.shown
        yield side.value(place) if is_shown else Literal(None, column.type)


def _columns(count: int) -> str:
    return f"{count} column{'s' * (count != 1)}"


def at(name: Name) -> exp.Expr:
    """A node at the place of a name."""
    node = exp.Identifier(this=name.text)
    node.meta["start"] = name.start
    return node
