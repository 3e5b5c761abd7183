"""What a transaction wants of each key, and how it becomes rows, counts and one block of the log."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import SystemRandom
from typing import assert_never

from viewkeeper.errors import Conflict, KeyExists, TableDropped
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Row
from viewkeeper.store import blocks, log
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.cardinality import Counts
from viewkeeper.store.catalog import Catalog, Databases
from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.keyspace import stored_key
from viewkeeper.store.samples import drop_sample, is_sampled, keep_sample


@dataclass(frozen=True, slots=True)
class Merge:
    """These cells into the row that is there, or a new row of just them."""

    cells: Mapping[int, Cell]


@dataclass(frozen=True, slots=True)
class Replace:
    """Exactly this row. `fresh`: KeyExists if one is there."""

    row: Row
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Remove:
    """No row."""


REMOVE = Remove()
Write = Merge | Replace | Remove


@dataclass(slots=True)
class WriteSet:
    """The net write for each key, by table id and encoded key, in order of the first write.

    `codecs` are those that the writes were made with: if DDL came between, `settle` carries them over or refuses.
    """

    tables: dict[int, dict[bytes, Write]] = field(default_factory=dict)
    codecs: dict[int, RowCodec] = field(default_factory=dict)

    def of(self, codec: RowCodec) -> dict[bytes, Write]:
        """The writes of a table; Conflict if its columns have changed since the first of them."""
        number = codec.table.id
        known = self.codecs.setdefault(number, codec)
        if known is not codec and known.table.columns != codec.table.columns:
            raise columns_changed(codec)
        return self.tables.setdefault(number, {})

    def __bool__(self) -> bool:
        return any(self.tables.values())

    def put(self, codec: RowCodec, key: bytes, cells: Mapping[int, Cell]) -> None:
        writes = self.of(codec)
        match writes.get(key):
            case None:
                whole = len(cells) == len(codec.names)
                writes[key] = Replace(codec.whole(cells)) if whole else Merge(cells)
            case Merge(earlier):
                writes[key] = Merge({**earlier, **cells})
            case Replace(row, fresh):
                writes[key] = Replace(codec.overlay(row, cells), fresh)
            case Remove():
                writes[key] = Replace(codec.whole(cells))

    def insert(self, codec: RowCodec, key: bytes, cells: Mapping[int, Cell]) -> None:
        """A row that must not be there; KeyExists at once if an earlier write of this set makes it."""
        row = codec.whole(cells)
        writes = self.of(codec)
        earlier = writes.get(key)
        if isinstance(earlier, Merge | Replace):
            raise key_exists(codec, row)
        writes[key] = Replace(row, fresh=earlier is None)

    def remove(self, codec: RowCodec, key: bytes) -> None:
        self.of(codec)[key] = REMOVE


def resolve(write: Write, before: bytes | None, codec: RowCodec) -> bytes | None:
    """The encoded row after a write; None if there is none."""
    match write:
        case Remove():
            return None
        case Replace(row, fresh):
            if fresh and before is not None:
                raise key_exists(codec, row)
        case Merge(cells):
            row = codec.whole(cells) if before is None else codec.overlay(codec.decode(before), cells)
        case _:
            assert_never(write)
    after = codec.encode(row)
    if len(after) > 1 << 16:
        codec.check_size(after)
    return after


def key_exists(codec: RowCodec, row: Row) -> KeyExists:
    pairs = zip(codec.table.primary_key, codec.present_key(row), strict=True)
    shown = ", ".join(f"{name}={value!r}" for name, value in pairs)
    return KeyExists(
        f'table "{codec.table.name}" already has a row with key {shown}',
        hint="put changes a row that is there; insert only adds.",
    )


def same_row(before: bytes, after: bytes, codec: RowCodec) -> bool:
    """Whether two encodings hold the same row, to the bit: one from before ADD COLUMN has NULLs behind it."""
    return before == after or (len(before) < len(after) and codec.encode(codec.decode(before)) == after)


def commit_writes(txn: Txn, catalog: Catalog, writes: WriteSet) -> int:
    """Apply a write set and append its block; the head behind it.

    Nothing is logged where nothing changes. Any error leaves `txn` to be aborted.
    """
    databases = catalog.databases
    sections: list[bytes] = []
    total = 0
    for number, by_key in writes.tables.items():
        codec = settled(catalog, writes.codecs[number])
        changes = _apply(txn, databases, codec, by_key)
        if changes:
            sections.append(blocks.encode_section(codec, changes))
            total += len(changes)
    return append_block(txn, databases.log, sections, total)


def settled(catalog: Catalog, codec: RowCodec) -> RowCodec:
    """The codec of the same table now. UnknownTable if it was dropped, Conflict if its columns changed meanwhile."""
    current = catalog.codecs.get(codec.table.id)
    if current is codec:
        return codec
    if current is None:
        raise TableDropped(f'table "{codec.table.name}" was dropped before the transaction ended')
    if current.table.columns != codec.table.columns:
        raise columns_changed(codec)
    return current


def columns_changed(codec: RowCodec) -> Conflict:
    return Conflict(f'the columns of table "{codec.table.name}" have changed', hint="Run the transaction again.")


def _apply(txn: Txn, databases: Databases, codec: RowCodec, writes: Mapping[bytes, Write]) -> list[RawChange]:
    number = codec.table.id
    db = databases.tables[number]
    counts = Counts(codec) if codec.table.cardinalities else None
    changes: list[RawChange] = []
    for key, write in writes.items():
        stored = stored_key(key)
        before = txn.get(stored, db=db)
        after = resolve(write, before, codec)
        if after is None:
            if before is None:
                continue
            txn.delete(stored, db=db)
        else:
            if before is not None and same_row(before, after, codec):
                continue
            txn.put(stored, after, db=db)
        if before is None or after is None:
            if is_sampled(key):
                (keep_sample if before is None else drop_sample)(txn, databases.samples, number, stored)
            if counts is not None:
                counts.add(codec.decode(after or before or b""), 1 if before is None else -1)
        changes.append((before, after))
    if counts is not None:
        counts.apply(txn, databases.counts)
    return changes


_random = SystemRandom()


def append_block(txn: Txn, log_db: Database, sections: list[bytes], changes: int) -> int:
    """Append the block of one transaction; the head behind it. No changes, no block."""
    head, last_commit = log.last(txn, log_db)
    if not changes:
        return head
    # Commit times never run backwards, though clocks may.
    committed_at = max(time.time_ns() // 1000, last_commit)
    block = blocks.encode_block(_random.getrandbits(64), sections)
    log.append(txn, log_db, head, changes, committed_at, block)
    return head + changes
