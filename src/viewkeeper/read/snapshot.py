"""Reads by name at one moment: what `with db.snapshot() as s` gives.

Base tables are as of one position. A view is as of the watermark that its group had then, which may be before that
position and is never behind it; `rows.meta.position` tells. Where a read asks for more, and by default where the view
is LAZY, the view is folded to the position of the tables, neither more nor less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Literal, Self, overload

from viewkeeper.errors import NotRetained, Unsupported, ViewBehind, ViewNotReady, WrongType
from viewkeeper.model.position import Position
from viewkeeper.model.view import View
from viewkeeper.read.beside import beside_at, looks_of
from viewkeeper.read.bykey import Reader, check_limit, key_interval, select
from viewkeeper.read.consistency import Asked, Consistency, MaxLag, covered
from viewkeeper.read.handle import Handle
from viewkeeper.read.moment import Moment
from viewkeeper.read.nojoinindex import NoJoinIndex
from viewkeeper.read.now import base_rows_of, scan_of_view, select_of_view
from viewkeeper.read.query import parse_query
from viewkeeper.read.region import Region, regions_of
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.read.viewat import ViewAt
from viewkeeper.read.viewkeys import key_region, view_region
from viewkeeper.read.waiting import not_ready
from viewkeeper.sql.statements import JoinSelect, Select
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Catalog, Snapshot

Standings = Mapping[int, GroupState]
"""The group of each object, as it stood."""


def take_snapshot(handle: Handle, at: Position | None = None, floor: int = 0) -> SnapshotReader:
    """All tables and views as they are now; with a position, the tables as they were there.

    Views are not read from before `floor`.
    """
    store = handle.store
    # The views first: the base is then never older than what was made from it.
    standings: Standings = {}
    if store.catalog().views:
        states, objects = store.view_tables.objects()
        standings = {number: states[place.group] for number, place in objects.items()}
    return SnapshotReader(handle, store.snapshot(at), standings, dict(handle.floors), floor)


class SnapshotReader:
    """Several reads at one moment. Holds nothing open, so it may live as long as the log is retained."""

    def __init__(
        self, handle: Handle, snapshot: Snapshot, standings: Standings, floors: Mapping[str, int], floor: int
    ) -> None:
        self._handle = handle
        self._store = handle.store
        self._snapshot = snapshot
        self._standings = standings
        self._floors = floors
        self._floor = floor
        self._views: dict[int, ViewAt] = {}

    @property
    def position(self) -> Position:
        """Where the base tables stand."""
        return self._snapshot.position

    @overload
    def get(
        self, name: str, /, *key: Any, consistency: Consistency = None, with_meta: Literal[False] = False
    ) -> dict[str, Any] | None: ...

    @overload
    def get(
        self, name: str, /, *key: Any, consistency: Consistency = None, with_meta: Literal[True]
    ) -> tuple[dict[str, Any] | None, ReadMeta]: ...

    def get(
        self, name: str, /, *key: Any, consistency: Consistency = None, with_meta: bool = False
    ) -> dict[str, Any] | tuple[dict[str, Any] | None, ReadMeta] | None:
        """The row of a key; None if there was none.

        `consistency`: "any", a view as it stood; "latest", folded to the position of the snapshot, which is the default
        of a LAZY view; `vk.at_least(position)`, folded if it stood before that.
        """
        asked = Asked(consistency=consistency)
        catalog = self._store.catalog()
        found = catalog.find(name)
        if isinstance(found, View):
            codec = catalog.view_codecs[found.id]
            region = key_region(found, codec, key)
            reader, meta = self._view_as(catalog, found, [region], asked)
            row = reader.get(codec, region.interval.lower)
        else:
            codec = catalog.codecs[found.id]
            meta = self._table_meta(asked)
            row = self._snapshot.get(codec, codec.key.encode_key(codec.key_cells(key)))
        meta.operations, meta.rows = looks_of(found), int(row is not None)
        answer = None if row is None else codec.to_dict(row)
        return (answer, meta) if with_meta else answer

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
        base_rows: bool = False,
        consistency: Consistency = None,
    ) -> Rows:
        """The rows in stored order, as `db.scan` gives them."""
        asked = Asked(consistency=consistency)
        catalog = self._store.catalog()
        found = catalog.find(name)
        if isinstance(found, View):
            region = view_region(found, catalog.view_codecs[found.id], prefix, lower, upper)
            check_limit(limit)
            served = self._view_as(catalog, found, [region], asked)
            if base_rows:
                return base_rows_of(self._store, served, catalog, found, region, limit, reverse)
            return scan_of_view(served, catalog, found, region, limit, reverse)
        codec = catalog.codecs[found.id]
        interval = key_interval(codec, prefix, lower, upper)
        check_limit(limit)
        meta = self._table_meta(asked)
        meta.operations = 1
        chunks = self._snapshot.scan(codec, interval, limit=limit, reverse=reverse)
        return Rows(chunks, codec.table.columns, codec.to_dict, meta)

    def query(self, sql: str, /, *, consistency: Consistency = None, allow_scan: bool = False, **params: Any) -> Rows:
        """The rows of one SELECT with bounded work; `:name` parameters are given by keyword.

        With `allow_scan` also those of one table or view, or of one key of a join index, in stored order without a
        bound. What else reads all rows is for `db.query`: Unsupported.
        """
        # What analyses queries takes as long to import as everything else together.
        from viewkeeper.read.prepared import over_filled, prepare, unbounded
        from viewkeeper.sql.query_params import cells_of

        asked = Asked(consistency=consistency)
        parsed = parse_query(sql, params)
        catalog = self._store.catalog()
        prepared = prepare(self._store, catalog, parsed, sql)
        if prepared.planned is None and not allow_scan:
            raise unbounded(prepared.verdict)
        statement = prepared.select(params)
        if isinstance(statement, Select):
            rows = self._select(catalog, statement, asked)
            rows.meta.path = rows.meta.path if prepared.planned is not None else "scan"
            return rows
        if prepared.planned is not None:
            values = cells_of(prepared.query, params)
            planned = prepared.planned
            try:
                moment = self._moment(catalog, planned.objects, asked)
            except ViewNotReady:
                other = over_filled(self._store, prepared, planned, self._was_filled)
                if other is None:
                    raise
                planned, moment = other, self._moment(catalog, other.objects, asked)
            return planned.run(moment, values)
        if isinstance(statement, JoinSelect):
            from viewkeeper.read.joined import select_joined

            with suppress(NoJoinIndex):
                return select_joined(
                    self._store,
                    catalog,
                    statement,
                    lambda view, regions: self._view_as(catalog, view, regions, asked),
                )
        raise Unsupported(
            "a query that reads all rows cannot run in a snapshot",
            detail="It would run on Spark, at a position of its own.",
            hint="Run it with db.query, or scan its tables with this snapshot.",
        )

    def _was_filled(self, view: View) -> bool:
        """Whether a view could be read when the snapshot was made."""
        state = self._standings.get(view.id)
        return state is not None and state.filled is None

    def _select(self, catalog: Catalog, statement: Select, asked: Asked) -> Rows:
        found = catalog.find(statement.table)
        if isinstance(found, View):
            regions = regions_of(catalog.view_codecs[found.id], statement.where)
            return select_of_view(self._view_as(catalog, found, regions, asked), catalog, found, statement)
        return select(self._snapshot, catalog.codecs[found.id], statement, self._table_meta(asked))

    def _moment(self, catalog: Catalog, objects: Sequence[int], asked: Asked) -> Moment:
        """All that a query reads, where the views stood or at the position of the snapshot."""
        from viewkeeper.read.moments import Moments

        views = [catalog.views[number] for number in objects if number in catalog.views]
        apart = [view for view in views if not view.in_base]
        wanted = max([self._needed(asked), self._floor, *(self._floor_of(catalog, view) for view in apart)])
        if asked.consistency == "latest" or (asked.consistency is None and any(view.is_lazy for view in apart)):
            wanted = self._store.offset(self.position)
        for view in apart:
            state = self._standings.get(view.id)
            if state is None or state.filled is not None:
                raise self._too_early(view)
            self._offset_of(view, state)
        if self._handle.moments is None:
            self._handle.moments = Moments(self._handle)
        moment: Moment = self._handle.moments.within(catalog, objects, self._snapshot, self._standings, wanted)
        if moment.meta.position == self.position:
            # From now on in this snapshot, too.
            names = {view.name.lower(): self._store.offset(self.position) for view in apart}
            self._floors = {**self._floors, **names}
        return moment

    def _table_meta(self, asked: Asked) -> ReadMeta:
        self._needed(asked)
        return ReadMeta(path="table", position=self.position)

    def _needed(self, asked: Asked) -> int:
        """The position that is asked for explicitly; ViewBehind if the snapshot is before it."""
        if isinstance(asked.consistency, MaxLag):
            raise WrongType(
                "a snapshot stands still, and has no lag",
                hint='Read it with "any", "latest", or vk.at_least(position).',
            )
        wanted = covered(self._store, asked)
        if wanted > self._store.offset(self.position):
            raise ViewBehind(
                f"the snapshot at position {self.position} does not cover position {self._store.position(wanted)}",
                hint="Make another snapshot.",
            )
        return wanted

    def _view_as(
        self, catalog: Catalog, view: View, regions: Sequence[Region], asked: Asked
    ) -> tuple[Reader, ReadMeta]:
        """A view to read these regions of, as it stood or at the position of the snapshot."""
        if view.in_base:
            meta = self._table_meta(asked)
            meta.path = "view"
            return beside_at(self._store, catalog, view, self._snapshot), meta
        wanted = max(self._needed(asked), self._floor, self._floor_of(catalog, view))
        if asked.consistency == "latest" or (asked.consistency is None and view.is_lazy):
            wanted = self._store.offset(self.position)
        state = self._standings.get(view.id)
        if state is None or state.filled is not None:
            raise self._too_early(view)
        if wanted > state.watermark:
            from viewkeeper.read.exactly import view_exactly

            # From now on in this snapshot, too, for what moves together.
            self._floors = {**self._floors, view.name.lower(): self._store.offset(self.position)}
            return view_exactly(self._handle, catalog, view, regions, self._store.offset(self.position))
        known = self._views.get(view.id)
        if known is None:
            codec = catalog.view_codecs[view.id]
            known = self._views[view.id] = ViewAt(self._store, view, codec, self._offset_of(view, state))
        return known, ReadMeta(path="view", position=known.position)

    def _floor_of(self, catalog: Catalog, view: View) -> int:
        """How far the handle has seen a view, or one that moves with it: a snapshot has one moment of a group."""
        if not self._floors:
            return 0
        state = self._standings.get(view.id)
        together = [catalog.views[number] for number in state.objects if number in catalog.views] if state else []
        return max(self._floors.get(other.name.lower(), 0) for other in (view, *together))

    def _offset_of(self, view: View, state: GroupState) -> int:
        """Where a view stood; NotRetained if it was past the position already."""
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
            f'view "{view.name}" was not there yet, or not kept as it is now, when the snapshot was made',
            hint="Make another snapshot.",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None
