"""Writes into a transaction: rows, counts and one block of the log.

Everything is looked up, checked and encoded before the first byte is written. So a refusal leaves the transaction as
it was, and writers that share one need no nested ones to be rolled back alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from viewkeeper.errors import TableDropped
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.store import blocks, log
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.cardinality import Counts, set_counts
from viewkeeper.store.catalog import Catalog, Databases
from viewkeeper.store.environment import Txn
from viewkeeper.store.insync import Followed, TableChanges, follow, write_followed
from viewkeeper.store.insync import sections as sections_of
from viewkeeper.store.keyspace import stored_key
from viewkeeper.store.samples import drop_sample, is_sampled, keep_sample
from viewkeeper.store.writes import Write, WriteSet, columns_changed, key_exists, resolve, same_row


def settled(catalog: Catalog, codec: RowCodec) -> RowCodec:
    """The codec of the same table now. TableDropped if it was dropped, Conflict if its columns changed meanwhile."""
    current = catalog.codecs.get(codec.table.id)
    if current is codec:
        return codec
    if current is None:
        raise TableDropped(f'table "{codec.table.name}" was dropped before the transaction ended')
    if current.table.columns != codec.table.columns:
        raise columns_changed(codec)
    return current


def commit_writes(txn: Txn, catalog: Catalog, writes: WriteSet) -> int:
    """Apply a write set and append its block; the head behind it.

    Nothing is logged where nothing changes. An error of ours leaves `txn` as it was, any other leaves it to be aborted.
    """
    databases = catalog.databases
    checked = [
        _check(txn, databases, settled(catalog, writes.codecs[number]), by_key)
        for number, by_key in writes.tables.items()
    ]
    changed = [table for table in checked if table.changes]
    total = sum(len(table.changes) for table in changed)
    sections = [blocks.encode_section(table.codec, table.changes) for table in changed]
    now, followed = _followed(txn, catalog, [TableChanges(table.codec, table.changes) for table in changed])
    if followed is not None:
        sections += sections_of(catalog, followed)
    for table in changed:
        _write(txn, databases, table)
    if followed is not None:
        write_followed(txn, catalog, followed)
    return append_block(txn, databases, sections, total, now)


@dataclass(frozen=True, slots=True)
class _Checked:
    """The changes of one table that nothing speaks against; key and stored key of each, and the counters to set."""

    codec: RowCodec
    keys: list[tuple[bytes, bytes]]
    changes: list[RawChange]
    totals: list[tuple[bytes, int]]


def _check(txn: Txn, databases: Databases, codec: RowCodec, writes: Mapping[bytes, Write]) -> _Checked:
    db = databases.tables[codec.table.id]
    counts = Counts(codec) if codec.table.cardinalities else None
    keys: list[tuple[bytes, bytes]] = []
    changes: list[RawChange] = []
    for key, write in writes.items():
        stored = stored_key(key)
        before = txn.get(stored, db=db)
        after = resolve(write, before, codec)
        if before is None or after is None:
            if before is after:
                continue
            if counts is not None:
                counts.add(codec.decode(after or before or b""), 1 if before is None else -1)
        elif same_row(before, after, codec):
            continue
        elif counts is not None:
            counts.check_words(codec.decode(after))
        keys.append((key, stored))
        changes.append((before, after))
    totals = [] if counts is None else counts.check(txn, databases.counts)
    return _Checked(codec, keys, changes, totals)


def _write(txn: Txn, databases: Databases, checked: _Checked) -> None:
    number = checked.codec.table.id
    db = databases.tables[number]
    for (key, stored), (before, after) in zip(checked.keys, checked.changes, strict=True):
        if after is None:
            txn.delete(stored, db=db)
        else:
            txn.put(stored, after, db=db)
        if (before is None or after is None) and is_sampled(key):
            (keep_sample if before is None else drop_sample)(txn, databases.samples, number, stored)
    set_counts(txn, databases.counts, checked.totals)


def commit_row(txn: Txn, catalog: Catalog, codec: RowCodec, key: bytes, row: bytes, fresh: bool) -> int:
    """As `commit_writes` with one whole row that is encoded already, for tables without CARDINALITY.

    Most rows that are put are new: those are written without being looked for.
    """
    codec = settled(catalog, codec)
    databases = catalog.databases
    number = codec.table.id
    if number in catalog.followed:
        return _commit_followed(txn, catalog, codec, key, row, fresh)
    db = databases.tables[number]
    stored = stored_key(key)
    before = None
    if txn.put(stored, row, overwrite=False, db=db):
        if is_sampled(key):
            keep_sample(txn, databases.samples, number, stored)
    else:
        if fresh:
            raise key_exists(codec, codec.decode(row))
        before = txn.get(stored, db=db)
        assert before is not None
        if same_row(before, row, codec):
            return databases.tail.find(txn, databases.log)
        txn.put(stored, row, db=db)
    return _append(txn, databases, 1, blocks.encode_row_block(_random.getrandbits(64), codec, before, row))


def _commit_followed(txn: Txn, catalog: Catalog, codec: RowCodec, key: bytes, row: bytes, fresh: bool) -> int:
    """The same for a table that views follow."""
    databases = catalog.databases
    db, stored = databases.tables[codec.table.id], stored_key(key)
    before = txn.get(stored, db=db)
    if before is not None:
        if fresh:
            raise key_exists(codec, codec.decode(row))
        if same_row(before, row, codec):
            return databases.tail.find(txn, databases.log)
    table = TableChanges(codec, [(before, row)])
    now, followed = _followed(txn, catalog, [table])
    txn.put(stored, row, db=db)
    if before is None and is_sampled(key):
        keep_sample(txn, databases.samples, codec.table.id, stored)
    sections = [blocks.encode_section(codec, table.changes)]
    if followed is not None:
        sections += sections_of(catalog, followed)
        write_followed(txn, catalog, followed)
    return append_block(txn, databases, sections, 1, now)


def _followed(txn: Txn, catalog: Catalog, tables: Sequence[TableChanges]) -> tuple[int, Followed | None]:
    """The commit time of a transaction that ends now, and what views make of it. Writes nothing."""
    tail = catalog.databases.tail
    tail.find(txn, catalog.databases.log)
    now = tail.next_commit()
    return now, follow(txn, catalog, tables, (tail.committed_at, now)) if catalog.followed and tables else None


_random = Random()
"""Ids of transactions: unique, not secret."""
os.register_at_fork(after_in_child=_random.seed)


def append_block(
    txn: Txn, databases: Databases, sections: list[bytes], changes: int, committed_at: int | None = None
) -> int:
    """Append the block of one transaction; the head behind it. No changes, no block."""
    if not changes:
        return databases.tail.find(txn, databases.log)
    return _append(txn, databases, changes, blocks.encode_block(_random.getrandbits(64), sections), committed_at)


def _append(txn: Txn, databases: Databases, changes: int, block: bytes, committed_at: int | None = None) -> int:
    tail = databases.tail
    head = tail.find(txn, databases.log)
    if committed_at is None:
        committed_at = tail.next_commit()
    log.append(txn, databases.log, head, changes, committed_at, block)
    tail.committed_at = committed_at
    tail.head = head = head + changes
    return head
