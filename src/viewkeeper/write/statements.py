"""Statements that change something, run against the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar, assert_never

from viewkeeper.errors import Conflict, TableDropped, TableExists, TooManyRows, UnknownTable
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.read.bykey import is_full_key, range_interval
from viewkeeper.read.consistency import ANY, Asked
from viewkeeper.read.handle import Handle
from viewkeeper.read.now import select_now
from viewkeeper.read.rows import Rows
from viewkeeper.sql.names import written
from viewkeeper.sql.statements import (
    AddColumn,
    AlterView,
    CreateTable,
    CreateView,
    Delete,
    DropTable,
    DropView,
    Insert,
    JoinSelect,
    KeyRange,
    Select,
    SetOption,
    Statement,
    Update,
)
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.interface import Catalog, Store, StoreTransaction, WriteSet

RETRIES = 50
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a statement did: how many rows it wrote or removed, and the position behind them; what to beware of."""

    rows: int
    position: Position
    warnings: tuple[str, ...] = ()


def retrying(attempt: Callable[[], T]) -> T:
    """Run a transaction of our own again while it conflicts or its table is made anew; the last error if always."""
    for _ in range(RETRIES - 1):
        try:
            return attempt()
        except (Conflict, TableDropped):
            continue
    return attempt()


def run_statement(handle: Handle, catalog: Catalog, statement: Statement, asked: Asked = ANY) -> Outcome | Rows:
    """Run one statement that was bound to this catalog; Conflict or TableDropped if it is no longer the catalog's."""
    store = handle.store
    match statement:
        case CreateTable():
            return _create(store, statement)
        case AddColumn():
            store.add_column(statement.table, statement.column)
            return Outcome(rows=0, position=store.head())
        case DropTable():
            return _drop(store, statement)
        case Insert():
            return _insert(store, catalog.codec(statement.table), statement)
        case Update():
            return _update(store, catalog, statement)
        case Delete():
            return _delete(store, catalog, statement)
        case Select() | JoinSelect():
            return select_now(handle, catalog, statement, asked)
        case CreateView() | DropView() | AlterView():
            # Programs of views take as long to import as everything else together.
            from viewkeeper.write.views import run_view_statement

            assert isinstance(store, EmbeddedStore)
            warnings = run_view_statement(store, catalog, statement)
            return Outcome(rows=0, position=store.head(), warnings=warnings)
        case SetOption():
            store.set_option(statement.name, statement.value)
            return Outcome(rows=0, position=store.head())
    assert_never(statement)


def _create(store: Store, statement: CreateTable) -> Outcome:
    try:
        store.create_table(statement.table)
    except TableExists:
        if not statement.if_not_exists:
            raise
    return Outcome(rows=0, position=store.head())


def _drop(store: Store, statement: DropTable) -> Outcome:
    try:
        store.drop_table(statement.name)
    except UnknownTable as error:
        view = store.catalog().view(statement.name)
        if view is not None:
            drop = f"DROP {'VIEW' if view.kind == 'view' else 'INDEX'} {written(view.name)}"
            raise UnknownTable(error.message, detail=error.detail, hint=f"Write {drop}.") from None
        if not statement.if_exists:
            raise
    return Outcome(rows=0, position=store.head())


def _insert(store: Store, codec: RowCodec, statement: Insert) -> Outcome:
    writes = WriteSet()
    for cells in statement.rows:
        writes.insert(codec, codec.key_of_cells(cells), cells)
    return Outcome(rows=len(statement.rows), position=store.commit(writes))


def _update(store: Store, catalog: Catalog, statement: Update) -> Outcome:
    tx = store.transaction()
    codec = catalog.codec(statement.table)
    count = 0
    for row in _matching(tx, codec, statement.where, catalog.settings.statement_rows, "UPDATE"):
        tx.put(
            codec, codec.key.encode(row), {**{number: row[number] for number in codec.key.columns}, **statement.cells}
        )
        count += 1
    return Outcome(rows=count, position=tx.commit())


def _delete(store: Store, catalog: Catalog, statement: Delete) -> Outcome:
    tx = store.transaction()
    codec = catalog.codec(statement.table)
    count = 0
    for row in _matching(tx, codec, statement.where, catalog.settings.statement_rows, "DELETE"):
        tx.remove(codec, codec.key.encode(row))
        count += 1
    return Outcome(rows=count, position=tx.commit())


def _matching(tx: StoreTransaction, codec: RowCodec, where: tuple[KeyRange, ...], cap: int, verb: str) -> Iterator[Row]:
    """The rows of some key ranges, none twice; TooManyRows above the cap, before anything is written."""
    left = cap
    for keys in where:
        if is_full_key(codec, keys):
            row = tx.get(codec, codec.key.encode_key(keys.prefix))
            rows = [] if row is None else [row]
        else:
            chunks = tx.scan(codec, range_interval(codec, keys), limit=left + 1)
            rows = [row for chunk in chunks for row in chunk]
        left -= len(rows)
        if left < 0:
            raise TooManyRows(
                f'{verb} on table "{codec.table.name}" touches more than {cap:,} rows',
                detail="A statement is one transaction, and one this large would hold up other writers.",
                hint="Go through the keys in ranges, or raise the cap with db.configure(statement_rows=…).",
            )
        yield from rows
