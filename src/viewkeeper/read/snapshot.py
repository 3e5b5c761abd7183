"""Reads by name at one moment: what `with db.snapshot() as s` gives.

Base tables are as of one position. A view is as of the watermark that its group had then, which may be before that
position and is never behind it; `rows.meta.position` tells.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from viewkeeper.errors import NotRetained, ViewNotReady
from viewkeeper.model.position import Position
from viewkeeper.model.view import View
from viewkeeper.read.bykey import check_limit, key_interval, select
from viewkeeper.read.consistency import not_ready
from viewkeeper.read.now import scan_of_view, select_of_view
from viewkeeper.read.query import bind_query, parse_query
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.read.viewat import ViewAt
from viewkeeper.read.viewkeys import view_interval, view_key
from viewkeeper.sql.statements import JoinSelect
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Catalog, Snapshot, Store

Standings = Mapping[int, GroupState]
"""The group of each object, as it stood."""


def take_snapshot(store: Store, at: Position | None = None) -> SnapshotReader:
    """All tables and views as they are now; with a position, the tables as they were there."""
    # The views first: the base is then never older than what was made from it.
    standings: Standings = {}
    if store.catalog().views:
        states, objects = store.view_tables.objects()
        standings = {number: states[place.group] for number, place in objects.items()}
    return SnapshotReader(store, store.snapshot(at), standings)


class SnapshotReader:
    """Several reads at one moment. Holds nothing open, so it may live as long as the log is retained."""

    def __init__(self, store: Store, snapshot: Snapshot, standings: Standings) -> None:
        self._store = store
        self._snapshot = snapshot
        self._standings = standings
        self._views: dict[int, ViewAt] = {}

    @property
    def position(self) -> Position:
        """Where the base tables stand."""
        return self._snapshot.position

    def get(self, name: str, /, *key: Any) -> dict[str, Any] | None:
        """The row of a key; None if there was none."""
        catalog = self._store.catalog()
        found = catalog.find(name)
        if isinstance(found, View):
            codec = catalog.view_codecs[found.id]
            row = self._view_at(catalog, found).get(codec, view_key(found, codec, key))
        else:
            codec = catalog.codecs[found.id]
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
        """The rows in stored order, as `db.scan` gives them."""
        catalog = self._store.catalog()
        found = catalog.find(name)
        if isinstance(found, View):
            interval = view_interval(found, catalog.view_codecs[found.id], prefix, lower, upper)
            check_limit(limit)
            return scan_of_view(self._view_at(catalog, found), catalog, found, interval, limit, reverse)
        codec = catalog.codecs[found.id]
        interval = key_interval(codec, prefix, lower, upper)
        check_limit(limit)
        chunks = self._snapshot.scan(codec, interval, limit=limit, reverse=reverse)
        meta = ReadMeta(path="table", position=self.position, operations=1)
        return Rows(chunks, codec.table.columns, codec.to_dict, meta)

    def query(self, sql: str, /, **params: Any) -> Rows:
        """The rows of one SELECT; `:name` parameters are given by keyword."""
        parsed = parse_query(sql, params)
        catalog = self._store.catalog()
        statement = bind_query(parsed, catalog, params)
        if isinstance(statement, JoinSelect):
            from viewkeeper.read.joined import select_joined

            return select_joined(self._store, catalog, statement, lambda view: self._view_at(catalog, view))
        found = catalog.find(statement.table)
        if isinstance(found, View):
            return select_of_view(self._view_at(catalog, found), catalog, found, statement)
        meta = ReadMeta(path="table", position=self.position)
        return select(self._snapshot, catalog.codecs[found.id], statement, meta)

    def _view_at(self, catalog: Catalog, view: View) -> ViewAt:
        known = self._views.get(view.id)
        if known is None:
            codec = catalog.view_codecs[view.id]
            known = self._views[view.id] = ViewAt(self._store, view, codec, self._offset_of(view))
        return known

    def _offset_of(self, view: View) -> int:
        """Where a view stood; ViewNotReady if it was not whole, NotRetained if it was past the position already."""
        state = self._standings.get(view.id)
        if state is None or state.filled is not None:
            raise self._too_early(view)
        if state.watermark > self._store.offset(self.position):
            raise NotRetained(
                f'view "{view.name}" is past position {self.position} already',
                detail=f"It stands at {self._store.position(state.watermark)}. A snapshot of the past has the base "
                "tables as they were there; a view is read as it is.",
                hint="Make the snapshot without a position, or follow the view with db.changes.",
            )
        return state.watermark

    def _too_early(self, view: View) -> ViewNotReady:
        now = self._store.view_tables.standing(view.id)
        if now is None or now[1].filled is not None:
            return not_ready(self._store, view)
        return ViewNotReady(
            f'view "{view.name}" had not been filled yet when the snapshot was made',
            hint="It is now: make another snapshot.",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
