"""What maintainers leave word of about a view, for status and for each other; losing it loses no data.

"notes"   view id (4) → msgpack of Note
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import msgspec

from viewkeeper.store.environment import Database, Txn

NAME = b"notes"
_id = struct.Struct(">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Moments are in µs since 1970; 0 is never.

    `error`: why the last attempt failed, empty if it did not; `failures`: how many did in a row; it is tried again from
    `retry_at` on. `batch_seconds`: the last batch by phase; `batch_joins`: how it met the join indexes on Spark;
    `batch_rows`: how many rows of its input the last refresh of a PERIODIC view read.
    `verified_*`: the last time it was compared with its definition, and how many rows did not agree.
    `read_at`, `read_interval`: when a LAZY view was last read, and the mean time between two reads (µs).
    `folds`: how many reads were folded; `folded_at`, `fold_ms`: the last of these, and how long that took.
    """

    error: str = ""
    failures: int = 0
    retry_at: int = 0
    batch_at: int = 0
    batch_changes: int = 0
    batch_engine: str = ""
    batch_seconds: dict[str, float] = field(default_factory=dict)
    batch_joins: str = ""
    batch_rows: int = 0
    verified_at: int = 0
    verified_position: int = 0
    verified_differences: int = 0
    read_at: int = 0
    read_interval: int = 0
    folds: int = 0
    folded_at: int = 0
    fold_ms: float = 0.0


def get_note(txn: Txn, db: Database, number: int) -> Note:
    value = txn.get(_id.pack(number), db=db)
    return Note() if value is None else msgspec.msgpack.decode(value, type=Note)


def set_note(txn: Txn, db: Database, number: int, note: Note) -> None:
    txn.put(_id.pack(number), msgspec.msgpack.encode(note), db=db)


def remove_note(txn: Txn, db: Database, number: int) -> None:
    txn.delete(_id.pack(number), db=db)


def notes(txn: Txn, db: Database) -> dict[int, Note]:
    return {_id.unpack(key)[0]: msgspec.msgpack.decode(value, type=Note) for key, value in txn.cursor(db=db)}
