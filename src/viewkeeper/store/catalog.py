"""Tables, views and settings, kept in the store itself and versioned.

    "database"      the id of the marker file, so that parts of two databases cannot be mixed
    "version"       8 bytes, big-endian; grows with every change of the catalog
    "next"          8 bytes: the next object id; ids are never reused
    "settings"      msgpack of Settings
    "options"       msgpack of a map: what SET has set; one that is not there has its default
    "t" id (4)      msgpack [slot, model.schema.Table]
    "v" id (4)      msgpack of model.view.View; ids are of the same count as those of tables
    "o" id (4)      slot (4) of a table that is stored for a view which is kept beside the tables
    "g" slot (4)    id (4) of a table that is gone and whose rows the janitor is still removing
    "f" slot (4)    "", a slot whose database is empty and free for the next table

The rows of a table are in the named database of its slot. Ids are never reused; slots are, because LMDB's handles are
few and cannot be closed while others read. A reader of the past of a slot is safe: its snapshot has the old pages. The
rows of a view are in the views environment, under its id; how far they are is known there alone. Those of a SYNC or
LOCAL view are beside the tables, once it is whole: it is always as far as these.

Every transaction compares "version" with that of the catalog in memory, so DDL in one process binds all others from
its commit on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from viewkeeper.errors import Conflict, StoreDamaged, TableExists, UnknownTable, ViewsDepend, WrongType
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Table
from viewkeeper.model.view import View, named_by_kind, with_article
from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.log import Tail
from viewkeeper.store.modes import reads_latest

VERSION = b"version"
_NEXT = b"next"
_SETTINGS = b"settings"
_OPTIONS = b"options"
_DATABASE = b"database"
_word = struct.Struct(">Q")
_half = struct.Struct(">I")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What can be set for a database as a whole.

    `log_retention_ms`: the log keeps at least the changes of this long, for as-of reads and change feeds. The price is
    the disk that they take. `statement_rows`: an UPDATE or DELETE that touches more rows is refused, since it is one
    transaction and holds up other writers while it commits.
    """

    log_retention_ms: int = 3_600_000
    statement_rows: int = 10_000

    def __post_init__(self) -> None:
        for name, least in (("log_retention_ms", 0), ("statement_rows", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise WrongType(f"setting {name} is {value!r}", hint=f"It is a whole number, at least {least}.")


class Following:
    """Holds what keeps views in the transaction of a write, see insync.py; the store is given it when it is opened."""

    __slots__ = ("follower",)

    def __init__(self) -> None:
        self.follower: Any = None


@dataclass(frozen=True, slots=True)
class Databases:
    """The handles that reads and commits need; those of tables by table id. `tail` is the writer's."""

    log: Database
    counts: Database
    samples: Database
    tables: Mapping[int, Database]
    tail: Tail = field(default_factory=Tail)
    following: Following = field(default_factory=Following)


@dataclass(frozen=True, slots=True)
class Catalog:
    """The catalog at one version, with the handles of its tables: both are published, and used, together.

    `codecs` are those of everything whose changes are in the log: tables, and views that are kept beside them. Views of
    the second kind read what is `followed`. `options` are those that SET has set, by name.
    """

    version: bytes
    tables: Mapping[int, Table]
    databases: Databases
    slots: Mapping[int, int] = field(default_factory=dict)
    settings: Settings = Settings()
    names: Mapping[str, Table] = field(default_factory=dict)
    codecs: Mapping[int, RowCodec] = field(default_factory=dict)
    views: Mapping[int, View] = field(default_factory=dict)
    view_names: Mapping[str, View] = field(default_factory=dict)
    view_codecs: Mapping[int, RowCodec] = field(default_factory=dict)
    followed: frozenset[int] = frozenset()
    options: Mapping[str, str] = field(default_factory=dict)

    def table(self, name: str) -> Table:
        """The table of this name, compared without case; UnknownTable if there is none."""
        found = self.names.get(name) or self.names.get(str(name).lower())
        if found is None:
            raise self._unknown(name)
        return found

    def view(self, name: str) -> View | None:
        """The view of this name, compared without case; None if there is none."""
        return self.view_names.get(name) or self.view_names.get(str(name).lower())

    def known_view(self, name: str) -> View:
        """The view of this name; UnknownTable if there is none."""
        found = self.view(name)
        if found is None:
            known = ", ".join(sorted({view.name for view in self.view_names.values()})) or "none"
            raise UnknownTable(f'view "{name}" does not exist', detail=f"Views here: {known}.")
        return found

    def find(self, name: str) -> Table | View:
        """The table or view of this name; UnknownTable if there is neither."""
        found = self.names.get(name) or self.names.get(str(name).lower()) or self.view(name)
        if found is None:
            raise self._unknown(name)
        return found

    def _unknown(self, name: str) -> UnknownTable:
        found = self.view(name)
        if found is not None:
            return UnknownTable(
                f'"{name}" is {with_article(found.kind)}, not a table',
                detail="It is kept equal to its definition: it follows what is written to its sources.",
                hint="Write to the tables that it reads.",
            )
        tables = ", ".join(sorted(table.name for table in self.tables.values())) or "none"
        views = ", ".join(sorted({view.name for view in self.view_names.values()}))
        shown = f"Tables here: {tables}." + (f" Views: {views}." if views else "")
        return UnknownTable(f'table "{name}" does not exist', detail=shown, hint="Make it with CREATE TABLE.")

    def codec(self, name: str) -> RowCodec:
        """The codec of the table of this name."""
        return self.codecs[self.table(name).id]

    def dependents(self, numbers: Iterable[int]) -> list[View]:
        """The views that read any of these tables or views, or read one that does; lower ones first."""
        reached = set(numbers)
        found: list[View] = []
        # A view is always made after what it reads, so ids are an order of dependence.
        for number, view in sorted(self.views.items()):
            if number not in reached and not reached.isdisjoint(view.sources):
                reached.add(number)
                found.append(view)
        return found


def read_catalog(txn: Txn, db: Database, known: Catalog) -> Catalog:
    """The catalog as this transaction sees it; handles, and codecs of unchanged tables, are those of `known`."""
    version = txn.get(VERSION, db=db)
    if version is None:
        raise StoreDamaged("the catalog is missing", hint="Restore the folder from a backup.")
    tables: dict[int, Table] = {}
    slots: dict[int, int] = {}
    for number, value in _listed(txn, db, b"t"):
        slots[number], tables[number] = msgspec.msgpack.decode(value, type=tuple[int, Table])
    settings = msgspec.msgpack.decode(txn.get(_SETTINGS, b"\x80", db=db), type=Settings)
    names = {table.name.lower(): table for table in tables.values()}
    names.update({table.name: table for table in tables.values()})
    codecs = {
        number: known.codecs[number] if known.tables.get(number) == table else RowCodec(table)
        for number, table in tables.items()
    }
    stored = {number: msgspec.msgpack.decode(value, type=View) for number, value in _listed(txn, db, b"v")}
    unread = Catalog(version, tables, known.databases, views=stored)
    views = {number: replace(view, is_lazy=reads_latest(unread, view)) for number, view in stored.items()}
    shown = [view for view in views.values() if view.replaces is None]
    view_names = {view.name.lower(): view for view in shown} | {view.name: view for view in shown}
    view_codecs = {
        number: known.view_codecs[number] if known.views.get(number) == view else RowCodec(view.layout)
        for number, view in views.items()
    }
    for view in views.values():
        for part in range(1, len(view.tables)):
            layout = view.part(part).layout
            view_codecs[layout.id] = known.view_codecs.get(layout.id) or RowCodec(layout)
    in_base = {number: view for number, view in views.items() if view.in_base}
    codecs |= {number: view_codecs[number] for view in in_base.values() for number in view.tables}
    slots |= {number: _half.unpack(value)[0] for number, value in _listed(txn, db, b"o")}
    return Catalog(
        version,
        tables,
        known.databases,
        slots,
        settings,
        names,
        codecs,
        views,
        view_names,
        view_codecs,
        _followed(tables, in_base.values()),
        _options(txn, db),
    )


def _followed(tables: Mapping[int, Table], in_base: Iterable[View]) -> frozenset[int]:
    """What views beside the tables read; everything, if one of them changes with each commit."""
    views = list(in_base)
    found = {source for view in views for source in view.sources}
    return frozenset(found | tables.keys() if any(view.ages for view in views) else found)


def create_catalog(txn: Txn, db: Database, database: str) -> str:
    """Fill an empty catalog; does nothing to one that is there. The id that it has."""
    owner = txn.get(_DATABASE, db=db)
    if owner is not None:
        return owner.decode()
    txn.put(_DATABASE, database.encode(), db=db)
    txn.put(VERSION, _word.pack(1), db=db)
    txn.put(_NEXT, _word.pack(1), db=db)
    return database


def check_owner(txn: Txn, db: Database, database: str) -> None:
    """StoreDamaged if the catalog is another database's."""
    owner = txn.get(_DATABASE, b"", db=db)
    if owner.decode() != database:
        raise StoreDamaged(
            "the base environment belongs to another database",
            detail=f"The folder is {database}, its base environment {owner.decode()}.",
            hint="Restore the whole folder from one backup.",
        )


def touch(txn: Txn, db: Database) -> None:
    """Move the version, so that every process reads the catalog anew."""
    version = _word.unpack(txn.get(VERSION, db=db) or bytes(8))[0]
    txn.put(VERSION, _word.pack(version + 1), db=db)


def add_table(txn: Txn, db: Database, catalog: Catalog, table: Table) -> tuple[Table, int]:
    """Record a new table; the table with its id, and its slot. TableExists if the name is taken."""
    if table.name.lower() in catalog.names:
        raise TableExists(
            f'table "{table.name}" exists already', hint="Drop it first, or write CREATE TABLE IF NOT EXISTS."
        )
    taken = catalog.view(table.name)
    if taken is not None:
        raise TableExists(
            f'there is {with_article(taken.kind)} with the name "{table.name}"', hint="Choose another name."
        )
    number = take_ids(txn, db, 1)
    created = replace(table, id=number)
    slot = take_slot(txn, db, number)
    store_table(txn, db, created, slot)
    return created, slot


def take_slot(txn: Txn, db: Database, number: int) -> int:
    """A free slot for an object; if there is none, that of its own number, or another that nothing ever had.

    A view that was kept beside the tables before may have left rows in the slot of its number, or that may have gone to
    another table since.
    """
    free = [slot for slot, _ in _listed(txn, db, b"f")]
    if free:
        txn.delete(b"f" + _half.pack(free[0]), db=db)
        return free[0]
    taken = {_half.unpack(value)[0] for _, value in _listed(txn, db, b"o")}
    taken |= {slot for slot, _ in _listed(txn, db, b"g")}
    taken |= {msgspec.msgpack.decode(value, type=tuple[int, Table])[0] for _, value in _listed(txn, db, b"t")}
    return take_ids(txn, db, 1) if number in taken else number


def add_object(txn: Txn, db: Database, number: int) -> int:
    """Record a table that is stored for a view beside those of users; its slot."""
    slot = take_slot(txn, db, number)
    txn.put(b"o" + _half.pack(number), _half.pack(slot), db=db)
    return slot


def remove_objects(txn: Txn, db: Database, numbers: Iterable[int]) -> None:
    """Forget such tables, if they are there; their rows are removed later, piece by piece."""
    for number in numbers:
        slot = txn.get(b"o" + _half.pack(number), db=db)
        if slot is not None:
            txn.delete(b"o" + _half.pack(number), db=db)
            txn.put(b"g" + slot, _half.pack(number), db=db)


def take_ids(txn: Txn, db: Database, count: int) -> int:
    """The first of `count` new object ids."""
    number: int = _word.unpack(txn.get(_NEXT, db=db) or bytes(8))[0]
    txn.put(_NEXT, _word.pack(number + count), db=db)
    return number


def store_views(txn: Txn, db: Database, catalog: Catalog, views: Sequence[View]) -> None:
    """Record views that have their ids. Conflict if what one reads has gone, or its name was taken, meanwhile."""
    known = {*catalog.tables, *catalog.views, *(view.id for view in views)}
    for view in views:
        found = catalog.view(view.name)
        if view.replaces is None and found is not None and found != view:
            raise _taken(found, view)
        if view.name.lower() in catalog.names:
            raise TableExists(f'there is a table with the name "{view.name}"', hint="Choose another name.")
        if not known.issuperset(view.sources) or (view.replaces is not None and view.replaces not in catalog.views):
            raise Conflict(
                f'what {view.kind} "{view.name}" reads was dropped meanwhile', hint="Run the statement again."
            )
        txn.put(b"v" + _half.pack(view.id), msgspec.msgpack.encode(view), db=db)
    touch(txn, db)


def store_view(txn: Txn, db: Database, view: View) -> None:
    """Record a view that is there anew."""
    txn.put(b"v" + _half.pack(view.id), msgspec.msgpack.encode(view), db=db)
    touch(txn, db)


def _taken(found: View, view: View) -> TableExists:
    if found.kind != view.kind:
        return TableExists(
            f'there is {with_article(found.kind)} with the name "{found.name}"',
            hint="Choose another name, or drop it first.",
        )
    return TableExists(
        f'{found.kind} "{found.name}" exists already',
        hint="Write CREATE OR REPLACE, or CREATE … IF NOT EXISTS, or drop it first.",
    )


def remove_views(txn: Txn, db: Database, numbers: Iterable[int]) -> None:
    for number in numbers:
        stored = txn.get(b"v" + _half.pack(number), db=db)
        if stored is not None:
            remove_objects(txn, db, msgspec.msgpack.decode(stored, type=View).objects)
        txn.delete(b"v" + _half.pack(number), db=db)
    touch(txn, db)


def store_table(txn: Txn, db: Database, table: Table, slot: int) -> None:
    txn.put(b"t" + _half.pack(table.id), msgspec.msgpack.encode((slot, table)), db=db)
    touch(txn, db)


def remove_table(txn: Txn, db: Database, catalog: Catalog, table: Table) -> None:
    """Forget a table at once; its rows are removed later, piece by piece. ViewsDepend if a view reads it."""
    above = catalog.dependents([table.id])
    if above:
        words = dict.fromkeys("DROP VIEW" if view.kind == "view" else "DROP INDEX" for view in above)
        raise ViewsDepend(
            f'table "{table.name}" is read by {named_by_kind(above)}',
            hint=f"Drop them first, with {' and '.join(sorted(words, reverse=True))}.",
        )
    txn.delete(b"t" + _half.pack(table.id), db=db)
    txn.put(b"g" + _half.pack(catalog.slots[table.id]), _half.pack(table.id), db=db)
    touch(txn, db)


def store_settings(txn: Txn, db: Database, settings: Settings) -> None:
    txn.put(_SETTINGS, msgspec.msgpack.encode(settings), db=db)
    touch(txn, db)


def store_option(txn: Txn, db: Database, name: str, value: str) -> None:
    txn.put(_OPTIONS, msgspec.msgpack.encode({**_options(txn, db), name: value}), db=db)
    touch(txn, db)


def _options(txn: Txn, db: Database) -> dict[str, str]:
    return msgspec.msgpack.decode(txn.get(_OPTIONS, b"\x80", db=db), type=dict[str, str])


def garbage(txn: Txn, db: Database) -> list[tuple[int, int]]:
    """Slots that still hold rows of a table that is gone, with the id of that table."""
    return [(slot, _half.unpack(value)[0]) for slot, value in _listed(txn, db, b"g")]


def free_slot(txn: Txn, db: Database, slot: int) -> None:
    """Make an emptied slot free for the next table."""
    txn.delete(b"g" + _half.pack(slot), db=db)
    txn.put(b"f" + _half.pack(slot), b"", db=db)


def _listed(txn: Txn, db: Database, letter: bytes) -> list[tuple[int, bytes]]:
    cursor = txn.cursor(db=db)
    found: list[tuple[int, bytes]] = []
    if cursor.set_range(letter):
        for key, value in cursor.iternext():
            # The named entries, such as "next", are longer than a letter and a number.
            if not key.startswith(letter):
                break
            if len(key) == 1 + _half.size:
                found.append((_half.unpack(key[1:])[0], value))
    return found
