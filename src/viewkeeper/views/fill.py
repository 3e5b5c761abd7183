"""The first fill of a view: its whole input as one long delta, in steps.

A fill stands at one position from beginning to end: the view's input is read as of that position while writes go on, an
interval of its keys a step, each with weight +1. Each step is applied by itself and moves the mark of how far the fill
has come, so a killed fill goes on where it stood. The view cannot be read before the last step.

A join is filled leaf by leaf, small ones first: the rows of a later one find those of the earlier ones by lookups, as
they would if they had been written in that order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from viewkeeper.errors import Outrun, ViewNotReady
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.model.picking import picker
from viewkeeper.model.types import Row
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store
from viewkeeper.store.scan import Interval
from viewkeeper.views.batch import Timing, compute
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.fillmark import Mark, format_mark, parse_mark

SMALL = 50_000
"""Rows of input that are filled at once, in the process that creates the view."""
STEP_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Input:
    """A leaf of a view as of the position of its fill. `scan` gives its stored rows with their keys."""

    position: int
    scan: Callable[[Interval, int | None], Iterator[list[tuple[bytes, Row]]]]
    repeats: bool


@dataclass(frozen=True)
class Filling:
    """What a fill reads, leaf by leaf; an input is opened when it is needed. NotRetained if its position is gone."""

    store: Store
    bound: BoundViews
    one: BoundView
    position: int
    opened: dict[int, Input] = field(default_factory=dict)

    def input(self, leaf: int) -> Input:
        if leaf not in self.opened:
            self.opened[leaf] = leaf_input(self.store, self.bound, self.one, leaf, self.position)
        return self.opened[leaf]

    @cached_property
    def sizes(self) -> list[int]:
        """The rows of each leaf, about."""
        return [leaf_rows(self.store, self.bound, leaf.object) for leaf in self.one.leaves]

    def mark(self, state: GroupState) -> Mark:
        """Where a fill stands that is not through."""
        assert state.filled is not None
        return parse_mark(state.filled, len(self.sizes), self._smallest(frozenset()))

    def behind(self, mark: Mark, reached: bytes | None) -> bytes | None:
        """The mark after a step that came to a key of the leaf, or to its end; None if that was the last leaf."""
        if reached is not None:
            return format_mark(mark.at(reached), len(self.sizes))
        done = mark.done | {mark.leaf}
        if len(done) == len(self.sizes):
            return None
        return format_mark(Mark(done, self._smallest(done), b""), len(self.sizes))

    def _smallest(self, done: frozenset[int]) -> int:
        return min((leaf for leaf in range(len(self.sizes)) if leaf not in done), key=lambda leaf: self.sizes[leaf])


@dataclass(frozen=True, slots=True)
class StepInputs:
    """A step as the inputs of a batch: rows of one leaf, or what the first stage makes of them."""

    leaf: int
    rows: list[Weighted] = field(default_factory=list)
    made: FirstChanges | None = None

    def first(self, _: BoundView) -> FirstChanges | None:
        return self.made

    def delta(self, _: BoundView, leaf: int) -> list[Weighted]:
        return self.rows if leaf == self.leaf else []


def begin_fill(store: Store, bound: BoundViews, one: BoundView) -> GroupState | None:
    """Make the objects of a view, to be filled as of now; None if what it reads is not ready for it.

    That is a view below which is not whole, or views below that do not stand at one watermark. Outrun if another
    process has begun.
    """
    below = [number for number in one.sources if number not in bound.catalog.tables]
    if not below:
        position = store.offset(store.head())
        transaction, committed_at = store.transaction_before(position) or (0, 0)
    else:
        states, objects = store.view_tables.objects()
        found = [states[objects[number].group] for number in below if number in objects]
        if len(found) < len(below) or any(state.filled is not None for state in found):
            return None
        if len({state.watermark for state in found}) > 1:
            return None
        position, transaction, committed_at = found[0].watermark, found[0].transaction, found[0].committed_at
    own = one.view.objects
    return store.view_tables.create_group(one.view.id, own, position, transaction, committed_at, filled=b"")


def input_rows(store: Store, bound: BoundViews, one: BoundView) -> int:
    """How many rows a view reads, about; of a table that it reads twice, twice."""
    return sum(leaf_rows(store, bound, leaf.object) for leaf in one.leaves)


def leaf_rows(store: Store, bound: BoundViews, source: int) -> int:
    """How many rows a table or view has, about."""
    if source in bound.catalog.tables:
        return store.row_count(bound.catalog.codecs[source])
    try:
        with store.view_tables.reading([source]) as reading:
            return reading.rows(source)
    except ViewNotReady:
        return 0


def leaf_input(store: Store, bound: BoundViews, one: BoundView, leaf: int, position: int) -> Input:
    """What a fill reads of one leaf, as of its position; NotRetained if that is gone."""
    source = one.leaves[leaf].object
    below = bound.views.get(source)
    if below is None:
        codec = bound.catalog.codecs[source]
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
    filling = Filling(store, bound, one, state.watermark)
    while state.filled is not None and (steps is None or steps > 0):
        state = fill_step(filling, state)
        steps = None if steps is None else steps - 1
    return state


def fill_step(filling: Filling, state: GroupState, holder: str = "") -> GroupState:
    """One step: the next STEP_ROWS rows of the leaf that is being read."""
    mark = filling.mark(state)
    source = filling.input(mark.leaf)
    chunk = [item for part in source.scan(Interval(mark.key), STEP_ROWS) for item in part]
    reached = chunk[-1][0] + b"\0" if len(chunk) == STEP_ROWS else None
    pick = picker(filling.one.leaves[mark.leaf].columns)
    rows = [(pick(row), int(row[-1]) if source.repeats else 1) for _, row in chunk]  # type: ignore[arg-type]
    return apply_step(filling, state, StepInputs(mark.leaf, rows), reached, holder)


def apply_step(
    filling: Filling, state: GroupState, inputs: StepInputs, reached: bytes | None, holder: str = ""
) -> GroupState:
    """Apply a step that came to a key of its leaf, or to its end; the state of the group then."""
    assert state.filled is not None
    fill = (state.filled, filling.behind(filling.mark(state), reached))
    store, bound, group = filling.store, filling.bound, filling.one.view.id
    batch = compute(store, bound, group, state, state.watermark, inputs, Timing(), fill, holder)
    return store.view_tables.apply(batch)
