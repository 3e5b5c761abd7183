"""The janitor: truncates the log and the feeds of views, empties what was dropped, frees what dead processes held.

The log is kept from the least of: the watermarks of all groups, the pins that have not run out, and the first change
younger than the retention. The views environment is made durable first: a watermark that could still be lost in a
power cut must not have let go of the changes behind it. Every write transaction here is short. The feed of a view is
kept as far back as the log: whoever reads one at a position that the log reaches back to finds all that came later.
"""

from __future__ import annotations

import struct
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from viewkeeper.errors import Closed, ForkedHandle, StoreError
from viewkeeper.store import catalog as catalogs
from viewkeeper.store import groups, log, pins
from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.keyspace import slot_database

if TYPE_CHECKING:
    from viewkeeper.store.embedded import EmbeddedStore

INTERVAL = 15.0
"""Seconds between two rounds."""
BLOCKS = 512
"""Blocks removed in one transaction."""
ROWS = 4096
"""Rows of a dropped table removed in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """What one round did."""

    oldest: int
    blocks: int
    feeds: int
    rows: int
    readers: int


def clean(store: EmbeddedStore) -> Cleaned:
    """One round, to its end."""
    readers = store.base.check_readers() + store.views.check_readers()
    removed_blocks = _truncate(store)
    txn, _ = store.begin_read()
    with txn:
        oldest = log.oldest(txn, store.log_db)
    removed_feeds = _truncate_feeds(store, oldest)
    removed_rows = _empty(store)
    return Cleaned(oldest=oldest, blocks=removed_blocks, feeds=removed_feeds, rows=removed_rows, readers=readers)


def horizon(store: EmbeddedStore) -> int:
    """The position below which nobody needs the log, retention aside."""
    with store.views.begin() as txn:
        watermarks = [state.watermark for state in groups.groups(txn, store.groups_db).values()]
    txn, _ = store.begin_read()
    with txn:
        now = time.time_ns() // 1000
        pinned = [pin.position for _, pin in pins.pins(txn, store.pins_db) if pin.deadline > now]
        return min([log.head(txn, store.log_db), *watermarks, *pinned])


def _truncate(store: EmbeddedStore) -> int:
    keep = horizon(store)
    txn, catalog = store.begin_read()
    cutoff = time.time_ns() // 1000 - catalog.settings.log_retention_ms * 1000
    with txn:
        if not _old_blocks(txn, store.log_db, keep, cutoff, 1):
            return 0
    store.views.sync()
    total = 0
    while True:
        removed: int = store.write(lambda txn: _remove_blocks(txn, store, keep, cutoff))
        total += removed
        if removed < BLOCKS:
            return total


def _old_blocks(txn: Txn, db: Database, keep: int, cutoff: int, most: int) -> list[bytes]:
    """Keys of the first blocks that end at or before `keep` and are older than `cutoff`; never the last block."""
    head = log.head(txn, db)
    found: list[bytes] = []
    for key, end, committed_at in log.keys(txn, db):
        if end == head or end > keep or committed_at >= cutoff or len(found) == most:
            break
        found.append(key)
    return found


def _remove_blocks(txn: Txn, store: EmbeddedStore, durable: int, cutoff: int) -> int:
    # The horizon is taken again under the write lock: a pin or a group that came since must hold. But a watermark that
    # has moved since the sync is not durable yet and lets nothing go.
    keep = min(durable, horizon(store))
    now = time.time_ns() // 1000
    for pin, held in pins.pins(txn, store.pins_db):
        if held.deadline <= now:
            txn.delete(pin, db=store.pins_db)
        else:
            keep = min(keep, held.position)
    old = _old_blocks(txn, store.log_db, keep, cutoff, BLOCKS)
    for key in old:
        txn.delete(key, db=store.log_db)
    return len(old)


def _truncate_feeds(store: EmbeddedStore, oldest: int) -> int:
    """Remove what feeds have from before the log; the log goes first, since it is what readers ask afterwards."""
    cutoff = time.time_ns() // 1000 - store.catalog().settings.log_retention_ms * 1000
    total = 0
    while True:
        removed = store.view_tables.truncate_feeds(oldest, cutoff, BLOCKS)
        total += removed
        if removed < BLOCKS:
            return total


def _empty(store: EmbeddedStore) -> int:
    """Remove the rows of dropped tables."""
    txn, _ = store.begin_read()
    with txn:
        slots = catalogs.garbage(txn, store.catalog_db)
    total = 0
    for slot, table in slots:
        with store.naming:
            rows = store.base.database(slot_database(slot))
        step = partial(_step, store=store, rows=rows, slot=slot, table=table)
        while removed := store.write(step):
            total += removed
    return total


def _step(txn: Txn, store: EmbeddedStore, rows: Database, slot: int, table: int) -> int:
    """Remove some of what a dropped table left; when nothing is left, free its slot."""
    if (slot, table) not in catalogs.garbage(txn, store.catalog_db):
        return 0
    prefix = struct.pack(">I", table)
    places = [(rows, b""), (store.counts_db, prefix), (store.samples_db, prefix)]
    if table in store.written_catalog().slots:
        # A view that is kept beside the tables again: what is counted of it is in use.
        del places[1:]
    for db, beginning in places:
        cursor = txn.cursor(db=db)
        removed = 0
        found = cursor.set_range(beginning)
        while found and removed < ROWS and cursor.key().startswith(beginning):
            found = cursor.delete() and bool(cursor.key())
            removed += 1
        if removed:
            return removed
    catalogs.free_slot(txn, store.catalog_db, slot)
    return 0


class Janitor:
    """A thread that cleans now and then, started with the first write of a process."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="viewkeeper-janitor", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL):
            try:
                self._store.clean()
            except (Closed, ForkedHandle):
                return
            except StoreError:
                # A full disk, say: the next round, or the next process, does it.
                continue

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not threading.current_thread():
            self._thread.join()
