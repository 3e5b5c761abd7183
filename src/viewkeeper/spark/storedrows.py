"""The encoded rows of a table or view as of one position, wherever they are kept.

table                        in the base environment
view                         in the views environment, as of where it stood
SYNC view, or LOCAL          in the base environment, as those of a table
LOCAL, of a table in parts   in the base environment once for each part, put together on the way, by one task
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viewkeeper.errors import TableDropped, ViewNotReady
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.pipeline.workerstore import worker_snapshot
from viewkeeper.read.beside import beside_at
from viewkeeper.spark.target import Target
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.rawscan import raw_slices
from viewkeeper.store.scan import Interval
from viewkeeper.store.viewsnapshot import ViewSnapshot, split_view

Slice = tuple[RowCodec, list[bytes]]
"""Encoded rows, and the codec that their table then had."""


def is_put_together(target: Target, codec: RowCodec) -> bool:
    """Whether rows are not stored as they are read, or there is but one, which has no key; one task reads all."""
    return target.view is not None and target.in_log and (bool(target.view.parts) or not codec.key.columns)


def row_count(store: EmbeddedStore, target: Target, codec: RowCodec) -> int:
    """How many rows are stored now."""
    if target.in_log:
        return store.row_count(codec)
    with store.view_tables.reading([target.object]) as reading:
        return reading.rows(target.object)


def split_rows(store: EmbeddedStore, target: Target, codec: RowCodec, count: int, interval: Interval) -> list[Interval]:
    """At most `count` adjoining intervals of like size."""
    return store.split(codec, count, interval) if target.in_log else split_view(store, codec, count, interval)


def row_slices(store: EmbeddedStore, target: Target, offset: int, interval: Interval) -> Iterator[Slice]:
    """The encoded rows of an interval in key order, in lists, none of them empty; rows that repeat have their weight.

    TableDropped if a view goes, or is moved, before they are read.
    """
    try:
        for found in _slices(store, target, target.codec(store), offset, interval):
            if target.view is not None:
                target.check(store)
            yield found
    except (TableDropped, ViewNotReady):
        # Whoever looks where it was does not know that it was moved.
        target.check(store)
        raise
    if target.view is not None:
        target.check(store)


def _slices(store: EmbeddedStore, target: Target, codec: RowCodec, offset: int, interval: Interval) -> Iterator[Slice]:
    if is_put_together(target, codec):
        return _put_together(store, target, codec, offset, interval)
    if target.in_log:
        return raw_slices(store, worker_snapshot(target.path, offset), codec, interval)
    snapshot = ViewSnapshot(store, target.object, codec, offset)
    return ((codec, values) for values in snapshot.raw_slices(interval))


def _put_together(
    store: EmbeddedStore, target: Target, codec: RowCodec, offset: int, interval: Interval
) -> Iterator[Slice]:
    assert target.view is not None
    # Rows with their weights, rather than as often as they weigh.
    view = replace(target.view, repeats=False)
    at = beside_at(store, store.catalog(), view, worker_snapshot(target.path, offset))
    if codec.key.columns:
        yield from ((codec, [codec.encode(row) for row in rows]) for rows in at.scan(codec, interval))
        return
    row = at.get(codec, b"")
    if row is not None:
        yield codec, [codec.encode(row)]
