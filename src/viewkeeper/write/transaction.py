"""The transaction that users hold: `with db.transaction() as tx`."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from viewkeeper.errors import TransactionError
from viewkeeper.model.position import Position
from viewkeeper.read.bykey import check_limit, key_interval
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.store.interface import Store


class Transaction:
    """All or nothing; sees its own writes; `Conflict` at its end if what it read has changed meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._inner = store.transaction()
        self._position: Position | None = None

    @property
    def position(self) -> Position:
        """The position behind its changes; known once it is committed."""
        if self._position is None:
            raise TransactionError(
                "the transaction has no position yet", hint="Read tx.position behind the with block."
            )
        return self._position

    def get(self, name: str, /, *key: Any) -> dict[str, Any] | None:
        codec = self._store.catalog().codec(name)
        row = self._inner.get(codec, codec.key.encode_key(codec.key_cells(key)))
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
        chunks = self._inner.scan(codec, interval, limit=limit, reverse=reverse)
        meta = ReadMeta(path="table", position=self._inner.position, operations=1)
        return Rows(chunks, codec.table.columns, codec.to_dict, meta)

    def put(self, table: str, row: Mapping[str, Any]) -> None:
        codec = self._store.catalog().codec(table)
        cells = codec.merge(row)
        self._inner.put(codec, codec.key_of_cells(cells), cells)

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        codec = self._store.catalog().codec(table)
        cells = codec.merge(row)
        self._inner.insert(codec, codec.key_of_cells(cells), cells)

    def delete(self, table: str, /, *key: Any) -> None:
        codec = self._store.catalog().codec(table)
        self._inner.remove(codec, codec.key.encode_key(codec.key_cells(key)))

    def commit(self) -> Position:
        """Commit now; the with block does it at its end."""
        self._position = self._inner.commit()
        return self._position

    def rollback(self) -> None:
        """Give it up; nothing was written."""
        self._inner.rollback()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.rollback()
        elif not self._inner.is_over:
            self.commit()
