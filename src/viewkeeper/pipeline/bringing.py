"""Views above repaired ones, brought to where the repair was made: up to there, what the log told them counts."""

from __future__ import annotations

import time

from viewkeeper.errors import Outrun
from viewkeeper.model.view import View
from viewkeeper.pipeline.claiming import POLL
from viewkeeper.pipeline.comparing import find_bound
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.views.batch import Timing, batch_by_rows
from viewkeeper.views.bound import BoundViews
from viewkeeper.views.homes import STEP
from viewkeeper.views.reach import reach


def bring_above(store: EmbeddedStore, view: View, upto: int, wait: float) -> None:
    """Bring the group of a view to a position, by rows, if it reads views that are kept beside the tables.

    One that reads only others hears of a repair from these, and one that is computed anew each time needs not.
    StoreDamaged if it does not fit what it is told; Outrun if another process keeps it for longer than `wait` seconds.
    """
    deadline = time.monotonic() + wait
    while True:
        bound, one = find_bound(store, view)
        found = store.view_tables.standing(view.id)
        if found is None or one.whole.in_base or not one.is_foldable:
            return
        place = _next(store, bound, found[1], upto)
        if place <= found[1].watermark:
            return
        try:
            store.view_tables.apply(batch_by_rows(store, bound, found[0].group, found[1], place, Timing()))
        except Outrun:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL)


def _next(store: EmbeddedStore, bound: BoundViews, state: GroupState, upto: int) -> int:
    """How far the next batch of a group goes; to its watermark, or before it, if there is nothing to do."""
    read = {source for one in bound.of(state.objects) for source in one.sources}
    if state.filled is not None or state.watermark >= upto or read.isdisjoint(bound.in_base):
        return state.watermark
    upper = min(upto, store.boundary(state.watermark, STEP))
    below = [number for number in read if number not in bound.catalog.codecs and number not in state.objects]
    standings = [found[1] for found in map(store.view_tables.standing, below) if found is not None]
    if len(standings) < len(below) or any(its.filled is not None for its in standings):
        return state.watermark
    limit = min((its.watermark for its in standings), default=upper)
    return reach(store, below, state.watermark, upper, limit) if below else upper
