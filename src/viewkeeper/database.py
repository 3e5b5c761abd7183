"""The facade: what users call. Names and dicts in, names and dicts out."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, cast

from viewkeeper.errors import Closed, ReadOnly
from viewkeeper.model.change import Change
from viewkeeper.model.position import Position
from viewkeeper.model.schema import Table
from viewkeeper.model.types import Cell
from viewkeeper.read.feed import changes_of
from viewkeeper.read.info import DatabaseInfo, describe
from viewkeeper.read.rows import Rows
from viewkeeper.read.snapshot import SnapshotReader
from viewkeeper.store.interface import Settings, Store, WriteSet
from viewkeeper.store.registry import close_store, open_store
from viewkeeper.write.statements import Outcome, retrying, run_statement
from viewkeeper.write.transaction import Transaction

if TYPE_CHECKING:
    from viewkeeper.load.bad import BadRowWriter
    from viewkeeper.load.progress import LoadProgress


def open(
    path: str | os.PathLike[str], *, durability: Literal["sync", "os"] | None = None, read_only: bool = False
) -> Database:
    """The database in a folder; made if absent.

    Args:
        durability: chosen when a database is made. "sync", the default: a write returns once it is on the disk, which
            costs an fsync (shared by concurrent writers). "os": it returns once the operating system has it, several
            times sooner; it survives kill -9, and a power loss may need a restore of the folder.
        read_only: refuse every write through this handle; also opens a database on a read-only disk.
    """
    return Database(path, durability=durability, read_only=read_only)


class Database:
    """A handle on a database. Thread-safe; many handles in many processes may be open at once."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        durability: Literal["sync", "os"] | None = None,
        read_only: bool = False,
    ) -> None:
        self._read_only = read_only
        self._shared = open_store(path, durability=durability, read_only=read_only)
        self._store: Store = self._shared
        self._closed = False
        self._closing = threading.Lock()

    # Statements

    def execute(self, sql: str, params: Mapping[str, Any] | Sequence[Any] | None = None) -> Outcome | Rows | None:
        """Run one or several statements; the last one's result, None if there was none.

        Each statement is a transaction of its own.
        """
        from viewkeeper.sql.bind import bind, check_params
        from viewkeeper.sql.parse import Parsed, parse
        from viewkeeper.sql.statements import Select

        parsed = parse(sql)
        check_params(parsed, params)
        result: Outcome | Rows | None = None

        def run(one: Parsed) -> Outcome | Rows:
            catalog = self._store.catalog()
            statement = bind(one, catalog.table, params)
            if not isinstance(statement, Select):
                self._check_writable()
            return run_statement(self._store, catalog, statement)

        for one in parsed:
            result = retrying(partial(run, one))
        return result

    def query(self, sql: str, /, **params: Any) -> Rows:
        """The rows of one SELECT; `:name` parameters are given by keyword."""
        return self.snapshot().query(sql, **params)

    # Rows

    def insert(self, table: str, row: Mapping[str, Any]) -> Position:
        """Add a row; KeyExists if there is one with its key."""
        return self._put(table, row, insert=True)

    def put(self, table: str, row: Mapping[str, Any]) -> Position:
        """Add a row, or change the given columns of the row that is there."""
        return self._put(table, row, insert=False)

    def _put(self, table: str, row: Mapping[str, Any], *, insert: bool) -> Position:
        self._check_writable()

        def attempt() -> Position:
            codec = self._store.catalog().codec(table)
            cells: dict[int, Cell] = codec.merge(row)
            return self._store.put(codec, cells, insert=insert)

        return retrying(attempt)

    def delete(self, table: str, /, *key: Any) -> Position:
        """Remove a row; no error, and no change, if there is none."""
        self._check_writable()

        def attempt() -> Position:
            codec = self._store.catalog().codec(table)
            writes = WriteSet()
            writes.remove(codec, codec.key.encode_key(codec.key_cells(key)))
            return self._store.commit(writes)

        return retrying(attempt)

    def load(
        self,
        table: str,
        source: Any,
        *,
        progress: bool | LoadProgress = False,
        skip_bad: str | os.PathLike[str] | BadRowWriter | None = None,
        batch_rows: int = 10_000,
        ignore_unknown: bool = False,
    ) -> Position:
        """Put many rows, `batch_rows` a transaction; the position behind them.

        Args:
            source: an iterable of dicts, Arrow data, or the path of a .csv, .parquet or .jsonl file.
            progress: show a progress bar with rows/s; or a counter of the caller's.
            skip_bad: write rows that do not fit to this file, as JSON lines, and go on; without it the first one is
                raised as BadRow.
            ignore_unknown: leave out columns that the table does not have, instead of refusing them.
        """
        from viewkeeper.load.bad import BadRowWriter
        from viewkeeper.load.progress import LoadProgress
        from viewkeeper.write.loading import load

        self._check_writable()
        writer = BadRowWriter(os.fspath(skip_bad)) if isinstance(skip_bad, str | os.PathLike) else skip_bad
        try:
            return load(
                self._store,
                table,
                source,
                progress=LoadProgress(shown=progress) if isinstance(progress, bool) else progress,
                on_bad=writer,
                batch_rows=batch_rows,
                ignore_unknown=ignore_unknown,
            )
        finally:
            if writer is not None and writer is not skip_bad:
                writer.close()

    def transaction(self) -> Transaction:
        """Several writes and reads, all or nothing."""
        self._check_writable()
        return Transaction(self._store)

    def get(self, name: str, /, *key: Any) -> dict[str, Any] | None:
        """The row of a key; None if there is none."""
        codec, row = self._store.get(name, key)
        return None if row is None else codec.to_dict(row)

    def scan(
        self,
        name: str,
        /,
        *,
        prefix: Any = (),
        lower: Any = None,
        upper: Any = None,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Rows:
        """The rows in key order: those whose key begins with `prefix`, and lower <= what follows < upper."""
        return self.snapshot().scan(name, prefix=prefix, lower=lower, upper=upper, limit=limit, reverse=reverse)

    def snapshot(self, at: Position | None = None) -> SnapshotReader:
        """Several reads at one moment: now, or at a position that the log still reaches back to."""
        return SnapshotReader(self._store, self._store.snapshot(at))

    # The log

    def head(self) -> Position:
        """The position behind the last change."""
        return self._store.head()

    def oldest(self) -> Position:
        """The oldest position that snapshots and change feeds can still start from."""
        return self._store.oldest()

    def changes(self, name: str, /, *, since: Position, follow: bool = False) -> Iterator[Change]:
        """The changes of a table behind a position, in commit order; with `follow`, it waits for more."""
        return changes_of(self._store, name, since, follow=follow)

    # The database

    def tables(self) -> list[Table]:
        return sorted(self._store.catalog().tables.values(), key=lambda table: table.name.lower())

    def info(self) -> DatabaseInfo:
        """Sizes, tables, and the reach of the log."""
        return describe(self._store)

    def configure(self, *, log_retention: str | None = None, statement_rows: int | None = None) -> Settings:
        """Change settings of the database; the settings as they are now.

        Args:
            log_retention: how long the log keeps changes at least, such as "30m", "24h" or "7d".
            statement_rows: how many rows one UPDATE or DELETE may touch.
        """
        from viewkeeper.model.duration import milliseconds

        given: dict[str, Any] = {}
        if log_retention is not None:
            given["log_retention_ms"] = milliseconds(log_retention)
        if statement_rows is not None:
            given["statement_rows"] = statement_rows
        if given:
            self._check_writable()
        return self._store.configure(**given)

    def close(self) -> None:
        """Close this handle; the store closes with its last handle."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            self._store = cast(Store, _ClosedStore())
        close_store(self._shared)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Database {self._shared.folder.path}>"

    def _check_writable(self) -> None:
        if self._closed:
            raise _closed()
        if self._read_only:
            raise ReadOnly("the database was opened with read_only=True", hint="Open another handle without it.")


class _ClosedStore:
    """What a closed handle has for a store; other handles may still have theirs."""

    def __getattr__(self, name: str) -> NoReturn:
        raise _closed()


def _closed() -> Closed:
    return Closed("the database is closed", hint="Open it again with vk.open(path).")
