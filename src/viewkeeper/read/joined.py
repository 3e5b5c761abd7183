"""A SELECT of several tables, answered from one key of a join index: read once, joined in memory, sorted, cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from viewkeeper.execute.evaluate import evaluate
from viewkeeper.model.keycodec import sortable_double
from viewkeeper.model.types import Cell, Row
from viewkeeper.model.view import View
from viewkeeper.read.bykey import dict_maker
from viewkeeper.read.fixedkeys import leaves_of
from viewkeeper.read.joinindexes import Lookup, join_indexes, lookup
from viewkeeper.read.refusedjoins import refusal
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.read.viewat import ViewAt
from viewkeeper.sql.statements import JoinSelect, Sorting
from viewkeeper.store.interface import Catalog, Interval, Store


def select_joined(store: Store, catalog: Catalog, statement: JoinSelect, view_at: Callable[[View], ViewAt]) -> Rows:
    """The rows of a join, all as of the watermark of the index that has them. Unsupported if none has."""
    found = _lookup(store, catalog, statement)
    at = view_at(found.index.view)
    meta = ReadMeta(path="view", position=at.position)
    chunks = _answer(at, catalog, statement, found, meta)
    return Rows(chunks, statement.columns, dict_maker(statement.columns), meta)


def _lookup(store: Store, catalog: Catalog, statement: JoinSelect) -> Lookup:
    leaves = leaves_of(statement.plan)
    indexes = list(join_indexes(store, catalog, (leaf.scan.object for leaf in leaves)))
    for index in indexes:
        found = lookup(index, leaves)
        if found is not None:
            return found
    raise refusal(catalog, statement, leaves, indexes)


def _answer(at: ViewAt, catalog: Catalog, statement: JoinSelect, found: Lookup, meta: ReadMeta) -> Iterator[list[Row]]:
    rows: list[Row] = []
    view, width = found.index.view, found.index.width
    if found.key is not None and statement.limit != 0:
        codec = catalog.view_codecs[view.id]
        meta.operations += 1
        interval = Interval.of_prefix(codec.key.encode_key(found.key))
        rows = [row for chunk in at.scan(codec, interval) for row in chunk]
    inputs: list[list[Row]] = []
    for leaf, side in zip(leaves_of(statement.plan), found.sides, strict=True):
        if side is None:
            inputs.append([])
            continue
        row_of = side.row_of(leaf.scan)
        inputs.append([row_of(row) for row in rows if row[width] == side.tag])
    made = _sorted(evaluate(statement.plan, inputs), statement.order)[: statement.limit]
    shown = len(statement.columns)
    if made:
        yield [row[:shown] for row in made]


def _sorted(rows: list[Row], order: Sequence[Sorting]) -> list[Row]:
    # The last column first: sorting keeps the order of what is equal.
    for by in reversed(order):
        rows.sort(key=lambda row, by=by: _rank(row[by.column], by), reverse=by.descending)  # type: ignore[misc]
    return rows


def _rank(cell: Cell, by: Sorting) -> tuple[bool, Cell]:
    if cell is None:
        return by.nulls_first is by.descending, None
    value = sortable_double(cell) if isinstance(cell, float) else cell
    return by.nulls_first is not by.descending, value
