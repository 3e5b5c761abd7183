"""One key in 256, kept aside, so that a table can be cut into ranges of like size without reading it.

The choice is by a hash of the key, hence the same whoever writes, and right after deletes.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from zlib import crc32

from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.keyspace import LMDB_KEY, RUN
from viewkeeper.store.scan import ALL, Interval

RATE = 256
_PREFIX = 4


def is_sampled(key: bytes) -> bool:
    return crc32(key) & (RATE - 1) == 0


def _name(table: int, stored: bytes) -> bytes:
    # The table id takes four bytes of the key; a sample only has to be near its place.
    return struct.pack(">I", table) + stored[: LMDB_KEY - _PREFIX]


def keep_sample(txn: Txn, db: Database, table: int, stored: bytes) -> None:
    txn.put(_name(table, stored), b"", db=db)


def drop_sample(txn: Txn, db: Database, table: int, stored: bytes) -> None:
    txn.delete(_name(table, stored), db=db)


def sampled_keys(txn: Txn, db: Database, table: int, interval: Interval = ALL) -> list[bytes]:
    """The sampled keys of a table within an interval, ascending, cut to the length that is stored whole."""
    prefix = struct.pack(">I", table)
    cursor = txn.cursor(db=db)
    found: list[bytes] = []
    if cursor.set_range(prefix + interval.lower[: LMDB_KEY - _PREFIX]):
        for key in cursor.iternext(keys=True, values=False):
            if not key.startswith(prefix):
                break
            sample = key[_PREFIX:][:RUN]
            if interval.upper is not None and sample >= interval.upper:
                break
            if sample >= interval.lower:
                found.append(sample)
    return found


def split(keys: list[bytes], parts: int, interval: Interval = ALL) -> list[Interval]:
    """At most `parts` adjoining intervals that together are `interval`, each with about as many of `keys`."""
    cuts: list[bytes] = []
    for part in range(1, parts):
        key = keys[part * len(keys) // parts] if keys else b""
        if key > interval.lower and (not cuts or key > cuts[-1]):
            cuts.append(key)
    edges: list[bytes | None] = [interval.lower, *cuts, interval.upper]
    return [Interval(lower or b"", upper) for lower, upper in pairwise(edges)]
