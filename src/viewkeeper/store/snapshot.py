"""Several reads at one position, without holding a reader open.

Each read opens a short transaction and undoes what was committed since the position. While nothing was, that is a
comparison of two integers.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from viewkeeper.errors import Conflict
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.store import log
from viewkeeper.store.environment import Txn, explained
from viewkeeper.store.keyspace import stored_key
from viewkeeper.store.scan import Interval, Item, read_slice
from viewkeeper.store.undo import Keyed, TableUndo, check_retained

if TYPE_CHECKING:
    from viewkeeper.store.catalog import Catalog
    from viewkeeper.store.embedded import EmbeddedStore

T = TypeVar("T")
FIRST_SLICE = 64
LARGEST_SLICE = 4096
EMPTY = Interval(b"", b"")


class EmbeddedSnapshot:
    """The tables as of a transaction boundary. Thread-safe."""

    def __init__(self, store: EmbeddedStore, position: int) -> None:
        self._store = store
        self.offset = position
        self._undo: dict[int, TableUndo] = {}
        self._lock = threading.Lock()

    @property
    def position(self) -> Position:
        return self._store.position(self.offset)

    @explained
    def get(self, codec: RowCodec, key: bytes) -> Row | None:
        """The row of an encoded key; None if it was absent."""
        txn, catalog = self._store.begin_read()
        with txn:
            current = self._store.current(catalog, codec)
            undo = self.catch_up(txn, current)
            if undo is not None and key in undo.before:
                return undo.before[key]
            value = txn.get(stored_key(key), db=catalog.databases.tables[current.table.id])
            return None if value is None else current.decode(value)

    @explained
    def get_many(self, codec: RowCodec, keys: Sequence[bytes]) -> list[Row | None]:
        """The rows of several keys, in their order."""
        txn, catalog = self._store.begin_read()
        with txn:
            current = self._store.current(catalog, codec)
            undo = self.catch_up(txn, current)
            db = catalog.databases.tables[current.table.id]
            found: list[Row | None] = []
            for key in keys:
                if undo is not None and key in undo.before:
                    found.append(undo.before[key])
                else:
                    value = txn.get(stored_key(key), db=db)
                    found.append(None if value is None else current.decode(value))
            return found

    def scan(
        self, codec: RowCodec, interval: Interval, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[list[Row]]:
        """The rows of an interval in key order, in lists; never more than `limit` in all."""
        return slices(interval, limit, lambda rest, count: self._rows(codec, rest, count, reverse))

    def scan_keyed(
        self, codec: RowCodec, interval: Interval, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[list[Keyed]]:
        """As `scan`, with the encoded keys."""
        return slices(interval, limit, lambda rest, count: self._keyed(codec, rest, count, reverse))

    @explained
    def _rows(self, codec: RowCodec, interval: Interval, count: int, reverse: bool) -> tuple[list[Row], Interval]:
        """The next rows of an interval and what is left of it."""
        stored, rest, current, undo = self._slice(codec, interval, count, reverse)
        if undo is None:
            decode = current.decode
            return [decode(value) for _, value in stored], rest
        return [row for _, row in undone(stored, interval, rest, current, undo, reverse)], rest

    @explained
    def _keyed(self, codec: RowCodec, interval: Interval, count: int, reverse: bool) -> tuple[list[Keyed], Interval]:
        """The same with encoded keys."""
        stored, rest, current, undo = self._slice(codec, interval, count, reverse)
        return undone(stored, interval, rest, current, undo, reverse), rest

    def _slice(
        self, codec: RowCodec, interval: Interval, count: int, reverse: bool
    ) -> tuple[list[Item], Interval, RowCodec, TableUndo | None]:
        """The next stored rows of an interval, what is left of it, their codec, and what to undo."""
        txn, catalog = self._store.begin_read()
        with txn:
            current = self._store.current(catalog, codec)
            undo = self.catch_up(txn, current)
            rows = catalog.databases.tables[current.table.id]
            stored = read_slice(txn, rows, current, interval, count, reverse=reverse)
        rest = behind(stored, interval, reverse) if len(stored) == count else EMPTY
        return stored, rest, current, undo

    def catch_up(self, txn: Txn, codec: RowCodec) -> TableUndo | None:
        """What to undo for a table, as `txn` sees the log; None if nothing was committed since."""
        store = self._store
        head = log.head(txn, store.log_db)
        if head == self.offset:
            return None
        number = codec.table.id
        with self._lock:
            undo = self._undo.get(number)
            if undo is None:
                undo = self._undo[number] = TableUndo(self.offset)
            if undo.upto < head:
                check_retained(store.database, undo.upto, log.oldest(txn, store.log_db))
            undo.catch_up(txn, store.log_db, head, codec)
            return undo

    def check_unchanged(self, txn: Txn, codec: RowCodec, keys: set[bytes], intervals: list[Interval]) -> None:
        """Conflict if one of these keys, or any key in these intervals, has changed since."""
        undo = self.catch_up(txn, codec)
        if undo is None or not undo.before:
            return
        if not keys.isdisjoint(undo.before) or any(undo.within(interval) for interval in intervals):
            raise _changed_since(codec)

    def check_where(self, txn: Txn, catalog: Catalog, codec: RowCodec, matters: Callable[[Row], bool] | None) -> None:
        """Conflict if a row for which `matters` holds, any if it is None, has changed since, or has come."""
        undo = self.catch_up(txn, codec)
        if undo is None or not undo.before:
            return
        if matters is None:
            raise _changed_since(codec)
        db, current = catalog.databases.tables[codec.table.id], self._store.current(catalog, codec)
        for key, before in undo.before.items():
            value = txn.get(stored_key(key), db=db)
            after = None if value is None else current.decode(value)
            if any(row is not None and matters(row) for row in (before, after)):
                raise _changed_since(codec)


def _changed_since(codec: RowCodec) -> Conflict:
    return Conflict(
        f'rows of "{codec.table.name}" that the transaction read have changed since',
        detail="Nothing of it was written.",
        hint="Run it again from the start.",
    )


def slices(
    interval: Interval, limit: int | None, read: Callable[[Interval, int], tuple[list[T], Interval]]
) -> Iterator[list[T]]:
    """An interval by reads of growing size, each of which gives items and the interval that is left."""
    rest = interval
    size = FIRST_SLICE
    left = limit
    while not rest.is_empty and (left is None or left > 0):
        count = size if left is None else min(size, left)
        items, rest = read(rest, count)
        if left is not None:
            items = items[:left]
            left -= len(items)
        if items:
            yield items
        size = min(size * 4, LARGEST_SLICE)


def undone(
    stored: list[Item], interval: Interval, rest: Interval, codec: RowCodec, undo: TableUndo | None, reverse: bool
) -> list[Keyed]:
    items = [(key, codec.decode(value)) for key, value in stored]
    if undo is None:
        return items
    return undo.rewrite(items, covered(interval, rest, reverse), reverse=reverse)


def behind(items: list[Item], interval: Interval, reverse: bool) -> Interval:
    """What an interval holds behind its first slice."""
    last = items[-1][0]
    return Interval(interval.lower, last) if reverse else Interval(last + b"\0", interval.upper)


def covered(interval: Interval, rest: Interval, reverse: bool) -> Interval:
    """The part of an interval that a slice has read, `rest` being what it has not."""
    if rest.is_empty:
        return interval
    if reverse:
        return Interval(rest.upper or b"", interval.upper)
    return Interval(interval.lower, rest.lower)
