"""Reads by name at one position: what `with db.snapshot() as s` gives."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from viewkeeper.errors import Unsupported
from viewkeeper.model.position import Position
from viewkeeper.read.bykey import check_limit, key_interval, select
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.sql.statements import Select
from viewkeeper.store.interface import Snapshot, Store


class SnapshotReader:
    """Several reads at one moment. Holds nothing open, so it may live as long as the log is retained."""

    def __init__(self, store: Store, snapshot: Snapshot) -> None:
        self._store = store
        self._snapshot = snapshot

    @property
    def position(self) -> Position:
        return self._snapshot.position

    def get(self, name: str, /, *key: Any) -> dict[str, Any] | None:
        codec = self._store.catalog().codec(name)
        row = self._snapshot.get(codec, codec.key.encode_key(codec.key_cells(key)))
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
        codec = self._store.catalog().codec(name)
        interval = key_interval(codec, prefix, lower, upper)
        check_limit(limit)
        chunks = self._snapshot.scan(codec, interval, limit=limit, reverse=reverse)
        meta = ReadMeta(path="table", position=self.position, operations=1)
        return Rows(chunks, codec.table.columns, codec.to_dict, meta)

    def query(self, sql: str, /, **params: Any) -> Rows:
        return run_query(self._store, self._snapshot, sql, params)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None


def run_query(store: Store, snapshot: Snapshot, sql: str, params: dict[str, Any]) -> Rows:
    """The rows of one SELECT by key, read from a snapshot."""
    from viewkeeper.sql.bind import bind, check_params
    from viewkeeper.sql.parse import parse

    parsed = parse(sql)
    if len(parsed) != 1:
        raise Unsupported(f"a query is one SELECT, found {len(parsed)} statements", hint="Use db.execute for scripts.")
    check_params(parsed, params)
    catalog = store.catalog()
    statement = bind(parsed[0], catalog.table, params)
    if not isinstance(statement, Select):
        raise Unsupported("a query is a SELECT", hint="Use db.execute for statements that change something.")
    meta = ReadMeta(path="table", position=snapshot.position)
    return select(snapshot, catalog.codec(statement.table), statement, meta)
