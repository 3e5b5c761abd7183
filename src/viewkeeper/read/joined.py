"""A SELECT of several tables, answered from one key of a join index: read once, joined in memory, sorted, cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from viewkeeper.execute.evaluate import evaluate
from viewkeeper.model.keycodec import sortable_double
from viewkeeper.model.types import Cell, Row
from viewkeeper.model.view import View
from viewkeeper.read.bykey import Reader, dict_maker
from viewkeeper.read.fixedkeys import leaves_of
from viewkeeper.read.joinindexes import Lookup, join_indexes, lookup
from viewkeeper.read.nojoinindex import NoJoinIndex
from viewkeeper.read.region import Region, region_of
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.sql.statements import JoinSelect, Sorting
from viewkeeper.store.interface import Catalog, Store

ViewAs: TypeAlias = Callable[[View, Sequence[Region]], tuple[Reader, ReadMeta]]
"""What gives a view to read some regions of, and how it is answered."""


def select_joined(store: Store, catalog: Catalog, statement: JoinSelect, view_as: ViewAs) -> Rows:
    """The rows of a join, all as of one position of the index that has them. NoJoinIndex if none has."""
    found = _lookup(store, catalog, statement)
    codec = catalog.view_codecs[found.index.view.id]
    region = Region() if found.key is None else region_of(codec, found.key)
    reader, meta = view_as(found.index.view, [] if found.key is None else [region])
    chunks = _answer(reader, region, catalog, statement, found, meta)
    return Rows(chunks, statement.columns, dict_maker(statement.columns), meta)


def _lookup(store: Store, catalog: Catalog, statement: JoinSelect) -> Lookup:
    leaves = leaves_of(statement.plan)
    for index in join_indexes(store, catalog, (leaf.scan.object for leaf in leaves)):
        found = lookup(index, leaves)
        if found is not None:
            return found
    raise NoJoinIndex


def _answer(
    reader: Reader, region: Region, catalog: Catalog, statement: JoinSelect, found: Lookup, meta: ReadMeta
) -> Iterator[list[Row]]:
    rows: list[Row] = []
    view, width = found.index.view, found.index.width
    if found.key is not None and statement.limit != 0:
        codec = catalog.view_codecs[view.id]
        meta.operations += 1
        rows = [row for chunk in reader.scan(codec, region.interval) for row in chunk]
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
