"""A view at one position, neither before nor behind it: for snapshots, and for transactions that see their own writes.

Where the view has gone past that position meanwhile it is folded backwards.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from viewkeeper.errors import Outrun, ViewBehind
from viewkeeper.model.view import View
from viewkeeper.read.consistency import Asked
from viewkeeper.read.folding import Delta, Folding
from viewkeeper.read.handle import Handle
from viewkeeper.read.handover import handed_over, is_kept
from viewkeeper.read.overlay import Overlay
from viewkeeper.read.pending import TooMany
from viewkeeper.read.readnotes import note_fold
from viewkeeper.read.region import Region
from viewkeeper.read.rows import ReadMeta
from viewkeeper.read.waiting import Pause, dropped, whole
from viewkeeper.store.interface import Catalog, Store
from viewkeeper.views.bound import bound_views
from viewkeeper.views.deltas import Pair

TRIES = 50
"""Times that a fold is begun again because a group has moved."""


def view_exactly(
    handle: Handle,
    catalog: Catalog,
    view: View,
    regions: Sequence[Region],
    target: int,
    own: Mapping[int, list[Pair]] | None = None,
) -> tuple[Overlay, ReadMeta]:
    """A view to read these regions of, at a transaction boundary, with what only the reader has written behind it.

    ViewBehind if the view is so far from there that a read cannot fold it, NotRetained if the log has lost what lies
    between, TableDropped if the view goes meanwhile.
    """
    store = handle.store
    began = time.perf_counter()
    folding, delta = _delta(handle, view, regions, target, own or {})
    codec = catalog.view_codecs[view.id]
    at = Overlay(store, view, codec, delta.state.watermark, delta.changes, target)
    meta = ReadMeta(path="folded" if delta.affected else "unaffected", position=at.position)
    meta.folded_changes = folding.matter if delta.affected else 0
    meta.fold_ms = (time.perf_counter() - began) * 1000
    if delta.affected:
        note_fold(handle, view, meta.fold_ms)
    if not own and not delta.quiet:
        # What follows on this handle must not go back behind it.
        handle.served(view, target)
    return at, meta


def _delta(
    handle: Handle, view: View, regions: Sequence[Region], target: int, own: Mapping[int, list[Pair]]
) -> tuple[Folding, Delta]:
    store = handle.store
    tries = 1
    is_handed_over = False
    while True:
        folding = Folding(store, bound_views(store), target, own)
        try:
            return folding, folding.delta(view.id, regions)
        except Outrun:
            if view.id not in store.catalog().views:
                raise dropped(view) from None
            if tries == TRIES:
                raise
        except TooMany:
            if is_handed_over or not is_kept(store, whole(store, view)):
                raise _too_far(store, view, target) from None
            # The maintainer commits what it does on its own: it stays, whatever becomes of this read.
            is_handed_over = True
            asked = Asked()
            handed_over(handle, view, target, asked, Pause(asked.timeout), whole(store, view).watermark)
        tries += 1


def _too_far(store: Store, view: View, target: int) -> ViewBehind:
    detail = "More changes of what it reads lie between than a read takes upon itself, and no maintainer runs."
    if view.mode == "PERIODIC":
        detail = "It is computed anew from time to time, and not by changes."
    return ViewBehind(
        f'view "{view.name}" is too far from position {store.position(target)} to be read there',
        detail=detail,
        hint="Bring it up with db.maintain() and begin again, or read it outside of the transaction or snapshot.",
    )
