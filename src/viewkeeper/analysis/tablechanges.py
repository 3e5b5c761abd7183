"""Changes of the tables that a query reads: what they would have to be declared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

from viewkeeper.analysis.block import Block
from viewkeeper.analysis.change import MANY, Change, Place, mapped
from viewkeeper.analysis.conditions import Conditions
from viewkeeper.analysis.schema import Limit, Schema, Stored
from viewkeeper.analysis.sqltext import quoted
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BOOLEAN, STRING
from viewkeeper.plan.expr import Call, Expr, Input, Parameter, children
from viewkeeper.plan.relation import scans
from viewkeeper.sql.statements import Query


def cardinalities(query: Query, schema: Schema) -> Iterator[Change]:
    """A limit on the last key columns of a table that is read."""
    for table in _read(query, schema):
        for given in range(len(table.key) - 1, 0, -1):
            for kept in combinations(table.key, given):
                counted = frozenset(table.key) - set(kept)
                if not any(limit.counted == counted for limit in table.limits):
                    yield limiting(table, counted)


def limiting(table: Stored, counted: frozenset[int]) -> Change:
    """A CARDINALITY of some key columns."""
    limit = Limit(given=frozenset(table.key) - counted, counted=counted, limit=MANY)
    names = ", ".join(quoted(table.columns[n].name) for n in table.key if n in counted)
    return Change(
        text=f"Declare table {quoted(table.name)} WITH CARDINALITY ({names}, n), n being the most that there may be.",
        schema=lambda schema: schema.limited(table.id, limit),
    )


def keys(block: Block, schema: Schema) -> Iterator[Change]:
    """A key that begins with what rows are found by, so that how many of them there are can be limited."""
    conditions = Conditions((*block.conjuncts, *(one for source in block.sources for one in source.on)))
    found: dict[tuple[int, int], None] = {}
    for source in block.sources:
        if source.stored is None or not source.stored.is_table:
            continue
        for number, column in enumerate(source.stored.columns):
            is_compared = len(conditions.same(Input(source.start + number, column.type))) > 1
            if is_compared and number not in source.stored.key:
                found[source.stored.id, number] = None
    for table, number in found:
        yield keyed_by(schema[table], number)


def keyed_by(table: Stored, number: int) -> Change:
    """A column before the key, which still says what it is, and a limit on how many there are for one value of it."""
    key = (number, *table.key)
    columns = list(table.columns)
    columns[number] = replace(columns[number], nullable=False)
    own, counted = frozenset({number}), frozenset(table.key)
    limits = (
        *table.limits,
        Limit(given=own, counted=counted, limit=MANY),
        Limit(given=counted, counted=own, limit=1),
    )
    made = replace(
        table,
        columns=tuple(columns),
        key=key,
        descending=(False, *table.descending),
        unique=frozenset(key),
        limits=limits,
    )
    by, rest = quoted(columns[number].name), ", ".join(quoted(columns[n].name) for n in table.key)
    return Change(
        text=f"Make ({by}, {rest}) the primary key of table {quoted(table.name)} WITH CARDINALITY ({rest}, n), "
        f"CARDINALITY ({by}, 1), n being the most that there may be for one {by}.",
        schema=lambda schema: schema.with_objects(made),
    )


def words(block: Block) -> Iterator[Change]:
    """A limit on the words of a text that is searched by word."""
    for table, column in sorted(_searched(block), key=lambda one: (one[0].id, one[1])):
        if column not in table.words:
            yield _words_limited(table, column)


def _words_limited(table: Stored, column: int) -> Change:
    """A limit on the words of one text."""

    def limited(schema: Schema) -> Schema:
        stored = schema[table.id]
        return schema.with_objects(replace(stored, words={**stored.words, column: MANY}))

    name = quoted(table.columns[column].name)
    return Change(
        text=f"Declare table {quoted(table.name)} WITH CARDINALITY (TOKENS({name}), n), n being the most words that "
        "there may be.",
        schema=limited,
    )


def by_word(block: Block) -> Iterator[Change]:
    """Words of a text in place of a pattern that does not say how it begins."""
    for conjunct in Conditions(block.conjuncts).other:
        match conjunct:
            case Call("like", (text, Parameter()), _):
                found = _of_table(block, text)
            case _:
                continue
        for table, leaf, column in found:
            asked = Change(
                text=f"Ask for whole words: write TOKENS({quoted(table.columns[column].name)}) = :word.",
                query=partial(_with_word, (leaf, column)),
            )
            yield asked if column in table.words else asked.and_then(_words_limited(table, column))


def _with_word(place: Place, query: Query) -> Query:
    word = Parameter(key="word", type=STRING)

    def change(expr: Expr, columns: Sequence[Place | None]) -> Expr:
        match expr:
            case Call("and", args):
                return replace(expr, args=tuple(change(arg, columns) for arg in args))
            case Call("like", (Input(number) as text, _)) if columns[number] == place:
                return Call("has_word", (text, word), BOOLEAN)
        return expr

    return replace(query, plan=mapped(query.plan, change))


def not_null(block: Block) -> Iterator[Change]:
    """Columns behind the first one that a row is compared with."""
    subjects = [one for row in Conditions(block.conjuncts).rows for one in row.subjects[1:]]
    for table, _, number in (found for one in subjects for found in _of_table(block, one)):
        column = table.columns[number]
        if column.nullable:
            name = f"{quoted(column.name)} of table {quoted(table.name)}"
            yield Change(
                text=f"Declare {name} NOT NULL, so that all rows have a place in its order.",
                schema=partial(_changed_column, table.id, number, replace(column, nullable=False)),
            )


def _of_table(block: Block, expr: Expr | None) -> Iterator[tuple[Stored, int, int]]:
    """The table, the number of its scan and the column that an expression is, if it is one."""
    if isinstance(expr, Input):
        source = block.sources[block.source_at(expr.index)]
        if source.stored is not None and source.stored.is_table:
            yield source.stored, source.leaf, expr.index - source.start


def _changed_column(table: int, number: int, column: Column, schema: Schema) -> Schema:
    columns = list(schema[table].columns)
    columns[number] = column
    return schema.with_objects(replace(schema[table], columns=tuple(columns)))


def _searched(block: Block) -> list[tuple[Stored, int]]:
    found: dict[tuple[int, int], tuple[Stored, int]] = {}

    def visit(expr: Expr) -> None:
        if isinstance(expr, Call) and expr.name in ("has_word", "has_word_like"):
            found.update({(table.id, column): (table, column) for table, _, column in _of_table(block, expr.args[0])})
        for child in children(expr):
            visit(child)

    for conjunct in (*block.conjuncts, *(one for source in block.sources for one in source.on)):
        visit(conjunct)
    for source in block.sources:
        for part in source.derived.parts if source.derived is not None else ():
            found |= {(one.id, column): (one, column) for one, column in _searched(part)}
    return list(found.values())


def _read(query: Query, schema: Schema) -> Iterator[Stored]:
    """The tables that are named, each once."""
    for number in dict.fromkeys(scan.object for scan in scans(query.plan)):
        if schema[number].is_table:
            yield schema[number]


def not_temporal(query: Query, schema: Schema) -> Iterator[Change]:
    """A column by which rows may be stored: all new ones at one end."""
    for table in _read(query, schema):
        for number, column in enumerate(table.columns):
            if column.temporal:
                name = f"{quoted(column.name)} of table {quoted(table.name)}"
                yield Change(
                    text=f"Declare {name} without TEMPORAL, if one end of an index can take all new rows.",
                    schema=partial(_changed_column, table.id, number, replace(column, temporal=False)),
                )
