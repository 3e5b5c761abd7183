"""A table as of a position as encoded rows, a slice at a time: what a reader in bulk decodes by itself.

    rows at p  =  stored rows, where each key changed at or behind p has its row before, encoded again

Decoding row by row is most of what a scan costs. Whoever turns thousands of rows into columns can do it in one go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.store.environment import explained
from viewkeeper.store.scan import Interval, Item, read_slice
from viewkeeper.store.snapshot import EMPTY, behind, covered
from viewkeeper.store.undo import TableUndo

if TYPE_CHECKING:
    from viewkeeper.store.embedded import EmbeddedStore
    from viewkeeper.store.snapshot import EmbeddedSnapshot

SLICE = 4096
"""Rows a slice: enough that the transaction costs nothing, few enough that they stay in the processor's cache."""


def raw_slices(
    store: EmbeddedStore, snapshot: EmbeddedSnapshot, codec: RowCodec, interval: Interval, size: int = SLICE
) -> Iterator[tuple[RowCodec, list[bytes]]]:
    """The encoded rows of an interval in key order, in lists, each with the codec that the table then had.

    A row may be shorter than its codec says. A list has about `size` rows, and is never empty.
    """
    rest = interval
    while not rest.is_empty:
        current, values, rest = _slice(store, snapshot, codec, rest, size)
        if values:
            yield current, values


@explained
def _slice(
    store: EmbeddedStore, snapshot: EmbeddedSnapshot, codec: RowCodec, interval: Interval, size: int
) -> tuple[RowCodec, list[bytes], Interval]:
    """The next encoded rows of an interval and what is left of it."""
    txn, catalog = store.begin_read()
    with txn:
        current = store.current(catalog, codec)
        undo = snapshot.catch_up(txn, current)
        items = read_slice(txn, catalog.databases.tables[current.table.id], current, interval, size)
    rest = behind(items, interval, False) if len(items) == size else EMPTY
    return current, undone_values(items, current, undo, covered(interval, rest, False)), rest


def undone_values(items: list[Item], codec: RowCodec, undo: TableUndo | None, interval: Interval) -> list[bytes]:
    """The encoded rows of an interval as they were."""
    changed = undo.within(interval) if undo is not None else []
    if undo is None or not changed:
        return [value for _, value in items]
    merged = dict(items)
    for key in changed:
        row = undo.before[key]
        if row is None:
            merged.pop(key, None)
        else:
            merged[key] = codec.encode(row)
    return [merged[key] for key in sorted(merged)]
