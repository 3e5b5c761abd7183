"""Which position a query is answered at.

    any         where the views stand: tables as they were there. Where they stand apart, where the foremost stands,
                the others folded up to there; if that is not possible, where the last one stands, undoing the rest
    otherwise   the same, if that is far enough; else as of now, each view folded as far as it is read

A view has stood only where an apply ended. One that never stood where another one does is folded back to there; and if
the log no longer tells how, the query is answered as of now.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from viewkeeper.errors import Outrun, ViewBehind
from viewkeeper.model.view import View
from viewkeeper.read.beside import beside_at
from viewkeeper.read.bykey import Reader
from viewkeeper.read.consistency import ANY, Asked, covered, lagging, needed
from viewkeeper.read.handle import Handle
from viewkeeper.read.moment import Moment, Regions
from viewkeeper.read.rows import ReadMeta
from viewkeeper.read.viewat import ViewAt
from viewkeeper.read.waiting import Pause, whole
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Catalog, Snapshot

KEPT = 2
"""Positions of the tables that are kept at hand: what was to be undone for one query need not be for the next."""


class Moments:
    """The moments of the queries of one handle. Thread-safe."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._store = handle.store
        self._past: dict[int, Snapshot] = {}
        self._lock = threading.Lock()

    def now(self, catalog: Catalog, numbers: Iterable[int], asked: Asked = ANY) -> Moment:
        """Tables and views by their ids, as fresh as asked.

        ViewNotReady if one is not filled once the wait for it is over, ViewBehind if one does not come as far.
        """
        store, handle = self._store, self._handle
        numbers = list(numbers)
        views = _apart(catalog, numbers)
        if not views:
            covered(store, asked)
            return self._at(catalog, store.snapshot())
        wanted = 0
        if asked != ANY or handle.floors or any(view.is_lazy for view in views):
            wanted = max(max(needed(store, view, asked), handle.floor(view)) for view in views)
        states = [whole(store, view, asked.wait) for view in views]
        for view, state in zip(views, states, strict=True):
            wanted = max(wanted, lagging(store, view, asked, state))
            if view.is_lazy:
                from viewkeeper.read.readnotes import note_read

                note_read(handle, view)
        watermarks = [state.watermark for state in states]

        def ahead() -> Moment:
            return self._ahead(catalog, views, max(wanted, *watermarks), asked)

        if min(watermarks) < wanted:
            return ahead()
        for view, watermark in zip(views, watermarks, strict=True):
            handle.reached(view, watermark)
        furthest = max(watermarks)
        if any(number in catalog.views and catalog.views[number].in_base for number in numbers):
            furthest = store.offset(store.head())
        if furthest == min(watermarks):
            return self._standing(catalog, furthest, ahead)
        # Through one handle no view goes back, and each may have been read where it stands.
        moment = self._exactly(catalog, self._tables(furthest), asked)
        moment.again = lambda: self._standing(catalog, min(watermarks), ahead)
        return moment

    def within(
        self,
        catalog: Catalog,
        numbers: Iterable[int],
        snapshot: Snapshot,
        standings: Mapping[int, GroupState],
        wanted: int = 0,
    ) -> Moment:
        """The same for a snapshot: where the views stood when it was made, at its own position if that is before
        `wanted`. The groups of all views that are not kept beside the tables are in `standings`, and filled.
        """
        watermarks = [standings[view.id].watermark for view in _apart(catalog, numbers)]
        if not watermarks:
            return self._at(catalog, snapshot)
        end = self._store.offset(snapshot.position)

        def exactly() -> Moment:
            return self._exactly(catalog, snapshot)

        if wanted <= min(watermarks) <= end:
            return self._standing(catalog, min(watermarks), exactly)
        return exactly()

    def _at(self, catalog: Catalog, snapshot: Snapshot) -> Moment:
        """Tables, and views that are kept beside them."""
        return Moment(
            meta=ReadMeta(path="table", position=snapshot.position),
            tables=lambda: snapshot,
            view_as=lambda view, _: (self._beside(catalog, view, snapshot), None),
        )

    def _standing(self, catalog: Catalog, offset: int, otherwise: Callable[[], Moment]) -> Moment:
        """Everything where a view stands, or has stood."""
        store = self._store

        def view_as(view: View, _: Regions) -> tuple[Reader, None]:
            if view.in_base:
                return self._beside(catalog, view, self._tables(offset)), None
            return ViewAt(store, view, catalog.view_codecs[view.id], offset), None

        def again() -> Moment:
            moment = self._exactly(catalog, self._tables(offset))
            moment.again = otherwise
            return moment

        meta = ReadMeta(path="table", position=store.position(offset))
        return Moment(meta=meta, tables=lambda: self._tables(offset), view_as=view_as, again=again)

    def _exactly(self, catalog: Catalog, snapshot: Snapshot, asked: Asked | None = None) -> Moment:
        """Everything at the position of a snapshot, whatever stands where; with `asked`, views may be waited for."""
        store, handle = self._store, self._handle
        target = store.offset(snapshot.position)

        def view_as(view: View, regions: Regions) -> tuple[Reader, ReadMeta | None]:
            if view.in_base:
                return self._beside(catalog, view, snapshot), None
            # What folds rows takes as long to import as everything else together.
            from viewkeeper.read.exactly import view_exactly
            from viewkeeper.read.riding import view_riding

            if asked is None:
                return view_exactly(handle, catalog, view, regions(), target)
            try:
                return view_riding(handle, catalog, view, regions(), target)
            except ViewBehind:
                if view.mode == "PERIODIC":
                    raise
            waited = self._bring_up(view, target, asked)
            reader, meta = view_exactly(handle, catalog, view, regions(), target)
            meta.path, meta.waited_ms = "pipeline", waited
            return reader, meta

        meta = ReadMeta(path="table", position=snapshot.position)
        return Moment(meta=meta, tables=lambda: snapshot, view_as=view_as)

    def _ahead(self, catalog: Catalog, views: Sequence[View], wanted: int, asked: Asked) -> Moment:
        """Everything as of now; or where a PERIODIC view has been brought to, for that cannot be folded."""
        store = self._store
        waited, place = 0.0, None
        for view in views:
            if view.mode == "PERIODIC" and not self._is_quiet(view):
                waited += self._bring_up(view, wanted, asked)
                place = store.position(whole(store, view).watermark)
        moment = self._exactly(catalog, store.snapshot(place), asked)
        if place is not None:
            moment.meta.path, moment.meta.waited_ms = "pipeline", waited
        return moment

    def _is_quiet(self, view: View) -> bool:
        """Whether nothing is pending of what a PERIODIC view reads."""
        from viewkeeper.read.folding import Folding
        from viewkeeper.read.pending import TooMany
        from viewkeeper.views.bound import bound_views

        store = self._store
        try:
            return Folding(store, bound_views(store), store.offset(store.head())).delta(view.id).quiet
        except (Outrun, TooMany):
            return False

    def _bring_up(self, view: View, wanted: int, asked: Asked) -> float:
        """Milliseconds that it took; ViewBehind if nobody does it, or not in time."""
        from viewkeeper.read.handover import handed_over

        began = time.monotonic()
        first = whole(self._store, view).watermark
        handed_over(self._handle, view, wanted, asked, Pause(asked.timeout), first)
        return (time.monotonic() - began) * 1000

    def _beside(self, catalog: Catalog, view: View, snapshot: Snapshot) -> Reader:
        found = beside_at(self._store, catalog, view, snapshot)
        # As it is, where it is stored as a table is: that can look up many keys at once.
        return found if view.parts or view.repeats else snapshot

    def _tables(self, offset: int) -> Snapshot:
        with self._lock:
            found = self._past.get(offset)
        if found is None:
            found = self._store.snapshot(self._store.position(offset))
            with self._lock:
                self._past[offset] = found
                while len(self._past) > KEPT:
                    del self._past[next(iter(self._past))]
        return found


def _apart(catalog: Catalog, numbers: Iterable[int]) -> list[View]:
    """The views among tables and views that are not kept beside the tables, and may lag."""
    found = (catalog.views.get(number) for number in numbers)
    return [view for view in found if view is not None and not view.in_base]
