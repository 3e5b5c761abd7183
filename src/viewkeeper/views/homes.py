"""Views that change where they are kept: SYNC and LOCAL ones beside the tables, all others in the views environment.

A SYNC view is filled as any other view is, and brought to the head as one. Then its rows are copied beside the tables
while writes go on, what came meanwhile is added in small batches, and the last few changes with all writes held: from
there on it follows in the transaction of each write. Nothing is ever computed from base rows again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from viewkeeper.errors import Outrun
from viewkeeper.model.view import View
from viewkeeper.store import beside, insync
from viewkeeper.store.applying import Apply, Counted
from viewkeeper.store.catalog import Catalog
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.store.modes import belongs_beside
from viewkeeper.views.batch import LogInputs, Timing, batch_by_rows, compute
from viewkeeper.views.bound import BoundView, BoundViews, bind_again, bound_views
from viewkeeper.views.deltas import table_pairs
from viewkeeper.views.together import put_together

STEP = 5_000
"""Changes that are added to a copy in one step."""
HELD = 500
"""Changes that may be left when writes are held for the last step, …"""
STEPS = 50
"""… unless they come as fast as they are added, for so many steps: then it is …"""
MOST_HELD = 20_000
"""… so many at most; about as many can be added in half a second."""
CLAIM = 60.0
Last = tuple[Sequence[Apply], Mapping[int, Counted], Iterable[int]]
COPYING = b"copy"
"""Where the fill of a group stands that takes over the rows of a view beside the tables."""


def settle_homes(store: EmbeddedStore) -> bool:
    """Move the views that are not kept where their mode says, as far as they are ready; whether any moved.

    Higher ones first out of the tables, lower ones first to them: a view beside the tables reads only what is there.
    """
    catalog = store.catalog()
    views = [view for _, view in sorted(catalog.views.items())]
    leaving = [view for view in reversed(views) if view.in_base and not _stays(catalog, view)]
    coming = [view for view in views if not view.in_base and belongs_beside(catalog, view)]
    done = False
    for view, move in [*((view, demote) for view in leaving), *((view, promote) for view in coming)]:
        try:
            done = move(store, view) or done
        except Outrun:
            # A maintainer has taken it on meanwhile; the next round tries again.
            continue
    return done


def _stays(catalog: Catalog, view: View) -> bool:
    """Whether a view that is kept beside the tables stays as it is; one that is no longer LOCAL is put together."""
    return belongs_beside(catalog, view) and (view.mode == "LOCAL" or not view.parts)


def promote(store: EmbeddedStore, view: View) -> bool:
    """Copy a whole view beside the tables and let it follow there; False if it is not ready for that yet.

    Not before what it reads is in the log. Outrun if somebody else moves it.
    """
    bound = bound_views(store)
    found = store.view_tables.standing(view.id)
    if found is None or found[1].filled is not None or view.id not in bound.views:
        return False
    if any(source not in bound.catalog.codecs for source in view.sources) or set(found[1].objects) != {*view.objects}:
        return False
    group = found[0].group
    if _far_behind(store, bound, view, MOST_HELD):
        return False
    holder = f"beside-{os.getpid()}"
    if not store.view_tables.claim(group, holder, CLAIM):
        return False
    try:
        state = _copied(store, view)
        for _ in range(STEPS):
            if _left(store, state) <= HELD:
                break
            store.view_tables.claim(group, holder, CLAIM)
            upper = store.boundary(state.watermark, STEP)
            batch = replace(batch_by_rows(store, bound, group, state, upper, Timing()), holder=holder)
            state = store.view_tables.apply(batch)
            beside.catch_up_beside(store, batch)
        return _left(store, state) <= MOST_HELD and _flip_beside(store, view, group, state, holder)
    finally:
        store.view_tables.release(group, holder)


def _left(store: EmbeddedStore, state: GroupState) -> int:
    return store.offset(store.head()) - state.watermark


def _copied(store: EmbeddedStore, view: View) -> GroupState:
    """Copy what is stored of a view; the state of its group that the copy has."""
    beside.open_beside(store, view)
    codec = store.catalog().view_codecs[view.id]
    # One transaction for all of it: its tables have to be of one moment.
    with store.view_tables.reading(view.objects) as reading:
        state = reading.group(view.id)
        for number in view.objects:
            beside.copy_beside(store, view, codec, number, iter(reading.stored(number)))
    return state


def _flip_beside(store: EmbeddedStore, view: View, group: int, state: GroupState, holder: str) -> bool:
    def last() -> Last | None:
        bound = bound_views(store)
        found = store.view_tables.standing(view.id)
        if found is None or (found[1].generation, found[1].watermark) != (state.generation, state.watermark):
            return None
        batches: list[Apply] = []
        head = store.offset(store.head())
        if state.watermark < head:
            batch = batch_by_rows(store, bound, group, found[1], head, Timing())
            batches.append(replace(batch, holder=holder))
            store.view_tables.apply(batches[0])
        above = _bring_above(store, bound, view, head)
        if above is None:
            return None
        _, places = store.view_tables.objects()
        counted = {
            number: Counted(errors=place.errors, late=place.late, extra=place.extra)
            for number in view.tables
            if (place := places.get(number)) is not None
        }
        return batches, counted, above

    return beside.flip(store, lambda head: replace(view, in_base=True, since=head), last=last)


def _groups_above(store: EmbeddedStore, bound: BoundViews, view: View) -> dict[int, GroupState]:
    """The groups of other views that read a view, as they stand."""
    states, objects = store.view_tables.objects()
    reading = {
        objects[one.view.id].group for one in bound.views.values() if view.id in one.sources and one.view.id in objects
    }
    return {group: states[group] for group in reading if view.id not in states[group].objects}


def _far_behind(store: EmbeddedStore, bound: BoundViews, view: View, most: int) -> bool:
    """Whether a group that reads a view is too far behind to be brought up while writes are held."""
    head = store.offset(store.head())
    above = _groups_above(store, bound, view).values()
    return any(state.filled is not None or head - state.watermark > most for state in above)


def _bring_above(store: EmbeddedStore, bound: BoundViews, view: View, head: int) -> list[int] | None:
    """Bring the groups that read a view to the head: behind it they find its changes elsewhere. None if one is not."""
    above = _groups_above(store, bound, view)
    for group, state in above.items():
        if state.filled is not None:
            return None
        if state.watermark < head:
            store.view_tables.apply(batch_by_rows(store, bound, group, state, head, Timing()))
    return list(above)


def lags_far(store: EmbeddedStore, view: View) -> bool:
    """Whether a view is not whole, or too far behind to be brought to the head while writes are held."""
    found = store.view_tables.standing(view.id)
    if found is None or found[1].filled is not None:
        return True
    return _left(store, found[1]) > MOST_HELD


def bring_to_head(store: EmbeddedStore, views: Sequence[View]) -> None:
    """Bring the groups of views to the head, lower ones first; writes are held meanwhile. Outrun if one moves."""
    bound = bound_views(store)
    head = store.offset(store.head())
    for view in views:
        found = store.view_tables.standing(view.id)
        if found is not None and found[1].filled is None and found[1].watermark < head:
            batch = batch_by_rows(store, bound, found[0].group, found[1], head, Timing())
            store.view_tables.apply(batch)


def demote(store: EmbeddedStore, view: View) -> bool:
    """Copy a view from beside the tables into the views environment, and let maintenance keep it there.

    False if another process is at it, or if it and what reads it could not be brought to the head: it stays.
    """
    holder = f"beside-{os.getpid()}"
    if not _begin_back(store, view, holder):
        return False
    state = store.view_tables.groups()[view.id]
    for _ in range(STEPS):
        if _left(store, state) <= HELD:
            break
        store.view_tables.claim(view.id, holder, CLAIM)
        upper = store.boundary(state.watermark, STEP)
        state = store.view_tables.apply(_copy_batch(store, view, state, upper, holder, through=False))
    if _left(store, state) > MOST_HELD:
        return False

    def last() -> Last | None:
        head = store.offset(store.head())
        found = store.view_tables.groups().get(view.id)
        if found is None or _far_behind(store, bound_views(store), view, MOST_HELD):
            return None
        store.view_tables.apply(_copy_batch(store, view, found, head, holder, through=True))
        store.view_tables.begin_feed(view.id, head)
        above = _bring_above(store, bound_views(store), view, head)
        return None if above is None else ([], {}, [*above, view.id])

    return beside.flip(store, lambda _: replace(view, in_base=False, since=0, parts=()), last=last)


def _begin_back(store: EmbeddedStore, view: View, holder: str) -> bool:
    """Copy the rows; False if another process is doing so."""
    found = store.view_tables.standing(view.id)
    if found is not None:
        if not store.view_tables.claim(found[0].group, holder, CLAIM):
            return False
        # Whoever began it has died.
        store.view_tables.drop_objects(view.objects)
    own = replace(view, parts=()).objects
    txn, catalog = store.begin_read()
    with txn:
        reading = insync.reading(txn, catalog, view.objects)
        position, transaction, committed_at = insync.log_end(txn, catalog)
        counted = [insync.counters(txn, catalog, number) for number in view.tables]
        store.view_tables.create_group(view.id, own, position, transaction, committed_at, filled=COPYING)
        tables = put_together(reading, view, _whole(catalog, view).program)
        if not view.parts:
            tables = ((number, reading.stored(number)) for number in own)
        total = Counted(
            errors=sum(one.errors for one in counted),
            late=sum(one.late for one in counted),
            extra=sum(one.extra for one in counted),
        )
        for number, rows in tables:
            store.view_tables.claim(view.id, holder, CLAIM)
            beside.copy_back(store, number, iter(rows), total if number == view.id else None)
    return True


def _whole(catalog: Catalog, view: View) -> BoundView:
    """A view as it is bound when it is not kept apart for each partition."""
    return bind_again(catalog, replace(view, parts=()))


def _copy_batch(
    store: EmbeddedStore, view: View, state: GroupState, upper: int, holder: str, *, through: bool
) -> Apply:
    """What a copy that nobody reads yet has to be changed by."""
    bound = bound_views(store)
    one = _whole(bound.catalog, view) if view.parts else bound.in_base[view.id]
    bound = replace(bound, views={**bound.views, view.id: one})
    pairs = table_pairs(store, frozenset(view.sources), state.watermark, upper)
    inputs = LogInputs(store, bound, state.watermark, upper, pairs)
    fill = (COPYING, None if through else COPYING)
    return compute(store, bound, view.id, state, upper, inputs, Timing(), fill, holder)
