"""The transaction that users hold: `with db.transaction() as tx`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from viewkeeper.errors import TransactionError
from viewkeeper.model.position import Position
from viewkeeper.model.view import View
from viewkeeper.read.bykey import Reader, check_limit, key_interval
from viewkeeper.read.handle import Handle
from viewkeeper.read.now import scan_of_view
from viewkeeper.read.region import Region
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.read.viewkeys import key_region, view_region
from viewkeeper.store.interface import Catalog


class Transaction:
    """All or nothing; sees its own writes; `Conflict` at its end if what it read has changed meanwhile.

    A view is read as it is at the transaction's position, with what the transaction itself has written: its changes
    go through the view as those of a batch do, and are not applied. It conflicts with other writes to the tables below
    the view that can matter to what it read.
    """

    def __init__(self, handle: Handle, told: Callable[[Position], object] | None = None) -> None:
        self._handle = handle
        self._store = handle.store
        self._inner = self._store.transaction()
        self._position: Position | None = None
        self._told = told

    @property
    def snapshot_position(self) -> Position:
        """Where it reads the tables."""
        return self._inner.position

    @property
    def position(self) -> Position:
        """The position behind its changes; known once it is committed."""
        if self._position is None:
            raise TransactionError(
                "the transaction has no position yet", hint="Read tx.position behind the with block."
            )
        return self._position

    def get(self, name: str, /, *key: Any) -> dict[str, Any] | None:
        catalog = self._store.catalog()
        view = catalog.view(name)
        if view is not None:
            codec = catalog.view_codecs[view.id]
            region = key_region(view, codec, key)
            row = self._view(catalog, view, [region])[0].get(codec, region.interval.lower)
            return None if row is None else codec.to_dict(row)
        codec = catalog.codec(name)
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
        catalog = self._store.catalog()
        view = catalog.view(name)
        if view is not None:
            region = view_region(view, catalog.view_codecs[view.id], prefix, lower, upper)
            check_limit(limit)
            return scan_of_view(self._view(catalog, view, [region]), catalog, view, region, limit, reverse)
        codec = catalog.codec(name)
        interval = key_interval(codec, prefix, lower, upper)
        check_limit(limit)
        chunks = self._inner.scan(codec, interval, limit=limit, reverse=reverse)
        meta = ReadMeta(path="table", position=self._inner.position, operations=1)
        return Rows(chunks, codec.table.columns, codec.to_dict, meta)

    def _view(self, catalog: Catalog, view: View, regions: Sequence[Region]) -> tuple[Reader, ReadMeta]:
        # What folds rows takes as long to import as everything else together.
        from viewkeeper.read.uncommitted import view_with_own_writes

        return view_with_own_writes(self._handle, self._inner, catalog, view, regions)

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
        if self._told is not None:
            self._told(self._position)
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
