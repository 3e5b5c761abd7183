"""The first fill of a view: its whole input as one long delta, in steps.

A fill stands at one position from beginning to end: the view's input is read as of that position while writes go on, an
interval of its keys a step, each with weight +1. Each step is applied by itself and moves the mark of how far the fill
has come, so a killed fill goes on where it stood. The view cannot be read before the last step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from viewkeeper.errors import Outrun, ViewNotReady
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.model.types import Row
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store
from viewkeeper.store.scan import Interval
from viewkeeper.views.batch import Timing, compute
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.deltas import picker

SMALL = 50_000
"""Rows of input that are filled at once, in the process that creates the view."""
STEP_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Input:
    """The source of a view as of the position of its fill. `scan` gives its stored rows with their keys."""

    position: int
    scan: Callable[[Interval, int | None], Iterator[list[tuple[bytes, Row]]]]
    repeats: bool


def begin_fill(store: Store, bound: BoundViews, one: BoundView) -> GroupState | None:
    """Make the objects of a view, to be filled as of now; None if what it reads is not whole yet itself.

    Outrun if another process has begun.
    """
    if one.source in bound.catalog.tables:
        position = store.offset(store.head())
        transaction, committed_at = store.transaction_before(position) or (0, 0)
    else:
        states, objects = store.view_tables.objects()
        place = objects.get(one.source)
        if place is None or states[place.group].filled is not None:
            return None
        below = states[place.group]
        position, transaction, committed_at = below.watermark, below.transaction, below.committed_at
    own = one.view.objects
    return store.view_tables.create_group(one.view.id, own, position, transaction, committed_at, filled=b"")


def input_rows(store: Store, bound: BoundViews, one: BoundView) -> int:
    """How many rows a view reads, about."""
    if one.source in bound.catalog.tables:
        return store.row_count(bound.catalog.codecs[one.source])
    try:
        with store.view_tables.reading([one.source]) as reading:
            return reading.rows(one.source)
    except ViewNotReady:
        return 0


def source_input(store: Store, bound: BoundViews, one: BoundView, position: int) -> Input:
    """What a fill reads, as of its position; NotRetained if that is gone."""
    below = bound.views.get(one.source)
    if below is None:
        codec = bound.catalog.codecs[one.source]
        snapshot = store.snapshot(store.position(position))
        return Input(position, lambda interval, limit: snapshot.scan_keyed(codec, interval, limit=limit), False)
    lower = store.view_tables.as_of(bound.catalog.view_codecs[below.view.id], position)
    return Input(position, lambda interval, limit: lower.scan_keyed(interval, limit=limit), below.view.repeats)


def fill_by_rows(store: Store, bound: BoundViews, one: BoundView, steps: int | None = None) -> GroupState:
    """Fill a view that `begin_fill` has made, in this process; the state that its group has then.

    With `steps`, at most so many of them. Outrun if another process fills it too, NotRetained if it took too long.
    """
    state = store.view_tables.groups().get(one.view.id)
    if state is None:
        raise Outrun("the view was dropped while it was filled")
    source = source_input(store, bound, one, state.watermark)
    while state.filled is not None and (steps is None or steps > 0):
        state = fill_step(store, bound, one, state, source)
        steps = None if steps is None else steps - 1
    return state


def fill_step(
    store: Store, bound: BoundViews, one: BoundView, state: GroupState, source: Input, holder: str = ""
) -> GroupState:
    """One step: the next STEP_ROWS rows of the source."""
    assert state.filled is not None
    chunk = [item for part in source.scan(Interval(state.filled), STEP_ROWS) for item in part]
    reached = chunk[-1][0] + b"\0" if len(chunk) == STEP_ROWS else None
    pick = picker(one.program.plan.source.columns)

    def delta() -> Iterator[Weighted]:
        for _, row in chunk:
            yield pick(row), int(row[-1]) if source.repeats else 1  # type: ignore[arg-type]

    def first(_: BoundView) -> FirstChanges:
        return one.runner.first_changes(delta())

    fill = (state.filled, reached)
    batch = compute(store, bound, one.view.id, state, state.watermark, first, Timing(), fill, holder)
    return store.view_tables.apply(batch)
