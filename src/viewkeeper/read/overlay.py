"""A view with a delta over it: by key and in stored order, each row as often as it weighs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping

from viewkeeper.errors import ViewNotReady
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.model.view import View
from viewkeeper.read.viewat import repeated
from viewkeeper.read.waiting import dropped
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.interface import Interval, Store
from viewkeeper.store.undo import Keyed


class Overlay:
    """A view as it stood at an offset, and over that the rows that a fold has changed up to a later one.

    Holds nothing open: what is applied meanwhile is undone. Only what was folded may be read.
    """

    def __init__(
        self, store: Store, view: View, codec: RowCodec, offset: int, changes: Mapping[bytes, RawChange], target: int
    ) -> None:
        self.position: Position = store.position(target)
        self._view = view
        self._snapshot = store.view_tables.as_of(codec, offset)
        decode = codec.decode
        self._rows = {key: None if after is None else decode(after) for key, (_, after) in changes.items()}
        self._keys = sorted(self._rows)

    def get(self, codec: RowCodec, key: bytes) -> Row | None:  # noqa: ARG002  the same call as for tables
        """The stored row of an encoded key; None if there is none."""
        if key in self._rows:
            return self._rows[key]
        try:
            return self._snapshot.get(key)
        except ViewNotReady:
            raise dropped(self._view) from None

    def scan(
        self,
        codec: RowCodec,  # noqa: ARG002  the same call as for tables
        interval: Interval,
        *,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[list[Row]]:
        """The stored rows of an interval in key order, in lists; `limit` counts a row as often as it weighs."""
        chunks = self._cut(self._merged(interval, limit, reverse), limit)
        return repeated(chunks, limit) if self._view.repeats else chunks

    def _cut(self, chunks: Iterator[list[Row]], limit: int | None) -> Iterator[list[Row]]:
        left = limit
        for chunk in chunks:
            if left is not None and left <= 0:
                return
            rows = chunk[:left]
            if left is not None:
                left -= len(rows)
            if rows:
                yield rows

    def _merged(self, interval: Interval, limit: int | None, reverse: bool) -> Iterator[list[Row]]:
        changed = self._within(interval)
        # Of the stored rows as many can be hidden, or taken the place of.
        most = None if limit is None else limit + len(changed)
        if reverse:
            changed.reverse()
        done = 0
        try:
            for chunk in self._snapshot.scan_keyed(interval, limit=most, reverse=reverse):
                upto = _behind(changed, chunk[-1][0], done, reverse)
                yield self._with(chunk, changed[done:upto], reverse)
                done = upto
        except ViewNotReady:
            raise dropped(self._view) from None
        yield [row for key in changed[done:] if (row := self._rows[key]) is not None]

    def _with(self, chunk: list[Keyed], changed: list[bytes], reverse: bool) -> list[Row]:
        """Stored rows with the changed ones up to the last of them."""
        if not changed:
            return [row for _, row in chunk]
        rows: dict[bytes, Row | None] = dict(chunk)
        rows.update((key, self._rows[key]) for key in changed)
        return [row for _, row in sorted(rows.items(), key=_key, reverse=reverse) if row is not None]

    def _within(self, interval: Interval) -> list[bytes]:
        """The changed keys of an interval, ascending."""
        end = len(self._keys) if interval.upper is None else bisect_left(self._keys, interval.upper)
        return self._keys[bisect_left(self._keys, interval.lower) : end]


def _behind(changed: list[bytes], last: bytes, done: int, reverse: bool) -> int:
    """How many of some keys, in the order of a scan, are not behind its last one."""
    if not reverse:
        return bisect_right(changed, last, done)
    return bisect_right(changed, -1, done, key=lambda key: 0 if key < last else -1)


def _key(item: tuple[bytes, Row | None]) -> bytes:
    return item[0]
