"""The embedded store: LMDB behind the Store interface. One object a process and folder, shared by all handles."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import lmdb

from viewkeeper.errors import BadPosition, ForeignPosition, FuturePosition, StoreDamaged, TableDropped
from viewkeeper.model.layout import Layout
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column, Partitioning, PartitionKind, Table
from viewkeeper.model.types import Row
from viewkeeper.model.view import View
from viewkeeper.store import catalog as catalogs
from viewkeeper.store import groups, log, pins, samples
from viewkeeper.store.blocks import Block
from viewkeeper.store.bulk import Batch, load_batch
from viewkeeper.store.catalog import Catalog, Databases, Following, Settings
from viewkeeper.store.commit import commit_row, commit_writes
from viewkeeper.store.environment import MAP_SIZE, Database, Environment, Txn, explain, explained, translated
from viewkeeper.store.folder import Folder
from viewkeeper.store.groupcommit import GroupCommit
from viewkeeper.store.janitor import Cleaned, Janitor, clean
from viewkeeper.store.keyspace import slot_database, stored_key
from viewkeeper.store.partition import partition_function
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.store.snapshot import EmbeddedSnapshot
from viewkeeper.store.transaction import EmbeddedTransaction
from viewkeeper.store.undo import check_retained
from viewkeeper.store.viewcatalog import ViewCatalog
from viewkeeper.store.viewstore import NAMES as VIEW_NAMES
from viewkeeper.store.viewstore import ViewStore
from viewkeeper.store.writes import Merge, Replace, WriteSet

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
MOST_BYTES = 16 << 20
"""Bytes of blocks that are handed out at once, but for the last block."""
_NAMES = (b"catalog", log.NAME, b"pins", b"counts", b"samples")


class _Rehearsed(Exception):
    """Rolls back a load that was only to be tried."""


class EmbeddedStore:
    """Two LMDB environments: `base` for tables, log and catalog, `views` for what maintenance writes.

    Lock order: base, then views; snapshots are opened views first, so that the base a reader sees is never older.
    """

    def __init__(self, folder: Folder, *, read_only: bool, map_size: int = MAP_SIZE, make: bool = False) -> None:
        """Open what `folder` holds; with `make`, fill what is not there yet, and take over the id of what is."""
        self.folder = folder
        self.database = folder.database
        self.read_only = read_only
        self.naming = threading.RLock()
        self._group = self._group_commit()
        self._janitor: Janitor | None = None
        self._closing = False
        self.following = Following()
        durable = folder.durability == "sync"
        environment = partial(Environment, read_only=read_only, sync=durable, map_size=map_size, make=make)
        with ExitStack() as opened, translated(self.folder.base):
            self.base = environment(folder.base, metasync=durable, short_writes=True)
            opened.callback(self.base.close)
            # Views are derived and carry their watermark: losing the last apply costs a replay, never a change.
            self.views = environment(folder.views, metasync=False, short_writes=False)
            opened.callback(self.views.close)
            if make:
                self._make_databases()
            self._open_databases()
            self._writing = self._current = Catalog(b"", {}, self._databases({}))
            self.refresh()
            opened.pop_all()

    def _group_commit(self) -> GroupCommit:
        def nest(txn: Txn) -> Txn:
            return self.base.begin(write=True, parent=txn)

        return GroupCommit(self._begin_write, nest, partial(explain, folder=self.folder.base))

    def _make_databases(self) -> None:
        with self.base.begin(write=True) as txn:
            for name in _NAMES:
                self.base.database(name, txn)
            self.database = catalogs.create_catalog(txn, self.base.database(b"catalog"), self.database)
        with self.views.begin(write=True) as txn:
            for name in VIEW_NAMES:
                self.views.database(name, txn)
        # The marker comes next and says that all this is there.
        self.base.sync()
        self.views.sync()

    def _open_databases(self) -> None:
        try:
            self.catalog_db, self.log_db, self.pins_db, self.counts_db, self.samples_db = map(
                self.base.database, _NAMES
            )
            self.groups_db = self.views.database(groups.NAME)
            self.view_tables = ViewStore(self)
            self.view_catalog = ViewCatalog(self)
        except lmdb.NotFoundError as error:
            raise StoreDamaged("the store is not complete", hint="Restore the folder from a backup.") from error
        with self.base.begin() as txn:
            catalogs.check_owner(txn, self.catalog_db, self.database)

    def _databases(self, tables: dict[int, Database]) -> Databases:
        return Databases(self.log_db, self.counts_db, self.samples_db, tables, following=self.following)

    # Catalog

    def refresh(self) -> None:
        """Read the catalog anew and open the handles that it needs, before anyone uses them."""
        with self.naming:
            while True:
                with self.base.begin() as txn:
                    catalog = catalogs.read_catalog(txn, self.catalog_db, self._current)
                try:
                    tables = {number: self.base.database(slot_database(slot)) for number, slot in catalog.slots.items()}
                except lmdb.NotFoundError:
                    continue
                self._current = replace(catalog, databases=self._databases(tables))
                return

    def begin_read(self) -> tuple[Txn, Catalog]:
        """A read transaction and the catalog that it sees."""
        while True:
            # The catalog first: its handles were opened before it was published, hence before this transaction.
            current = self._current
            txn = self.base.begin()
            if txn.get(catalogs.VERSION, db=self.catalog_db) == current.version:
                return txn, current
            txn.abort()
            self.refresh()

    def _begin_write(self) -> Txn:
        while True:
            current = self._current
            txn = self.base.begin(write=True)
            try:
                if txn.get(catalogs.VERSION, db=self.catalog_db) == current.version:
                    self._writing = current
                    return txn
            except BaseException:
                # The error may be kept for long, and with it whatever this frame holds.
                txn.abort()
                raise
            txn.abort()
            self.refresh()

    @explained
    def catalog(self) -> Catalog:
        """The catalog as it is now, in whichever process it was changed."""
        txn, catalog = self.begin_read()
        txn.abort()
        return catalog

    @explained
    def catalog_at_head(self) -> tuple[Catalog, int]:
        """The catalog and the head, of one moment."""
        txn, catalog = self.begin_read()
        with txn:
            return catalog, log.head(txn, self.log_db)

    def written_catalog(self) -> Catalog:
        """Inside a member of a group commit: the catalog that its transaction sees."""
        return self._writing

    def current(self, catalog: Catalog, codec: RowCodec) -> RowCodec:
        """The codec of the same table in `catalog`; TableDropped if it was dropped."""
        found = catalog.codecs.get(codec.table.id)
        if found is None:
            if isinstance(codec.table, Layout):
                raise TableDropped(
                    f'view "{codec.table.name}" was dropped, replaced or moved while it was read', hint="Read it again."
                )
            raise TableDropped(f'table "{codec.table.name}" does not exist any more')
        return found

    def define(self, change: Callable[[Txn, Catalog], T]) -> T:
        """Run a change of the catalog in a transaction of its own."""
        return self._group.alone(lambda: self._defined(change))

    def _defined(self, change: Callable[[Txn, Catalog], T]) -> T:
        with self.naming, translated(self.folder.base):
            txn = self._begin_write()
            try:
                result = change(txn, self._writing)
            except BaseException:
                txn.abort()
                raise
            txn.commit()
            self.refresh()
            return result

    def create_table(self, table: Table) -> Table:
        """Make a table; with its id. TableExists if the name is taken."""
        names: list[bytes] = []

        def change(txn: Txn, catalog: Catalog) -> Table:
            created, slot = catalogs.add_table(txn, self.catalog_db, catalog, table)
            names.append(slot_database(slot))
            self.base.database(names[0], txn)
            return created

        try:
            return self.define(change)
        except BaseException:
            for name in names:
                self.base.forget(name)
            raise

    def add_column(self, name: str, column: Column) -> Table:
        def change(txn: Txn, catalog: Catalog) -> Table:
            table = catalog.table(name).with_column(column)
            catalogs.store_table(txn, self.catalog_db, table, catalog.slots[table.id])
            return table

        return self.define(change)

    def drop_table(self, name: str) -> None:
        self.define(lambda txn, catalog: catalogs.remove_table(txn, self.catalog_db, catalog, catalog.table(name)))

    def configure(self, **settings: Any) -> Settings:
        def change(txn: Txn, catalog: Catalog) -> Settings:
            changed = replace(catalog.settings, **settings)
            catalogs.store_settings(txn, self.catalog_db, changed)
            return changed

        return self.define(change) if settings else self.catalog().settings

    def set_option(self, name: str, value: str) -> None:
        self.define(lambda txn, catalog: catalogs.store_option(txn, self.catalog_db, name, value))

    # Positions

    def position(self, offset: int) -> Position:
        return Position(self.database, (offset,))

    def offset(self, position: Position) -> int:
        """The place in this store's log that a position names; ForeignPosition if it is another database's."""
        if not isinstance(position, Position):
            raise BadPosition(f"{position!r} is not a position", hint="Read one from its text with vk.Position.parse.")
        if position.database != self.database or len(position.offsets) != 1:
            raise ForeignPosition(
                f"position {position} belongs to another database",
                detail=f"The positions of this one begin with {self.database}@.",
                hint="Give one that a write or read of this database has returned.",
            )
        return position.offsets[0]

    def _check_reached(self, offset: int, head: int) -> None:
        if offset > head:
            raise FuturePosition(
                f"position {self.position(offset)} is in the future", detail=f"The head is {self.position(head)}."
            )

    @explained
    def head(self) -> Position:
        with self.base.begin() as txn:
            return self.position(log.head(txn, self.log_db))

    @explained
    def oldest(self) -> Position:
        """The oldest position that can still be read as of."""
        with self.base.begin() as txn:
            return self.position(log.oldest(txn, self.log_db))

    # Reads

    @explained
    def get(self, name: str, key: tuple[Any, ...]) -> tuple[RowCodec, Row | None] | View:
        """The row of a key as it is now, or None, with the codec of its table; the view, if the name is one's."""
        txn, catalog = self.begin_read()
        with txn:
            found = catalog.names.get(name) or catalog.find(name)
            if isinstance(found, View):
                return found
            codec = catalog.codecs[found.id]
            stored = stored_key(codec.key.encode_key(codec.key_cells(key)))
            value = txn.get(stored, db=catalog.databases.tables[codec.table.id])
        return codec, None if value is None else codec.decode(value)

    @explained
    def get_row(self, number: int, key: bytes) -> bytes | None:
        """The encoded row of an encoded key, of a table or of a view that is kept beside tables. TableDropped."""
        txn, catalog = self.begin_read()
        with txn:
            db = catalog.databases.tables.get(number)
            if db is None:
                raise TableDropped("the view is no longer kept beside the tables", hint="Read it again.")
            return txn.get(stored_key(key), db=db)

    @explained
    def snapshot(self, at: Position | None = None) -> EmbeddedSnapshot:
        """The tables at a position, or as they are now. A position inside a transaction is rounded up to its end.

        FuturePosition, NotRetained or ForeignPosition.
        """
        with self.base.begin() as txn:
            head = log.head(txn, self.log_db)
            if at is None:
                return EmbeddedSnapshot(self, head)
            offset = self.offset(at)
            self._check_reached(offset, head)
            check_retained(self.database, offset, log.oldest(txn, self.log_db))
            if offset < head:
                block = next(log.read(txn, self.log_db, offset, head, lambda _: False))
                if block.start < offset:
                    offset = block.end
            return EmbeddedSnapshot(self, offset)

    @explained
    def row_count(self, codec: RowCodec) -> int:
        txn, catalog = self.begin_read()
        with txn:
            return txn.stat(catalog.databases.tables[self.current(catalog, codec).table.id])["entries"]

    def partition_of(self, codec: RowCodec, row: Row) -> int:
        return partition_function(codec)(row)

    @explained
    def split(self, codec: RowCodec, parts: int, interval: Interval = ALL) -> list[Interval]:
        """At most `parts` adjoining intervals of like size; reads one key in 256, or all keys of a small table."""
        txn, catalog = self.begin_read()
        with txn:
            current = self.current(catalog, codec)
            keys = samples.sampled_keys(txn, self.samples_db, current.table.id, interval)
            rows = catalog.databases.tables[current.table.id]
            if len(keys) < 8 * parts and txn.stat(rows)["entries"] <= samples.RATE * 32 * parts:
                cursor = txn.cursor(db=rows)
                keys = [key for key in cursor.iternext(keys=True, values=False) if key in interval]
        return samples.split(keys, parts, interval)

    # Writes

    @explained
    def write(self, work: Callable[[Txn], Any], *, refuses_first: bool = False) -> Any:
        """Run a member of a group commit; its result once it is durable. With `refuses_first`, see GroupCommit.run."""
        if self._janitor is None:
            self._start_janitor()
        return self._group.run(work, refuses_first)

    def put_row(self, name: str, row: Mapping[str, Any], *, insert: bool = False) -> Position:
        """One row as users give it, in a transaction of its own. Conflict or TableDropped: the catalog has changed."""
        # This catalog may be out of date. Then the commit refuses what was made with it; refusals before it may be
        # wrong, and are left to the catalog as it is now.
        catalog = self._current
        table = catalog.names.get(name)
        if table is not None and not table.cardinalities:
            codec = catalog.codecs[table.id]
            ready = codec.ready(row)
            if ready is not None:
                return self._put_ready(codec, ready[0], ready[1], insert)
        codec = self.catalog().codec(name)
        return self.put(codec, codec.merge(row), insert=insert)

    def put(self, codec: RowCodec, cells: dict[int, Any], *, insert: bool = False) -> Position:
        """One row, in a transaction of its own."""
        number = codec.table.id
        if len(cells) < len(codec.names) and not insert:
            return self.commit(WriteSet({number: {codec.key_of_cells(cells): Merge(cells)}}, {number: codec}))
        row = codec.whole(cells)
        key = codec.key.encode(row)
        if codec.table.cardinalities:
            return self.commit(WriteSet({number: {key: Replace(row, insert)}}, {number: codec}))
        data = codec.encode(row)
        codec.check_size(data)
        return self._put_ready(codec, key, data, insert)

    @explained
    def _put_ready(self, codec: RowCodec, key: bytes, data: bytes, fresh: bool) -> Position:
        if self._janitor is None:
            self._start_janitor()
        head = self._group.run(lambda txn: commit_row(txn, self._writing, codec, key, data, fresh), True)
        return Position(self.database, (head,))

    def commit(self, writes: WriteSet) -> Position:
        """Commit writes that depend on no read."""
        head: int = self.write(lambda txn: commit_writes(txn, self._writing, writes), refuses_first=True)
        return self.position(head)

    def load(self, codec: RowCodec, data: pa.RecordBatch, *, rehearse: bool = False) -> Position:
        """Put the rows of an Arrow batch in one transaction; with `rehearse`, only see whether that would work."""
        batch = Batch(codec, data)

        def work(txn: Txn) -> int:
            head = load_batch(txn, self._writing, batch)
            if rehearse:
                raise _Rehearsed
            return head

        try:
            return self.position(self.write(work))
        except _Rehearsed:
            return self.head()

    def transaction(self) -> EmbeddedTransaction:
        return EmbeddedTransaction(self)

    def repartition(self, name: str) -> Table:
        """Set the bounds of a RANGE table so that its partitions hold about as many rows each.

        They stay as they are while a LOCAL view is kept by them.
        """
        catalog = self.catalog()
        found = catalog.table(name)
        if found.partitioning is None or found.partitioning.kind is not PartitionKind.RANGE:
            return found
        if any(view.parts and found.id in view.sources for view in catalog.views.values()):
            return found
        cuts = self._bounds(catalog.codecs[found.id], found.partitioning)
        if len(cuts) != found.partitioning.count - 1:
            return found

        def change(txn: Txn, catalog: Catalog) -> Table:
            table = catalog.table(name)
            assert table.partitioning is not None
            if any(view.parts and table.id in view.sources for view in catalog.views.values()):
                return table
            changed = replace(table, partitioning=replace(table.partitioning, bounds=cuts))
            catalogs.store_table(txn, self.catalog_db, changed, catalog.slots[table.id])
            return changed

        return self.define(change)

    def _bounds(self, codec: RowCodec, partitioning: Partitioning) -> tuple[bytes, ...]:
        """Keys that cut a table into parts of like size, and no value of the partition columns into two."""
        snapshot = self.snapshot()
        bounds: set[bytes] = set()
        for part in self.split(codec, partitioning.count)[1:]:
            for (row,) in snapshot.scan(codec, Interval(part.lower), limit=1):
                bounds.add(codec.key.encode_key(codec.key.key_of(row)[: len(partitioning.columns)]))
        return tuple(sorted(bounds))

    # Log

    @explained
    def blocks(
        self, lower: Position, upper: Position | None = None, tables: frozenset[int] | None = None, most: int = 1000
    ) -> list[Block]:
        """Blocks with a change at lower <= position < upper, the first `most` or MOST_BYTES of them.

        With `tables`, only their sections.

        NotRetained if the log does not reach back to `lower`.
        """
        start = self.offset(lower)
        end = None if upper is None else self.offset(upper)
        wanted = None if tables is None else tables.__contains__
        found: list[Block] = []
        size = 0
        with self.base.begin() as txn:
            check_retained(self.database, start, log.oldest(txn, self.log_db))
            self._check_reached(start, log.head(txn, self.log_db))
            if end is not None and end <= start:
                return []
            for block in log.read(txn, self.log_db, start, end, wanted):
                found.append(block)
                size += sum(len(section.body) for section in block.sections)
                if len(found) == most or size > MOST_BYTES:
                    break
        return found

    @explained
    def transaction_before(self, offset: int) -> tuple[int, int] | None:
        """Id and commit time (µs) of the transaction that ends at an offset; None if the log does not have it."""
        with self.base.begin() as txn:
            return log.before(txn, self.log_db, offset)

    @explained
    def committed_behind(self, offset: int) -> int | None:
        """The commit time (µs) of the first transaction that is not wholly before an offset; None if there is none."""
        with self.base.begin() as txn:
            return log.committed_behind(txn, self.log_db, offset)

    @explained
    def boundary(self, lower: int, most: int) -> int:
        """The last transaction boundary with at most `most` changes behind `lower`, or else the first one behind it."""
        with self.base.begin() as txn:
            return log.boundary(txn, self.log_db, lower, most)

    def pin(self, position: Position, *, seconds: float, holder: str) -> bytes:
        """Keep the log from a position on, for so long; the pin's id. NotRetained if it is gone already."""
        offset = self.offset(position)
        pin = pins.new_pin()
        self.write(lambda txn: self._set_pin(txn, pin, offset, seconds, holder))
        return pin

    def _set_pin(self, txn: Txn, pin: bytes, offset: int, seconds: float, holder: str) -> None:
        check_retained(self.database, offset, log.oldest(txn, self.log_db))
        pins.set_pin(txn, self.pins_db, pin, offset, seconds, holder)

    def renew(self, pin: bytes, position: Position, *, seconds: float, holder: str) -> None:
        """Move a pin on, and its deadline; NotRetained if it had run out and the log has gone on."""
        offset = self.offset(position)
        self.write(lambda txn: self._set_pin(txn, pin, offset, seconds, holder))

    def unpin(self, pin: bytes) -> None:
        self.write(lambda txn: txn.delete(pin, db=self.pins_db))

    @explained
    def sizes(self) -> tuple[int, int]:
        """Bytes in use in the base and the views environment."""
        return self.base.size(), self.views.size()

    @explained
    def reader_count(self) -> int:
        """Read transactions that are open now, in all processes."""
        return self.base.reader_count() + self.views.reader_count()

    @explained
    def log_size(self) -> tuple[int, int]:
        """Changes and bytes that the log holds."""
        with self.base.begin() as txn:
            stat = txn.stat(self.log_db)
            pages = stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
            changes = log.head(txn, self.log_db) - log.oldest(txn, self.log_db)
            return changes, pages * stat["psize"]

    # Life

    def clean(self) -> Cleaned:
        """One round of the janitor."""
        with translated():
            return clean(self)

    def _start_janitor(self) -> None:
        with self.naming:
            if self._janitor is None and not self._closing:
                self._janitor = Janitor(self)

    def close(self) -> None:
        """Close it behind the writes under way; whoever comes later, or is reading, is told."""
        with self.naming:
            self._closing = True
        if self._janitor is not None:
            self._janitor.stop()
        self._group.alone(self._close)

    def _close(self) -> None:
        # LMDB would wait for ever for a write transaction that it has made unusable itself, so none may be open.
        with self.naming:
            self.base.close()
            self.views.close()

    def abandon(self) -> None:
        """In a forked child: refuse every use, without waiting for locks that threads of the parent held."""
        self.base.abandon()
        self.views.abandon()
        self.naming = threading.RLock()
        self._group = self._group_commit()
