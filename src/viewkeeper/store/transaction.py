"""A transaction: writes in a buffer, reads of a snapshot and of itself, validation at commit.

User code never holds the store's write lock. Writes that do not read (`put`, `remove`) cannot conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from viewkeeper.errors import Conflict, NotRetained, TransactionOver
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Row
from viewkeeper.store.commit import commit_writes
from viewkeeper.store.environment import Txn, explained
from viewkeeper.store.scan import Interval
from viewkeeper.store.snapshot import EmbeddedSnapshot
from viewkeeper.store.writes import Merge, Remove, Replace, Write, WriteSet, key_exists

if TYPE_CHECKING:
    from viewkeeper.store.catalog import Catalog
    from viewkeeper.store.embedded import EmbeddedStore


class EmbeddedTransaction:
    """Not thread-safe: one transaction belongs to one thread at a time."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store
        self._snapshot: EmbeddedSnapshot = store.snapshot()
        self._writes = WriteSet()
        self._read_keys: dict[int, set[bytes]] = {}
        self._read_intervals: dict[int, list[Interval]] = {}
        self._read_where: dict[int, list[Callable[[Row], bool] | None]] = {}
        self._codecs: dict[int, RowCodec] = {}
        self._over = ""

    @property
    def position(self) -> Position:
        """Where its snapshot stands."""
        return self._snapshot.position

    @property
    def is_over(self) -> bool:
        return bool(self._over)

    def get(self, codec: RowCodec, key: bytes) -> Row | None:
        """The row as the transaction sees it."""
        self._check()
        write = self._writes.of(codec).get(key)
        if isinstance(write, Replace):
            return write.row
        if isinstance(write, Remove):
            return None
        self._read_keys.setdefault(self._note(codec), set()).add(key)
        return _overlaid(write, self._snapshot.get(codec, key), codec)

    def scan(
        self, codec: RowCodec, interval: Interval, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[list[Row]]:
        """The rows of an interval as the transaction sees them, in key order, all in one list."""
        self._check()
        own = {key: write for key, write in self._writes.of(codec).items() if key in interval}
        # Own removals can hide as many stored rows, so read that many more.
        wanted = None if limit is None else limit + len(own)
        stored: dict[bytes, Row] = {}
        for items in self._snapshot.scan_keyed(codec, interval, limit=wanted, reverse=reverse):
            stored.update(items)
        covered = interval
        if wanted is not None and len(stored) >= wanted and stored:
            last = next(reversed(stored))
            covered = Interval(last, interval.upper) if reverse else Interval(interval.lower, last + b"\0")
        self._read_intervals.setdefault(self._note(codec), []).append(covered)
        for key, write in own.items():
            if key not in covered:
                continue
            row = _overlaid(write, stored.get(key), codec)
            if row is None:
                stored.pop(key, None)
            else:
                stored[key] = row
        ordered = [row for _, row in sorted(stored.items(), key=lambda item: item[0], reverse=reverse)]
        return iter([ordered if limit is None else ordered[:limit]])

    def put(self, codec: RowCodec, key: bytes, cells: Mapping[int, Cell]) -> None:
        self._check()
        self._writes.put(codec, key, cells)

    def insert(self, codec: RowCodec, key: bytes, cells: Mapping[int, Cell]) -> None:
        """Add a row; KeyExists if the transaction sees one."""
        row = codec.whole(cells)
        if self.get(codec, key) is not None:
            raise key_exists(codec, row)
        self._writes.of(codec)[key] = Replace(row)

    def remove(self, codec: RowCodec, key: bytes) -> None:
        self._check()
        self._writes.remove(codec, key)

    def own_changes(self) -> dict[int, list[tuple[Row | None, Row | None]]]:
        """What it has written, by table: of each key the row of the snapshot, and the one that it sees itself."""
        self._check()
        found: dict[int, list[tuple[Row | None, Row | None]]] = {}
        for number, writes in self._writes.tables.items():
            codec = self._writes.codecs[number]
            stored = self._snapshot.get_many(codec, list(writes))
            pairs = [(row, _overlaid(write, row, codec)) for write, row in zip(writes.values(), stored, strict=True)]
            found[number] = [pair for pair in pairs if pair[0] is not None or pair[1] is not None]
        return found

    def read_where(self, codec: RowCodec, matters: Callable[[Row], bool] | None) -> None:
        """Note that all rows of a table were read for which `matters` holds; all of it, if that is None."""
        self._check()
        self._read_where.setdefault(self._note(codec), []).append(matters)

    @explained
    def commit(self) -> Position:
        """Make it so; the position behind its changes. Conflict if it writes and what it read has changed."""
        self._check()
        self._over = "refused"
        position = self._snapshot.position
        if self._writes:
            # A first look without the write lock leaves little to validate under it.
            txn, catalog = self._store.begin_read()
            with txn:
                self._validate(txn, catalog)
            position = self._store.position(self._store.write(self._commit, refuses_first=True))
        self._over = "committed"
        return position

    def rollback(self) -> None:
        self._over = self._over or "rolled back"

    def _commit(self, txn: Txn) -> int:
        self._validate(txn, self._store.written_catalog())
        return commit_writes(txn, self._store.written_catalog(), self._writes)

    def _validate(self, txn: Txn, catalog: Catalog) -> None:
        for number, codec in self._codecs.items():
            keys = self._read_keys.get(number, set())
            try:
                self._snapshot.check_unchanged(txn, codec, keys, self._read_intervals.get(number, []))
                for matters in self._read_where.get(number, []):
                    self._snapshot.check_where(txn, catalog, codec, matters)
            except NotRetained as error:
                raise Conflict(
                    "the transaction is older than the log reaches back",
                    detail="Whether what it read has changed cannot be told.",
                    hint="Run it again from the start.",
                ) from error

    def _note(self, codec: RowCodec) -> int:
        self._codecs[codec.table.id] = codec
        return codec.table.id

    def _check(self) -> None:
        if self._over:
            raise TransactionOver(
                f"the transaction is {self._over}", hint="Start a new one: with db.transaction() as tx."
            )


def _overlaid(write: Write | None, row: Row | None, codec: RowCodec) -> Row | None:
    match write:
        case None:
            return row
        case Merge(cells):
            return codec.whole(cells) if row is None else codec.overlay(row, cells)
        case Replace(whole):
            return whole
        case Remove():
            return None
