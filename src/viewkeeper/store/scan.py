"""Stored rows in key order, a slice at a time.

A slice is read by one short transaction: a reader that stays open keeps every page freed since from being reused.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter

from viewkeeper.model.keycodec import prefix_end
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Kind, Row
from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.keyspace import LMDB_KEY, RUN

Item = tuple[bytes, bytes]
"""An encoded key and its encoded row."""
_first = itemgetter(0)


@dataclass(frozen=True, slots=True)
class Interval:
    """Encoded keys with lower <= key < upper; None is no upper end."""

    lower: bytes = b""
    upper: bytes | None = None

    @classmethod
    def of_prefix(cls, prefix: bytes) -> Interval:
        return cls(prefix, prefix_end(prefix))

    def __contains__(self, key: bytes) -> bool:
        return self.lower <= key and (self.upper is None or key < self.upper)

    def intersect(self, other: Interval) -> Interval:
        """The keys in both; may be empty."""
        uppers = [upper for upper in (self.upper, other.upper) if upper is not None]
        return Interval(max(self.lower, other.lower), min(uppers) if uppers else None)

    @property
    def is_empty(self) -> bool:
        return self.upper is not None and self.upper <= self.lower


ALL = Interval()


_WIDEST = {Kind.BOOLEAN: 2, Kind.INT: 5, Kind.DATE: 5, Kind.STRING: RUN, Kind.BINARY: RUN}


def may_be_long(codec: RowCodec) -> bool:
    """Whether a key of this table can reach the length from which keys are digested."""
    return sum(17 if type.is_wide else _WIDEST.get(type.kind, 9) for type in codec.key.types) >= RUN


def read_slice(
    txn: Txn, db: Database, codec: RowCodec, interval: Interval, count: int, *, reverse: bool = False
) -> list[Item]:
    """The first `count` items of an interval, in key order, or the last ones from its end backwards.

    Fewer than `count` means that the interval is exhausted.
    """
    if not codec.key.columns:
        # Its one row has the empty key, which LMDB does not have: it is stored under a NUL.
        found = _forward(txn, db, ALL, min(count, 1)) if b"" in interval else []
        return [(b"", value) for _, value in found]
    if may_be_long(codec):
        items = islice(_ordered(txn, db, codec, interval, reverse), count)
        return list(items)
    if reverse:
        return _backward(txn, db, interval, count)
    return _forward(txn, db, interval, count)


def _forward(txn: Txn, db: Database, interval: Interval, count: int) -> list[Item]:
    cursor = txn.cursor(db=db)
    if not cursor.set_range(interval.lower):
        return []
    items = list(islice(cursor.iternext(), count))
    upper = interval.upper
    if upper is not None and items and items[-1][0] >= upper:
        del items[bisect_left(items, upper, key=_first) :]
    return items


def _backward(txn: Txn, db: Database, interval: Interval, count: int) -> list[Item]:
    cursor = txn.cursor(db=db)
    if interval.upper is None or not cursor.set_range(interval.upper):
        if not cursor.last():
            return []
    elif not cursor.prev():
        return []
    items = list(islice(cursor.iterprev(), count))
    while items and items[-1][0] < interval.lower:
        items.pop()
    return items


def _ordered(txn: Txn, db: Database, codec: RowCodec, interval: Interval, reverse: bool) -> Iterator[Item]:
    """Items of an interval by whole key; each run of digested keys is gathered and sorted."""
    cursor = txn.cursor(db=db)
    lower, upper = interval.lower, interval.upper
    if reverse:
        # Behind every key that shares the upper end's first RUN bytes: its run straddles the end.
        end = None if upper is None else upper if len(upper) < RUN else prefix_end(upper[:RUN])
        if end is None or not cursor.set_range(end):
            if not cursor.last():
                return
        elif not cursor.prev():
            return
        stored = cursor.iterprev()
    else:
        if not cursor.set_range(lower[:RUN]):
            return
        stored = cursor.iternext()
    run: list[Item] = []
    for key, value in stored:
        if run and (len(key) < LMDB_KEY or key[:RUN] != run[0][0][:RUN]):
            yield from _within(sorted(run, key=_first, reverse=reverse), interval)
            run = []
        if len(key) == LMDB_KEY:
            if (key[:RUN] < lower[:RUN]) if reverse else (upper is not None and key[:RUN] > upper[:RUN]):
                break
            run.append((codec.key.encode(codec.decode(value)), value))
            continue
        if (key < lower) if reverse else (upper is not None and key >= upper):
            break
        if key in interval:
            yield key, value
    yield from _within(sorted(run, key=_first, reverse=reverse), interval)


def _within(items: list[Item], interval: Interval) -> Iterator[Item]:
    return (item for item in items if item[0] in interval)


def rows_of(items: list[Item], codec: RowCodec) -> list[Row]:
    decode = codec.decode
    return [decode(value) for _, value in items]
