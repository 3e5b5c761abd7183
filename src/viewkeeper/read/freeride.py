"""The commit of a fold: where bringing up the whole group costs little, a read does it for all.

It is an apply like that of any maintainer, refused if the group has moved. Never into a group that a maintainer has
claimed: what that computes would be outrun by every read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from viewkeeper.errors import Outrun
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.model.view import View
from viewkeeper.read.background import background
from viewkeeper.read.folding import Delta, Folding
from viewkeeper.read.handle import Handle
from viewkeeper.read.pending import TooMany
from viewkeeper.read.readnotes import note_moved
from viewkeeper.store.applying import Apply
from viewkeeper.store.groups import GroupState
from viewkeeper.views.batch import Timing, compute, group_of_views
from viewkeeper.views.bound import BoundView

AT_ONCE = 300
"""Pending changes times views of the group, up to which a read brings up all of them before it answers, …"""
LATER = 2_000
"""… and up to which that is done behind it: another thread of Python would hold up the read itself."""
PATIENCE = 0.001
"""Seconds that a read waits for its commit; a maintainer may hold the lock for longer."""
LAZY_PATIENCE = 0.05
"""The same for a LAZY view, which nobody else brings up: the read does it, up to LATER, before it answers."""


@dataclass(frozen=True, slots=True)
class _Inputs:
    """What views of a group changed by, as a fold has it."""

    folding: Folding
    state: GroupState

    def first(self, one: BoundView) -> FirstChanges | None:
        return self.folding.firsts.get((one.view.id, self.state.watermark))

    def delta(self, one: BoundView, leaf: int) -> list[Weighted]:
        return self.folding.weighted(one, leaf, self.state)


def whole_batch(handle: Handle, folding: Folding, view: View, delta: Delta) -> Apply | None:
    """The batch of a view's group, from where the fold found it, if that is little; None if it is not to be moved."""
    most = LATER if view.is_lazy else min(AT_ONCE, LATER)
    if handle.read_only or _work(folding, delta.state) > most:
        return None
    try:
        return _batch(folding, delta)
    except (Outrun, TooMany):
        return None


def free_ride(handle: Handle, folding: Folding, view: View, delta: Delta) -> tuple[str, ...]:
    """Bring up the group of a view, if that is cheap and nobody else is at it; the names of the views that moved."""
    store = handle.store
    if handle.read_only or _work(folding, delta.state) > LATER:
        return ()

    def commit() -> bool:
        batch = delta.batch or _batch(folding, delta)
        if batch is None:
            return False
        store.view_tables.apply(batch)
        moved = [one.view for one in folding.bound.of(delta.state.objects)]
        note_moved(store, moved, folding.target - delta.state.watermark)
        return True

    job = background(store).give(commit)
    if job is None or delta.batch is None or not job.wait(LAZY_PATIENCE if view.is_lazy else PATIENCE):
        return ()
    return tuple(sorted(one.view.name for one in folding.bound.of(delta.state.objects)))


def _work(folding: Folding, state: GroupState) -> float:
    """Changes times views; no end of it where a maintainer is at it, or there is nothing to do."""
    claimed = state.holder and state.deadline > time.time_ns() // 1000
    if claimed or folding.target <= state.watermark:
        return float("inf")
    # Up to the head: where more is pending a maintainer may be at a batch that this would outrun.
    pending = folding.store.offset(folding.store.head()) - state.watermark
    return pending * len(folding.bound.of(state.objects))


def _batch(folding: Folding, delta: Delta) -> Apply | None:
    state = delta.state
    if not _stands_alone(folding, state, group_of_views(folding.bound, state)):
        return None
    inputs = _Inputs(folding, state)
    return compute(folding.store, folding.bound, delta.group, state, folding.target, inputs, Timing())


def _stands_alone(folding: Folding, state: GroupState, views: list[BoundView]) -> bool:
    """Whether all that the group reads of other groups stands where the fold goes to, so that it may follow."""
    for one in views:
        for number in one.sources - set(state.objects) - folding.bound.catalog.codecs.keys():
            below = folding.store.view_tables.standing(number)
            if below is None or below[1].watermark != folding.target:
                return False
    return True
