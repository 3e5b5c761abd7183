"""Indexes that would let a source be read by what the conditions fix, or in the order wanted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from viewkeeper.analysis.block import WORD, Block, Source, SourceKind
from viewkeeper.analysis.conditions import INEQUALITIES, Conditions, RowTest, core, is_constant
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.sqltext import quoted
from viewkeeper.model.schema import Column
from viewkeeper.plan.expr import Call, Expr, Input
from viewkeeper.plan.relation import Field, Project, Relation, Scan, Tokens

MOST = 24
"""Indexes that are tried for one source."""


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of an index: one of the table, or with `words` the words of one."""

    column: int
    descending: bool = False
    words: bool = False


def proposed(
    block: Block, number: int, schema: Schema, conditions: Conditions, *, hot: bool = False, widen: bool = False
) -> list[Stored]:
    """The indexes that may help to read a source. Those led by a TEMPORAL column only if `hot`, and then only those.

    With `widen` they have all columns of the source that the block reads.
    """
    source = block.sources[number]
    table = source.stored
    # The parts of a LOCAL view are put together when it is read: nothing can be made of it.
    if table is None or table.mode == "LOCAL" or not (table.is_table or table.unique is not None):
        return []
    found: dict[tuple[KeyColumn, ...], None] = {}
    for key in _keys(block, source, conditions):
        is_hot = table.columns[key[0].column].temporal and not key[0].words if key else False
        plain = tuple(one.column for one in key if not one.words)
        is_own = not any(one.words or one.descending for one in key) and table.key[: len(key)] == plain
        is_sortable = table.approximate.isdisjoint(one.column for one in key)
        is_seen = all(one.column < table.visible for one in key)
        if key and is_hot is hot and not is_own and is_sortable and is_seen:
            found[key] = None
    first = schema.next_id() + 1000 * (number + 1)
    read = sorted(place - source.start for place in block.used() if source.has(place)) if widen else []
    return [
        index_of(table, key, schema, first + place, _included(table, key, read))
        for place, key in enumerate(islice(found, MOST))
    ]


def _included(table: Stored, key: Sequence[KeyColumn], read: Sequence[int]) -> list[int]:
    """The columns that an index is to have besides its key; none where a row has several entries, and is looked up."""
    if any(one.words for one in key):
        return []
    own = {*(one.column for one in key), *table.key}
    return [column for column in read if column not in own and column < table.visible]


def _keys(block: Block, source: Source, conditions: Conditions) -> Iterator[tuple[KeyColumn, ...]]:
    given = conditions
    if source.on:
        given = Conditions((*block.conjuncts, *source.on))
    constants, joined = _fixed(source, given)
    words = [
        KeyColumn(text.index - source.start, words=True)
        for test in given.tests
        if test.op in ("word", "word starts")
        and isinstance(test.subject, Call)
        and test.subject.name == WORD
        and isinstance(text := test.subject.args[0], Input)
        and source.has(text.index)
    ]
    ranged = [
        test.subject.index - source.start
        for test in given.tests
        if (test.op in INEQUALITIES or test.op == "starts")
        and isinstance(test.subject, Input)
        and source.has(test.subject.index)
    ]
    if source.kind in (SourceKind.SEMI, SourceKind.ANTI):
        ranged += _compared(source, given)
    order = _order(block, source, given)
    starts = [
        [*constants],
        [*constants, *joined],
        *([one] for one in joined),
        *([*constants, one] for one in joined),
    ]
    for fixed in starts:
        leads = [KeyColumn(column) for column in dict.fromkeys(fixed)]
        for prefix in ([*leads], *([*leads, word] for word in words), *([word, *leads] for word in words[:1])):
            used = {one.column for one in prefix if not one.words}
            behind = tuple(one for one in order if one.column not in used)
            yield (*prefix, *behind)
            for column in ranged:
                rest = tuple(one for one in behind if one.column != column)
                first = next((one for one in behind if one.column == column), KeyColumn(column))
                if column not in used and (not behind or behind[0].column == column):
                    yield (*prefix, first, *rest)
            for row in given.rows:
                compared = _row(source, row, behind)
                columns = {one.column for one in compared}
                if used.isdisjoint(columns):
                    yield (*prefix, *compared, *(one for one in behind if one.column not in columns))
            if behind:
                yield tuple(prefix)


def _compared(source: Source, conditions: Conditions) -> Iterator[int]:
    """The columns that are compared by inequality with columns of other sources."""
    assert source.stored is not None
    for number, column in enumerate(source.stored.columns[: source.stored.visible]):
        for _, other, _ in conditions.compared(Input(source.start + number, column.type)):
            if isinstance(other, Input) and not source.has(other.index):
                yield number


def _row(source: Source, row: RowTest, order: Sequence[KeyColumn]) -> tuple[KeyColumn, ...]:
    """The columns that a row is compared with, in the order wanted where there is one; none if they are not its own."""
    places = [one.index - source.start for one in row.subjects if isinstance(one, Input) and source.has(one.index)]
    if len(places) < len(row.subjects) or (order and order[0].column != places[0]):
        return ()
    turned = bool(order) and order[0].descending is not row.is_less[0]
    return tuple(KeyColumn(place, less is not turned) for place, less in zip(places, row.is_less, strict=True))


def _fixed(source: Source, conditions: Conditions) -> tuple[list[int], list[int]]:
    """The columns that equal a constant or are one of several, and those that equal a column of another source."""
    assert source.stored is not None
    constants, joined = [], []
    for number, column in enumerate(source.stored.columns[: source.stored.visible]):
        attribute = Input(source.start + number, column.type)
        same = conditions.same(attribute)
        if any(map(is_constant, same)) or any(True for _ in conditions.tests_of(attribute, ("in",))):
            constants.append(number)
        elif any(isinstance(one, Input) and not source.has(one.index) for one in same):
            joined.append(number)
    return _spread(source, constants), joined


def _spread(source: Source, columns: list[int]) -> list[int]:
    """Columns that are not TEMPORAL first, so that new entries are spread."""
    assert source.stored is not None
    stored = source.stored
    return sorted(columns, key=lambda number: stored.columns[number].temporal)


def _order(block: Block, source: Source, conditions: Conditions) -> tuple[KeyColumn, ...]:
    """The columns of ORDER BY that are of a source."""
    if block.group is not None:
        return ()
    found: dict[int, KeyColumn] = {}
    for sort in block.order:
        expr = core(block.outputs[sort.column])
        same = [one for one in conditions.same(expr) if isinstance(one, Input) and source.has(one.index)]
        if same and not conditions.constants(expr):
            column = min(one.index for one in same) - source.start
            found.setdefault(column, KeyColumn(column, sort.descending))
    return tuple(found.values())


def index_of(
    table: Stored, key: Sequence[KeyColumn], schema: Schema, number: int, include: Sequence[int] = ()
) -> Stored:
    """An index that does not exist yet, as it would be stored, with the statement that makes it."""
    names = [table.columns[one.column].name for one in key]
    shown = [f"{name}_words" if one.words else name for name, one in zip(names, key, strict=True)]
    name = schema.free_name(f"{table.name}_by_{'_'.join(shown)}")
    parts = [
        (f"TOKENS({quoted(text)})" if one.words else quoted(text)) + " DESC" * one.descending
        for text, one in zip(names, key, strict=True)
    ]
    ddl = f"CREATE INDEX {quoted(name)} ON {quoted(table.name)} ({', '.join(parts)})"
    if include:
        ddl += f" INCLUDE ({', '.join(quoted(table.columns[column].name) for column in include)})"
    columns, plan, places = _stored(table, key, include)
    hidden = [column for column in table.key if column not in places]
    visible = len(key) + len(include)
    stored_key = (*range(len(key)), *range(visible, visible + len(hidden)))
    unique = frozenset(place for place, one in enumerate(key) if one.words)
    own = {column: place for place, column in enumerate(places) if column is not None}
    unique |= frozenset(own[column] for column in (table.unique or table.key))
    return Stored(
        id=number,
        name=name,
        kind="index",
        columns=columns,
        visible=visible,
        key=stored_key,
        descending=(*(one.descending for one in key), *(False for _ in hidden)),
        unique=unique,
        mode="DEFERRED",
        plan=plan,
        ddl=ddl,
    )


def _stored(
    table: Stored, key: Sequence[KeyColumn], include: Sequence[int]
) -> tuple[tuple[Column, ...], Relation, list[int | None]]:
    """The columns of an index, its definition, and which column of the table each is."""
    every = tuple(range(len(table.columns)))
    fields = tuple(Field(column.name, column.type) for column in table.columns)
    below: Relation = Scan(table.id, table.name, every, fields, not table.is_table)
    exprs: list[Expr] = []
    places: list[int | None] = []
    columns: list[Column] = []
    for one in key:
        column = table.columns[one.column]
        if one.words:
            below = Tokens(below, Input(one.column, column.type), "token")
            exprs.append(Input(len(below.fields) - 1, column.type))
            columns.append(replace(column, name="token", nullable=False))
            places.append(None)
        else:
            exprs.append(Input(one.column, column.type))
            columns.append(column)
            places.append(one.column)
    for number in include:
        exprs.append(Input(number, table.columns[number].type))
        columns.append(table.columns[number])
        places.append(number)
    for number in table.key:
        if number not in places:
            column = table.columns[number]
            exprs.append(Input(number, column.type))
            columns.append(replace(column, name=f"_{column.name}"))
            places.append(number)
    names = tuple(column.name for column in columns)
    return tuple(columns), Project(below, tuple(exprs), names), places
