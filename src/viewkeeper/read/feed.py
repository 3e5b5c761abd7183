"""The change feed of a table or view: its changes in commit order, from a position on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta

from viewkeeper.errors import TableDropped
from viewkeeper.model.change import Change
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.values import EPOCH
from viewkeeper.model.view import View
from viewkeeper.read.viewfeed import POLL, oldest_of_view, view_changes
from viewkeeper.store.interface import Block, Store

BLOCKS = 256


def changes_of(store: Store, name: str, since: Position, *, follow: bool = False) -> Iterator[Change]:
    """The changes of a table or view at or behind `since`; with `follow`, it waits for more and never ends.

    NotRetained if the log does not reach back that far, at once or when a slow reader was overtaken.
    """
    found = store.catalog().find(name)
    if isinstance(found, View):
        return view_changes(store, found, since, follow=follow)
    store.blocks(since, most=1)
    return _feed(store, name, found.id, since, follow)


def oldest_of(store: Store, name: str) -> Position:
    """The oldest position that the feed of a table or view can start from."""
    found = store.catalog().find(name)
    return oldest_of_view(store, found) if isinstance(found, View) else store.oldest()


def _feed(store: Store, name: str, table: int, since: Position, follow: bool) -> Iterator[Change]:
    position = since
    while True:
        blocks = store.blocks(position, tables=frozenset([table]), most=BLOCKS)
        codec = store.catalog().codecs.get(table)
        if codec is None:
            raise TableDropped(f'table "{name}" was dropped')
        for block in blocks:
            yield from _changes(store, codec, block, position)
            position = store.position(block.end)
        if blocks:
            continue
        if not follow:
            return
        while store.head() == position:
            time.sleep(POLL)


def _changes(store: Store, codec: RowCodec, block: Block, since: Position) -> Iterator[Change]:
    """The changes of a block behind `since`, which may lie inside it."""
    committed_at = EPOCH + timedelta(microseconds=block.committed_at)
    skip = store.offset(since)
    for section in block.sections:
        place = block.start + section.first
        for before, after in section.pairs(codec):
            place += 1
            if place <= skip:
                continue
            row = after if before is None else before
            assert row is not None
            yield Change(
                table=codec.table.name,
                key=codec.present_key(row),
                before=None if before is None else codec.to_dict(before),
                after=None if after is None else codec.to_dict(after),
                position=store.position(place),
                committed_at=committed_at,
            )
