"""The log: blocks by the position of their first change.

    key := position of the first change (u64) number of changes (u32) committed at (i64, µs); big-endian

What polling, truncation and lag need is in the key, so that no block is touched for them.

A position is a count of changes since the database was made, so the head is where the last block ends and lag is a
difference. The last block is never truncated, hence the head needs no record of its own.
"""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Iterator

from viewkeeper.store.blocks import Block, decode_block
from viewkeeper.store.environment import Cursor, Database, Txn

NAME = b"log"
_key = struct.Struct(">QIq")
_place = struct.Struct(">Q")


def head(txn: Txn, log: Database) -> int:
    """The position behind the last change."""
    return last(txn, log)[0]


def last(txn: Txn, log: Database) -> tuple[int, int]:
    """The head, and the commit time of the last transaction in µs; (0, 0) before the first."""
    cursor = txn.cursor(db=log)
    if not cursor.last():
        return 0, 0
    start, changes, committed_at = _key.unpack(cursor.key())
    return start + changes, committed_at


class Tail:
    """The end of the log in the write transaction under way: looked up once, then moved by each block.

    A nested transaction has a tail of its own, since it may be rolled back.
    """

    __slots__ = ("_txn", "committed_at", "head")

    def __init__(self) -> None:
        self._txn: Txn | None = None
        self.head = self.committed_at = 0

    def find(self, txn: Txn, log: Database) -> int:
        """The head."""
        if self._txn is not txn:
            self.head, self.committed_at = last(txn, log)
            self._txn = txn
        return self.head

    def next_commit(self) -> int:
        """The commit time (µs) of a transaction that ends now. They never run backwards, though clocks may."""
        return max(time.time_ns() // 1000, self.committed_at)


def oldest(txn: Txn, log: Database) -> int:
    """The oldest position that can still be read from."""
    cursor = txn.cursor(db=log)
    return _key.unpack(cursor.key())[0] if cursor.first() else 0


def before(txn: Txn, log: Database, position: int) -> tuple[int, int] | None:
    """Id and commit time of the transaction that ends at a position; None if the log does not have it any more.

    (0, 0) for the position before the first transaction.
    """
    if position == 0:
        return 0, 0
    cursor = txn.cursor(db=log)
    found = cursor.prev() if cursor.set_range(_place.pack(position)) else cursor.last()
    if not found:
        return None
    start, changes, committed_at = _key.unpack(cursor.key())
    if start + changes != position:
        return None
    return decode_block(start, changes, committed_at, cursor.value(), lambda _: False).transaction, committed_at


def committed_behind(txn: Txn, log: Database, position: int) -> int | None:
    """The commit time in µs of the first transaction with a change at or behind a position; None if there is none."""
    cursor = txn.cursor(db=log)
    if not _seek(cursor, position):
        return None
    start, changes, committed_at = _key.unpack(cursor.key())
    return int(committed_at) if start + changes > position else None


def boundary(txn: Txn, log: Database, lower: int, most: int) -> int:
    """The last transaction boundary with at most `most` changes behind `lower`, or else the first one behind it."""
    cursor = txn.cursor(db=log)
    end = lower
    if not _seek(cursor, lower):
        return end
    if cursor.set_range(_place.pack(lower + most)):
        # A block begins at or behind the place: the boundary is the beginning of the last one that does not pass it.
        start = _key.unpack(cursor.key())[0]
        if start > lower + most and cursor.prev():
            start = _key.unpack(cursor.key())[0]
            if start <= lower:
                start += _key.unpack(cursor.key())[1]
        return max(end, int(start))
    cursor.last()
    start, changes, _ = _key.unpack(cursor.key())
    if start + changes <= lower + most or start <= lower:
        return int(max(end, start + changes))
    return int(start)


def append(txn: Txn, log: Database, start: int, changes: int, committed_at: int, block: bytes) -> None:
    txn.put(_key.pack(start, changes, committed_at), block, append=True, db=log)


def keys(txn: Txn, log: Database) -> Iterator[tuple[bytes, int, int]]:
    """Key, end and commit time of each block, oldest first."""
    for key in txn.cursor(db=log).iternext(keys=True, values=False):
        start, changes, committed_at = _key.unpack(key)
        yield key, start + changes, committed_at


def read(
    txn: Txn, log: Database, lower: int, upper: int | None = None, wanted: Callable[[int], bool] | None = None
) -> Iterator[Block]:
    """The blocks that hold a change at lower <= position < upper; the first may begin before `lower`."""
    cursor = txn.cursor(db=log)
    if not _seek(cursor, lower):
        return
    for key in cursor.iternext(keys=True, values=False):
        start, changes, committed_at = _key.unpack(key)
        if upper is not None and start >= upper:
            return
        yield decode_block(start, changes, committed_at, cursor.value(), wanted)


def _seek(cursor: Cursor, position: int) -> bool:
    """Put the cursor on the block that holds `position`, or on the first one behind it; False if there is neither."""
    found = cursor.set_range(_place.pack(position))
    if found and cursor.key().startswith(_place.pack(position)):
        return True
    if not (cursor.prev() if found else cursor.last()):
        return cursor.first()
    start, changes, _ = _key.unpack(cursor.key())
    return start + changes > position or cursor.next()
