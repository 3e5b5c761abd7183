"""A view at one position, as exactly.py gives it; but a fold that is cheap to commit is committed, for all.

So a LAZY view that only queries read does not fall behind more and more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from viewkeeper.errors import Outrun
from viewkeeper.model.view import View
from viewkeeper.read.bykey import Reader
from viewkeeper.read.exactly import view_exactly
from viewkeeper.read.folding import Folding
from viewkeeper.read.freeride import free_ride, whole_batch
from viewkeeper.read.handle import Handle
from viewkeeper.read.overlay import Overlay
from viewkeeper.read.pending import TooMany
from viewkeeper.read.readnotes import note_fold
from viewkeeper.read.region import Region
from viewkeeper.read.rows import ReadMeta
from viewkeeper.read.viewat import ViewAt
from viewkeeper.store.interface import Catalog
from viewkeeper.views.bound import bound_views


def view_riding(
    handle: Handle, catalog: Catalog, view: View, regions: Sequence[Region], target: int
) -> tuple[Reader, ReadMeta]:
    """A view to read these regions of, at a transaction boundary. Errors as of `view_exactly`."""
    store = handle.store
    began = time.perf_counter()
    folding = Folding(store, bound_views(store), target)
    try:
        delta = folding.delta(view.id, regions, partial(whole_batch, handle, folding, view))
    except (Outrun, TooMany):
        return view_exactly(handle, catalog, view, regions, target)
    codec = catalog.view_codecs[view.id]
    moved = free_ride(handle, folding, view, delta) if delta.affected else ()
    reader: Reader
    if moved:
        reader = ViewAt(store, view, codec, target)
    else:
        reader = Overlay(store, view, codec, delta.state.watermark, delta.changes, target)
        if not delta.quiet:
            # What follows on this handle must not go back behind it.
            handle.served(view, target)
    meta = ReadMeta(path="folded" if delta.affected else "unaffected", position=store.position(target), moved=moved)
    if delta.affected:
        meta.folded_changes = folding.matter
        meta.fold_ms = (time.perf_counter() - began) * 1000
        note_fold(handle, view, meta.fold_ms)
    return reader, meta
