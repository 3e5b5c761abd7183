"""The change feed of a view: what each apply changed of it, as its readers see it.

    row shown before and after            one change
    row that weighs more, or less         an insert, or a delete, as often as the weight differs
    row whose hidden columns changed      none

An apply is atomic, and its changes have one position: that behind the whole batch, where the view stood then. Reading
on from it misses nothing and repeats nothing, once all changes that have it were taken. A repair has the position at
which the view stands; whoever follows is told of it, whoever comes later and reads on from there is not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from viewkeeper.errors import FuturePosition, NotRetained, Unsupported
from viewkeeper.model.change import Change
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.model.values import EPOCH, present
from viewkeeper.model.view import View
from viewkeeper.read.waiting import dropped, whole
from viewkeeper.store.interface import Block, Store

BLOCKS = 256
POLL = 0.005
"""Seconds between two looks at the head; a look costs microseconds."""


def view_changes(store: Store, view: View, since: Position, *, follow: bool = False) -> Iterator[Change]:
    """The changes of a view by the batches that end behind `since`, the first of which may have begun before it.

    With `follow`, it waits for more and never ends. NotRetained if the feed does not reach back that far, ViewNotReady
    if the view is not filled yet; TableDropped, later, if it goes or is replaced.
    """
    offset = store.offset(since)
    if view.parts:
        raise Unsupported(
            f'{view.kind} "{view.name}" has no change feed',
            detail="It is LOCAL: its rows are put together from those of all partitions when it is read.",
            hint="Follow the table that it reads, or make it SYNC.",
        )
    if view.in_base:
        _check_kept(store, view, offset)
        store.blocks(since, most=1)
        return _beside(store, view, offset, follow)
    whole(store, view)
    head = store.head()
    if not head.covers(since):
        raise FuturePosition(f"position {since} is in the future", detail=f"The head is {head}.")
    _check_kept(store, view, offset)
    return _follow(store, view, offset, follow)


def _follow(store: Store, view: View, offset: int, follow: bool) -> Iterator[Change]:
    codec = store.catalog().view_codecs[view.id]
    # A repair moves no watermark: of those at `offset`, the ones made up to this moment have been told of.
    told = time.time_ns() // 1000
    while True:
        found = store.view_tables.standing(view.id)
        if found is None:
            raise dropped(view)
        blocks = store.view_tables.feed(view.id, offset, repaired_since=told)
        _check_kept(store, view, offset)
        for upper, block in blocks:
            yield from _changes(store, view, codec, upper, block)
            offset, told = upper, block.committed_at if block.start == upper else 0
        if blocks:
            continue
        # Nothing was applied to it up to where it stood before the look.
        if offset < found[1].watermark:
            offset, told = found[1].watermark, 0
        if not follow:
            return
        time.sleep(POLL)


def _beside(store: Store, view: View, offset: int, follow: bool) -> Iterator[Change]:
    """The changes of a view that is kept beside the tables: they are in the log."""
    while True:
        codec = store.catalog().codecs.get(view.id)
        if codec is None:
            raise dropped(view)
        blocks = store.blocks(store.position(offset), tables=frozenset([view.id]), most=BLOCKS)
        for block in blocks:
            yield from _changes(store, view, codec, block.end, block)
            offset = block.end
        if blocks:
            continue
        if not follow:
            return
        while store.offset(store.head()) == offset:
            time.sleep(POLL)


def _check_kept(store: Store, view: View, offset: int) -> None:
    oldest = oldest_of_view(store, view)
    if offset < store.offset(oldest):
        raise NotRetained(
            f'the changes of view "{view.name}" behind position {store.position(offset)} are not retained',
            detail=f"Its feed begins at {oldest}.",
            hint="Read the view itself, then follow it from its position: db.scan(…).meta.position.",
        )


def oldest_of_view(store: Store, view: View) -> Position:
    """The oldest position that the feed of a view can start from: where it was filled, or what is still kept.

    Feeds are kept at least as long as the log is; where a block still is, so are those behind it.
    """
    kept = store.offset(store.oldest())
    if view.in_base:
        return store.position(max(kept, view.since))
    first = store.view_tables.oldest_feed(view.id)
    found = store.view_tables.standing(view.id)
    if found is None:
        raise dropped(view)
    if first is not None:
        kept = min(kept, first)
    return store.position(max(kept, found[0].born))


def _changes(store: Store, view: View, codec: RowCodec, upper: int, block: Block) -> Iterator[Change]:
    position = store.position(upper)
    committed_at = EPOCH + timedelta(microseconds=block.committed_at)
    visible = view.layout.visible
    for section in block.sections:
        for before, after in section.pairs(codec):
            if view.repeats:
                times = _weight(after) - _weight(before)
                old, new = (before, None) if times < 0 else (None, after)
            else:
                times = 0 if _shown(before, visible) == _shown(after, visible) else 1
                old, new = before, after
            for _ in range(abs(times)):
                yield Change(
                    table=view.name,
                    key=_key(view, new if old is None else old),
                    before=None if old is None else codec.to_dict(old),
                    after=None if new is None else codec.to_dict(new),
                    position=position,
                    committed_at=committed_at,
                )


def _weight(row: Row | None) -> int:
    weight: Any = 0 if row is None else row[-1]
    return int(weight)


def _shown(row: Row | None, visible: int) -> str:
    """What readers see of a row, in a form that tells 0.0 from -0.0 and finds NaN equal to itself."""
    return "" if row is None else repr(row[:visible])


def _key(view: View, row: Row | None) -> tuple[Any, ...]:
    """The visible columns that the row is stored by."""
    assert row is not None
    return tuple(present(row[number], view.columns[number].type) for number, _ in view.order)
