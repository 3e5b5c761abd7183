"""The log: blocks by the position of their first change.

    key := position of the first change (u64) number of changes (u32) committed at (i64, µs); big-endian

What polling, truncation and lag need is in the key, so that no block is touched for them.

A position is a count of changes since the database was made, so the head is where the last block ends and lag is a
difference. The last block is never truncated, hence the head needs no record of its own.
"""

from __future__ import annotations

import struct
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


def oldest(txn: Txn, log: Database) -> int:
    """The oldest position that can still be read from."""
    cursor = txn.cursor(db=log)
    return _key.unpack(cursor.key())[0] if cursor.first() else 0


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
