"""Which way a read of a view is answered.

view        it stands far enough
unaffected  what it lacks does not touch what is read
folded      what it lacks is added, for this read; or for all, where that is cheap
pipeline    it lacks much, and was brought up, by a maintainer or here
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from viewkeeper.errors import Outrun, ViewNotReady
from viewkeeper.model.view import View
from viewkeeper.read.consistency import Asked, lagging, needed
from viewkeeper.read.folding import Folding, views_below
from viewkeeper.read.freeride import free_ride, whole_batch
from viewkeeper.read.handle import Handle
from viewkeeper.read.handover import handed_over
from viewkeeper.read.overlay import Overlay
from viewkeeper.read.pending import TooMany
from viewkeeper.read.readnotes import note_fold, note_read
from viewkeeper.read.region import Region
from viewkeeper.read.rows import ReadMeta
from viewkeeper.read.viewat import ViewAt
from viewkeeper.read.waiting import Pause, behind, whole
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Catalog, Store
from viewkeeper.views.bound import BoundViews, bound_views

AHEAD = 1_000
"""A read that folds anyhow folds up to the head, where that is no further than so many changes."""

Served = tuple[ViewAt | Overlay, ReadMeta]


def serve(handle: Handle, catalog: Catalog, view: View, regions: Sequence[Region], asked: Asked) -> Served:
    """A view as fresh as asked, to read these regions of.

    ViewNotReady if it is not filled, ViewBehind if it does not come as far, each once the wait for it is over;
    TableDropped if it goes meanwhile.
    """
    store = handle.store
    wanted = max(needed(store, view, asked), handle.floor(view))
    state = whole(store, view, asked.wait)
    wanted = max(wanted, lagging(store, view, asked, state))
    if view.is_lazy:
        note_read(handle, view)
    if state.watermark >= wanted:
        return _as_it_is(handle, catalog, view, state, "view")
    first, pause = state.watermark, Pause(asked.timeout)
    waited = 0.0
    while True:
        try:
            reader, meta = _folded(handle, catalog, view, regions, wanted)
            meta.waited_ms = waited
            return reader, meta
        except (Outrun, ViewNotReady):
            # Whoever has moved it has brought it nearer.
            if pause.over():
                raise behind(store, view, wanted, asked.timeout, first, whole(store, view).watermark) from None
            continue
        except TooMany:
            pass
        began = time.monotonic()
        state = handed_over(handle, view, wanted, asked, pause, first)
        waited += (time.monotonic() - began) * 1000
        if state.watermark >= wanted:
            reader, meta = _as_it_is(handle, catalog, view, state, "pipeline")
            meta.waited_ms = waited
            return reader, meta


def _as_it_is(handle: Handle, catalog: Catalog, view: View, state: GroupState, path: str) -> Served:
    handle.reached(view, state.watermark)
    at = ViewAt(handle.store, view, catalog.view_codecs[view.id], state.watermark)
    return at, ReadMeta(path=path, position=at.position)


def _folded(handle: Handle, catalog: Catalog, view: View, regions: Sequence[Region], wanted: int) -> Served:
    """A view with what it lacks; TooMany if that is too much, Outrun if it moves meanwhile."""
    store = handle.store
    began = time.perf_counter()
    bound = bound_views(store)
    state = whole(store, view)
    if state.watermark >= wanted:
        return _as_it_is(handle, catalog, view, state, "view")
    folding = Folding(store, bound, target_of(store, bound, view, wanted))
    delta = folding.delta(view.id, regions, partial(whole_batch, handle, folding, view))
    codec = catalog.view_codecs[view.id]
    moved: tuple[str, ...] = ()
    if delta.affected:
        moved = free_ride(handle, folding, view, delta)
    if moved:
        at: ViewAt | Overlay = ViewAt(store, view, codec, folding.target)
    else:
        at = Overlay(store, view, codec, delta.state.watermark, delta.changes, folding.target)
        if not delta.quiet:
            handle.served(view, folding.target)
    meta = ReadMeta(path="folded" if delta.affected else "unaffected", position=at.position)
    meta.folded_changes = folding.matter if delta.affected else 0
    meta.fold_ms = (time.perf_counter() - began) * 1000
    meta.moved = moved
    if delta.affected:
        note_fold(handle, view, meta.fold_ms)
    return at, meta


def target_of(store: Store, bound: BoundViews, view: View, wanted: int) -> int:
    """Where to fold to: a transaction boundary that covers `wanted` and is not before where views below stand.

    The head, where that costs little more: the next read asks for it.
    """
    states, objects = store.view_tables.objects()
    below = [number for number in views_below(bound, view.id) if number in objects]
    standing = [states[objects[number].group].watermark for number in below]
    head = store.offset(store.head())
    least = max([wanted, *standing])
    if head - min(standing, default=0) <= AHEAD:
        return head
    return least if least >= head else store.offset(store.snapshot(store.position(least)).position)
