"""The first fill of a view: its whole input as one long delta, in steps.

A fill stands at one position from beginning to end: the view's input is read as of that position while writes go on, an
interval of its keys a step, each with weight +1. Each step is applied by itself and moves the mark of how far the fill
has come, so a killed fill goes on where it stood. The view cannot be read before the last step.

A join is filled leaf by leaf, small ones first: the rows of a later one find those of the earlier ones by lookups, as
they would if they had been written in that order. What can only be computed whole is filled in one step; where its rows
come in several, computed elsewhere, and not all of them came, it begins anew. Of a leaf of which it needs only some
rows no others are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter

from viewkeeper.delta.joinplan import WholeSource
from viewkeeper.errors import Outrun
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.model.picking import picker
from viewkeeper.model.types import Row
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store
from viewkeeper.store.modes import belongs_beside
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.views.batch import Inputs, Timing, compute
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.fillmark import Mark, format_mark, parse_mark
from viewkeeper.views.firstrows import leaf_sizes, stored_as_of
from viewkeeper.views.neededrows import needed_rows, with_weights
from viewkeeper.views.reach import common_place

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
    """What a fill reads, leaf by leaf; an input is opened when it is needed. NotRetained if its position is gone.

    `read`: by leaf, how many stored rows have been read.
    """

    store: Store
    bound: BoundViews
    one: BoundView
    position: int
    opened: dict[int, Input] = field(default_factory=dict)
    read: dict[int, int] = field(default_factory=dict)

    def input(self, leaf: int) -> Input:
        if leaf not in self.opened:
            self.opened[leaf] = leaf_input(self.store, self.bound, self.one, leaf, self.position)
        return self.opened[leaf]

    @cached_property
    def sizes(self) -> list[int]:
        """The rows that are read of each leaf, about."""
        return leaf_sizes(self.store, self.bound, self.one)

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
class WholeInputs:
    """All rows of all leaves, or rows that were computed from them."""

    rows: list[list[Weighted]] = field(default_factory=list)
    made: FirstChanges | None = None

    def first(self, _: BoundView) -> FirstChanges | None:
        return self.made

    def delta(self, _: BoundView, leaf: int) -> list[Weighted]:
        return self.rows[leaf]


@dataclass(frozen=True, slots=True)
class StepInputs:
    """A step as the inputs of a batch: whole rows of one leaf with weights, or what the first stage makes of them.

    `columns` are those of the rows that the view reads.
    """

    leaf: int
    rows: Sequence[tuple[Row, int]] = ()
    columns: tuple[int, ...] = ()
    made: FirstChanges | None = None

    def first(self, _: BoundView) -> FirstChanges | None:
        return self.made

    def delta(self, one: BoundView, leaf: int) -> list[Weighted]:
        if leaf != self.leaf:
            return []
        pick = picker(self.columns)
        return [(pick(row), weight) for row, weight in one.of_part(self.rows, itemgetter(0))]


def begin_fill(store: Store, bound: BoundViews, one: BoundView) -> GroupState | None:
    """Make the objects of a view, to be filled as of now; None if what it reads is not ready for it.

    That is a view below which is not whole, or views below that have never stood at one watermark. Outrun if another
    process has begun.
    """
    below = [number for number in one.sources if number not in bound.catalog.codecs]
    if any(belongs_beside(bound.catalog, bound.catalog.views[number]) for number in below):
        # It will be kept beside the tables, and from then on be read from the log.
        return None
    if not below:
        position = store.offset(store.head())
        transaction, committed_at = store.transaction_before(position) or (0, 0)
    else:
        place = common_place(store, below)
        known = None if place is None else _last_before(store, below, place)
        if place is None or known is None:
            return None
        position, (transaction, committed_at) = place, known
    own = one.whole.objects
    return store.view_tables.create_group(one.view.id, own, position, transaction, committed_at, filled=b"")


def _last_before(store: Store, views: list[int], place: int) -> tuple[int, int] | None:
    """The transaction that ends at a place; the log may begin there, and then a view that stands there knows it."""
    for found in map(store.view_tables.standing, views):
        if found is not None and found[1].watermark == place:
            return found[1].transaction, found[1].committed_at
    return store.transaction_before(place)


def input_rows(store: Store, bound: BoundViews, one: BoundView) -> int:
    """How many rows a view reads, about; of a table that it reads twice, twice."""
    return sum(leaf_sizes(store, bound, one))


def leaf_input(store: Store, bound: BoundViews, one: BoundView, leaf: int, position: int) -> Input:
    """What a fill reads of one leaf, as of its position; NotRetained if that is gone."""
    source = one.leaves[leaf].object
    _, scan = stored_as_of(store, bound, source, position)
    return Input(position, lambda interval, limit: scan(interval, limit, False), bound.repeats(source))


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
    """One step: the next STEP_ROWS rows of the leaf that is being read; all rows if the view is computed whole."""
    if filling.one.is_whole:
        given = [_picked(filling, leaf, rows) for leaf, rows in enumerate(_needed(filling))]
        return apply_whole(filling, from_nothing(filling, state), WholeInputs(given), None, holder)
    mark = filling.mark(state)
    rows, last = _weighed(filling, mark.leaf, Interval(mark.key), STEP_ROWS)
    reached = last + b"\0" if len(rows) == STEP_ROWS else None
    inputs = StepInputs(mark.leaf, rows, filling.one.leaves[mark.leaf].columns)
    return apply_step(filling, state, inputs, reached, holder)


def _weighed(filling: Filling, leaf: int, interval: Interval, limit: int | None) -> tuple[list[Weighted], bytes]:
    """Rows of a leaf with their weights, and the key of the last."""
    source = filling.input(leaf)
    rows: list[Weighted] = []
    last = b""
    for part in source.scan(interval, limit):
        rows += with_weights(part, source.repeats)
        last = part[-1][0] if part else last
    filling.read[leaf] = filling.read.get(leaf, 0) + len(rows)
    return rows, last


def _needed(filling: Filling) -> list[list[Weighted]]:
    """The rows of all leaves of a view that is computed whole, as far as they are needed, with their weights."""
    source = filling.one.program.plan.source
    assert isinstance(source, WholeSource)

    def every(leaf: int) -> list[Weighted]:
        return _weighed(filling, leaf, ALL, None)[0]

    found = needed_rows(filling.store, filling.bound, source.relation, filling.position, every)
    filling.read.update({leaf: len(rows) for leaf, rows in enumerate(found)})
    return found


def _picked(filling: Filling, leaf: int, rows: list[Weighted]) -> list[Weighted]:
    """Rows of a leaf, as its view reads them."""
    pick = picker(filling.one.leaves[leaf].columns)
    return [(pick(row), weight) for row, weight in rows]


def from_nothing(filling: Filling, state: GroupState) -> GroupState:
    """The state of a fill that begins anew, with empty tables, unless nothing has come yet."""
    if state.filled == b"":
        return state
    return filling.store.view_tables.empty(filling.one.view.id, state)


def apply_whole(
    filling: Filling, state: GroupState, inputs: WholeInputs, after: bytes | None, holder: str = ""
) -> GroupState:
    """Apply rows of a view that is computed whole; `after` is the mark then, None if they were the last ones."""
    assert state.filled is not None
    return _apply(filling, state, inputs, (state.filled, after), holder)


def apply_step(
    filling: Filling, state: GroupState, inputs: StepInputs, reached: bytes | None, holder: str = ""
) -> GroupState:
    """Apply a step that came to a key of its leaf, or to its end; the state of the group then."""
    assert state.filled is not None
    return _apply(filling, state, inputs, (state.filled, filling.behind(filling.mark(state), reached)), holder)


def _apply(
    filling: Filling, state: GroupState, inputs: Inputs, fill: tuple[bytes, bytes | None], holder: str
) -> GroupState:
    store, bound, group = filling.store, filling.bound, filling.one.view.id
    batch = compute(store, bound, group, state, state.watermark, inputs, Timing(), fill, holder)
    return store.view_tables.apply(batch)
