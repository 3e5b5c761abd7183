"""Where a view is kept: moved between the views environment and the tables, by copying its rows.

Rows go over in short transactions, and nobody reads the copy before the catalog says so. A copy that was not finished
is begun again from nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from viewkeeper.errors import Outrun
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.view import View
from viewkeeper.store import catalog as catalogs
from viewkeeper.store import groups, insync, log
from viewkeeper.store.applying import Apply, Counted
from viewkeeper.store.catalog import Catalog
from viewkeeper.store.environment import Txn
from viewkeeper.store.keyspace import slot_database
from viewkeeper.store.samples import is_sampled, keep_sample
from viewkeeper.store.scan import Item
from viewkeeper.store.viewstore import view_database

if TYPE_CHECKING:
    from viewkeeper.store.embedded import EmbeddedStore

CHUNK = 4096
"""Rows that go over in one transaction."""


def open_beside(store: EmbeddedStore, view: View) -> None:
    """Make empty tables beside those of users for all that is stored of a view."""
    names: list[bytes] = []

    def change(txn: Txn, catalog: Catalog) -> None:
        for number in view.objects:
            if number not in catalog.slots:
                names.append(slot_database(catalogs.add_object(txn, store.catalog_db, number)))
                store.base.database(names[-1], txn)
        catalogs.touch(txn, store.catalog_db)

    try:
        store.define(change)
    except BaseException:
        for name in names:
            store.base.forget(name)
        raise
    for number in view.objects:
        while store.write(partial(_clear, store, number)):
            pass


def _clear(store: EmbeddedStore, number: int, txn: Txn) -> int:
    cursor = txn.cursor(db=store.written_catalog().databases.tables[number])
    found, removed = cursor.first(), 0
    while found and removed < CHUNK:
        found = cursor.delete() and bool(cursor.key())
        removed += 1
    return removed


def copy_beside(store: EmbeddedStore, view: View, codec: RowCodec, number: int, rows: Iterator[Item]) -> int:
    """Write stored rows of one object beside the tables; how many there were."""
    total = 0
    while part := list(islice(rows, CHUNK)):
        store.write(partial(_put, store, number, part, codec if number in view.tables else None))
        total += len(part)
    return total


def _put(store: EmbeddedStore, number: int, rows: list[Item], codec: RowCodec | None, txn: Txn) -> None:
    databases = store.written_catalog().databases
    txn.cursor(db=databases.tables[number]).putmulti(rows)
    if codec is not None:
        for stored, row in rows:
            if is_sampled(codec.key.encode(codec.decode(row))):
                keep_sample(txn, databases.samples, number, stored)


def catch_up_beside(store: EmbeddedStore, batch: Apply) -> None:
    """Write what a batch changes to the copy of a view that nobody reads yet."""
    store.write(lambda txn: _write(txn, store.written_catalog(), batch))


def _write(txn: Txn, catalog: Catalog, batch: Apply) -> None:
    for number, changes in batch.objects.items():
        insync.write_object(txn, catalog, number, changes)


def copy_back(store: EmbeddedStore, number: int, rows: Iterator[Item], counted: Counted | None) -> None:
    """Write stored rows of one object to its new, empty table of the views environment."""
    views = store.view_tables
    while True:
        part = list(islice(rows, CHUNK))
        with store.views.begin(write=True) as txn:
            place = groups.get_object(txn, views.objects_db, number)
            if place is None:
                raise Outrun("the view was dropped while it was copied")
            db = store.views.opened(view_database(place.slot))
            assert db is not None
            txn.cursor(db=db).putmulti(part)
            if counted is not None and len(part) < CHUNK:
                kept = replace(place, errors=counted.errors, late=counted.late, extra=counted.extra)
                groups.set_object(txn, views.objects_db, number, kept)
        if len(part) < CHUNK:
            return


def flip(
    store: EmbeddedStore,
    keep: Callable[[int], View],
    *,
    last: Callable[[], tuple[Sequence[Apply], Mapping[int, Counted], Iterable[int]] | None],
) -> bool:
    """Say in the catalog where, and how, a view is kept from now on; False if `last` gives up.

    `keep` gives the view as the catalog will have it, from the head. No write runs meanwhile. `last` brings everything
    to the head and gives what is still to be written to a copy beside the tables, what is counted of the view there,
    and the groups that have to notice: those that read it.
    """
    with ExitStack() as held:

        def change(txn: Txn, catalog: Catalog) -> bool:
            made = last()
            view = keep(log.head(txn, store.log_db))
            if made is None or view.id not in catalog.views:
                return False
            batches, counted, noticing = made
            for batch in batches:
                _write(txn, catalog, batch)
            for number, total in counted.items():
                insync.set_counters(txn, catalog, number, total)
            if not view.in_base:
                catalogs.remove_objects(txn, store.catalog_db, catalog.views[view.id].objects)
            catalogs.store_view(txn, store.catalog_db, view)
            # Held until the catalog is committed: who computes with the old one finds another generation.
            applying = store.views.begin(write=True)
            held.callback(applying.commit)
            for group in noticing:
                state = groups.get_group(applying, store.groups_db, group)
                if state is not None:
                    bumped = replace(state, generation=state.generation + 1)
                    groups.set_group(applying, store.groups_db, group, bumped)
            return True

        done = store.define(change)
    if done:
        store.view_catalog.forget()
    return done
