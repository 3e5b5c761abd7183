"""Views that are kept beside the tables: read and written in the transaction of each write.

    "counts"   view id (4) 0xFF → errors (8) late (8) extra (8), see ObjectState; none while all are zero

Their rows are in slots of the base environment, as those of tables are. What a write changes in them is in its block of
the log, behind the changes of tables, and takes no positions. So to readers, to change feeds and to views above it such
a view is as good as a table. How it follows from the changes is known above the store, which hands in a `Follower`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from viewkeeper.errors import StoreError
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.store import blocks, log
from viewkeeper.store.applying import Counted, ObjectChanges
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.catalog import Catalog
from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.groups import ObjectState
from viewkeeper.store.keyspace import stored_key
from viewkeeper.store.samples import drop_sample, is_sampled, keep_sample
from viewkeeper.store.viewreading import ViewReading

_counters = struct.Struct(">qqq")
_object = struct.Struct(">IB")
_COUNTERS = 0xFF


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What a write changes in one table."""

    codec: RowCodec
    changes: Sequence[RawChange]


@dataclass(frozen=True, slots=True)
class Followed:
    """What follows from a write: changes by object, and how counters of views grow."""

    objects: dict[int, ObjectChanges] = field(default_factory=dict)
    counted: dict[int, Counted] = field(default_factory=dict)


Follower = Callable[[Txn, Catalog, Sequence[TableChanges], tuple[int, int]], Followed]
"""From what a write changes, and the commit times (µs) of the transaction before and of this one."""


def follow(txn: Txn, catalog: Catalog, changed: Sequence[TableChanges], times: tuple[int, int]) -> Followed | None:
    """What the views of a catalog make of a write; None if none has to follow. Writes nothing."""
    if not catalog.followed or all(table.codec.table.id not in catalog.followed for table in changed):
        return None
    follower = catalog.databases.following.follower
    if follower is None:
        raise StoreError(
            "the store cannot keep views in the transaction of a write",
            detail="It was opened without what computes them.",
            hint="Write through vk.open(…).",
        )
    followed: Followed = follower(txn, catalog, changed, times)
    return followed


Places = dict[int, tuple[ObjectState, Database]]


def places_of(catalog: Catalog, numbers: Iterable[int]) -> Places:
    """Where objects are that are kept beside the tables."""
    tables = catalog.databases.tables
    return {number: (ObjectState(0, catalog.slots[number]), tables[number]) for number in numbers}


def reading(txn: Txn, catalog: Catalog, numbers: Iterable[int]) -> ViewReading:
    """The objects of views that are kept beside the tables, as `txn` sees them."""
    return ViewReading(txn, None, places_of(catalog, numbers))


def sections(catalog: Catalog, followed: Followed) -> list[bytes]:
    """The sections of the log for what changes in views; auxiliary tables have none."""
    return [
        blocks.encode_section(catalog.view_codecs[number], list(changes.changes.values()))
        for number, changes in followed.objects.items()
        if changes.has_feed and changes.changes
    ]


def write_followed(txn: Txn, catalog: Catalog, followed: Followed) -> None:
    for number, changes in followed.objects.items():
        write_object(txn, catalog, number, changes)
    for number, counted in followed.counted.items():
        _count(txn, catalog, number, counted)


def write_object(txn: Txn, catalog: Catalog, number: int, changes: ObjectChanges) -> None:
    """Write what changes in one object."""
    db = catalog.databases.tables[number]
    for key, (before, after) in changes.changes.items():
        stored = stored_key(key)
        if after is None:
            txn.delete(stored, db=db)
        else:
            txn.put(stored, after, db=db)
        if changes.has_feed and (before is None or after is None) and is_sampled(key):
            (keep_sample if before is None else drop_sample)(txn, catalog.databases.samples, number, stored)
    for key, row in changes.rows.items():
        if row is None:
            txn.delete(stored_key(key), db=db)
        else:
            txn.put(stored_key(key), row, db=db)


MendedRow = tuple[bytes, bytes | None]
"""A stored key and the encoded row that it shall have; None: none."""


def mend(txn: Txn, catalog: Catalog, codec: RowCodec, rows: Iterable[MendedRow], *, is_view: bool) -> None:
    """Write rows of one object that are not what they should be, and nothing to the log.

    They are given by stored keys: of bytes that nobody can have written, no key could be told.
    """
    number = codec.table.id
    db, samples = catalog.databases.tables[number], catalog.databases.samples
    for stored, row in rows:
        if row is None:
            txn.delete(stored, db=db)
        else:
            txn.put(stored, row, db=db)
        if is_view and row is None:
            drop_sample(txn, samples, number, stored)
        elif is_view and row is not None and is_sampled(codec.key.encode(codec.decode(row))):
            keep_sample(txn, samples, number, stored)


def log_end(txn: Txn, catalog: Catalog) -> tuple[int, int, int]:
    """The head that `txn` sees; id and commit time (µs) of the transaction before it."""
    head = log.head(txn, catalog.databases.log)
    return head, *(log.before(txn, catalog.databases.log, head) or (0, 0))


def counters(txn: Txn, catalog: Catalog, number: int) -> Counted:
    """What is counted of a view so far."""
    value = txn.get(_object.pack(number, _COUNTERS), db=catalog.databases.counts)
    return Counted() if value is None else Counted(*_counters.unpack(value))


def _count(txn: Txn, catalog: Catalog, number: int, counted: Counted) -> None:
    if counted == Counted():
        return
    known = counters(txn, catalog, number)
    total = Counted(known.errors + counted.errors, known.late + counted.late, known.extra + counted.extra)
    set_counters(txn, catalog, number, total)


def set_counters(txn: Txn, catalog: Catalog, number: int, total: Counted) -> None:
    value = _counters.pack(total.errors, total.late, total.extra)
    txn.put(_object.pack(number, _COUNTERS), value, db=catalog.databases.counts)
