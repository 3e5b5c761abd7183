"""A view as it was at an earlier watermark of its group: its rows now, with what was applied since undone by its feed.

    view at p  =  view now, where each key changed by an apply that ended behind p has the row before the first of them

A view has stood only where an apply ended, so `p` must be such a place. Like a table it is read in slices, each by one
short transaction.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from viewkeeper.errors import FuturePosition, NotRetained
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.store.blocks import Block
from viewkeeper.store.environment import explained
from viewkeeper.store.rawscan import SLICE, undone_values
from viewkeeper.store.samples import split
from viewkeeper.store.scan import Interval, Item
from viewkeeper.store.snapshot import EMPTY, behind, covered, slices, undone
from viewkeeper.store.undo import Keyed, TableUndo, check_retained

if TYPE_CHECKING:
    from viewkeeper.store.embedded import EmbeddedStore


SAMPLE = 64
"""One key in so many is looked at to cut a view into parts."""


class ViewSnapshot:
    """One object of the views environment as of a place where its group stood. Thread-safe; holds nothing open.

    Every read may raise NotRetained, if the feed has lost what was to be undone or the view never stood there;
    FuturePosition, if it does not stand there yet; ViewNotReady, if it was dropped or is being filled.
    """

    def __init__(self, store: EmbeddedStore, number: int, codec: RowCodec, offset: int) -> None:
        self._store = store
        self._number = number
        self._codec = codec
        self.offset = offset
        self._undo = TableUndo(offset)
        self._lock = threading.Lock()

    @explained
    def get(self, key: bytes) -> Row | None:
        """The row of an encoded key; None if it was absent."""
        with self._store.view_tables.reading([self._number]) as reading:
            watermark = reading.group(self._number).watermark
            value = reading.get(self._number, key)
        undo = self._catch_up(watermark)
        if undo is not None and key in undo.before:
            return undo.before[key]
        return None if value is None else self._codec.decode(value)

    def scan(self, interval: Interval, *, limit: int | None = None, reverse: bool = False) -> Iterator[list[Row]]:
        """The rows of an interval in key order, in lists; never more than `limit` in all."""
        return ([row for _, row in chunk] for chunk in self.scan_keyed(interval, limit=limit, reverse=reverse))

    def scan_keyed(
        self, interval: Interval, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[list[Keyed]]:
        """As `scan`, with the encoded keys."""
        return slices(interval, limit, lambda rest, count: self._keyed(rest, count, reverse))

    def raw_slices(self, interval: Interval, size: int = SLICE) -> Iterator[list[bytes]]:
        """The encoded rows of an interval in key order, in lists of about `size`, none of them empty."""
        rest = interval
        while not rest.is_empty:
            items, left, undo = self._slice(rest, size, False)
            values = undone_values(items, self._codec, undo, covered(rest, left, False))
            rest = left
            if values:
                yield values

    def _keyed(self, interval: Interval, count: int, reverse: bool) -> tuple[list[Keyed], Interval]:
        items, rest, undo = self._slice(interval, count, reverse)
        return undone(items, interval, rest, self._codec, undo, reverse), rest

    @explained
    def _slice(self, interval: Interval, count: int, reverse: bool) -> tuple[list[Item], Interval, TableUndo | None]:
        """The next stored rows of an interval, what is left of it, and what to undo."""
        with self._store.view_tables.reading([self._number]) as reading:
            watermark = reading.group(self._number).watermark
            items = reading.slice(self._codec, interval, count, reverse=reverse)
        if not self._codec.key.columns:
            # The one row of a view without a key: LMDB has no empty keys, and it is stored under another.
            return [(b"", value) for _, value in items], EMPTY, self._catch_up(watermark)
        rest = behind(items, interval, reverse) if len(items) == count else EMPTY
        return items, rest, self._catch_up(watermark)

    def _catch_up(self, watermark: int) -> TableUndo | None:
        """What to undo of a view that stands at `watermark`; None if it has not moved."""
        if watermark < self.offset:
            position = self._store.position
            raise FuturePosition(
                f'view "{self._codec.table.name}" does not stand at position {position(self.offset)} yet',
                detail=f"It stands at {position(watermark)}.",
                hint="Run maintenance, or read it as of an earlier position.",
            )
        if watermark == self.offset:
            return None
        with self._lock:
            if self._undo.upto < watermark:
                self._undo.take(self._applied(watermark), self._codec, watermark)
        return self._undo

    def _applied(self, watermark: int) -> Iterator[Block]:
        """The applies since `offset` that are not taken in yet, up to `watermark`."""
        views = self._store.view_tables
        for _, block in views.feed_between(self._number, self._undo.upto, watermark):
            if block.start < self.offset:
                raise NotRetained(
                    f'view "{self._codec.table.name}" never stood at position {self._store.position(self.offset)}',
                    detail=f"It went from {self._store.position(block.start)} to {self._store.position(block.end)}.",
                    hint="Read it as of one of these.",
                )
            yield block
        # The log is truncated before the feeds are: as long as it reaches back so far, so did what was read above.
        oldest = self._store.offset(self._store.oldest())
        check_retained(self._store.database, min(self.offset, watermark), oldest)


def split_view(
    store: EmbeddedStore, codec: RowCodec, parts: int, interval: Interval, *, filling: bool = False
) -> list[Interval]:
    """At most `parts` adjoining intervals of like size; goes through the keys, of which no sample is kept for views.

    ViewNotReady if the view is not whole yet, unless it is `filling`.
    """
    found: list[bytes] = []
    rest = interval
    while parts > 1 and not rest.is_empty:
        with store.view_tables.reading([codec.table.id], filling=filling) as reading:
            items = reading.slice(codec, rest, SLICE)
        found += [key for key, _ in items[::SAMPLE]]
        rest = behind(items, rest, False) if len(items) == SLICE else EMPTY
    return split(found, parts, interval)
