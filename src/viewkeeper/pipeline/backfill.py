"""First fills of views: small inputs in this process, large ones on Spark, a stretch of the source's keys at a time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from time import monotonic

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.errors import Outrun
from viewkeeper.execute.encodedrows import EncodedRows, FirstChanges
from viewkeeper.pipeline.claiming import claimed
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.uncollected import uncollected
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.store.viewsnapshot import split_view
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.fill import (
    SMALL,
    STEP_ROWS,
    Filling,
    StepInputs,
    WholeInputs,
    apply_step,
    apply_whole,
    begin_fill,
    fill_step,
    from_nothing,
)
from viewkeeper.views.firstrows import leaf_sizes

GROUPED_ROWS = 4_000_000
"""Rows of input that one step of an aggregate takes: what comes back is one row a group."""
STORED_ROWS = 400_000
"""Rows of input that one step of any other view takes: what comes back is as many rows."""
CLAIM_SECONDS = 20.0
"""How long a killed fill keeps others away; a living one renews its claim."""


@dataclass(frozen=True, slots=True)
class Filled:
    """How far a fill is. `rows` are those of its input; the total is what it was when the fill began here."""

    view: str
    rows: int
    total: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> float | None:
        """Seconds to go, as it looks now."""
        return (self.total - self.rows) / self.rate if self.rate else None


Progress = Callable[[Filled], None]


def uses_spark(store: Store, bound: BoundViews, one: BoundView) -> bool:
    """Whether a fill of a view takes Spark: for a large leaf, or for many rows in all if it is computed whole."""
    sizes = leaf_sizes(store, bound, one)
    return one.partition is None and (sum(sizes) if one.is_whole else max(sizes)) > SMALL


class Filler:
    """Fills views of a store. While it fills one, it holds a claim on it, so that no other maintainer does the same."""

    def __init__(self, store: EmbeddedStore, spark: SparkSource, holder: str, progress: Progress | None = None) -> None:
        self._store = store
        self._spark = spark
        self._holder = holder
        self._progress = progress or (lambda filled: None)
        self._begins: dict[int, list[bytes]] = {}
        self._by_rows: set[int] = set()

    def fill(self, bound: BoundViews, one: BoundView) -> bool:
        """Fill a view to its end from where it stands; False if its input is not whole. Outrun if another is at it."""
        views = self._store.view_tables
        if views.group_of(one.view.id) is None and begin_fill(self._store, bound, one) is None:
            return False
        self._begins = {}
        with claimed(views, one.view, self._holder, seconds=CLAIM_SECONDS, wait=0) as group:
            self._run(bound, one, group)
        return True

    def _run(self, bound: BoundViews, one: BoundView, group: int) -> None:
        state = self._state(group)
        filling = Filling(self._store, bound, one, state.watermark)
        total = sum(filling.sizes)
        began, done = monotonic(), 0
        if one.is_whole and uses_spark(self._store, bound, one):
            with uncollected():
                self._run_whole(filling, state)
            return
        while state.filled is not None:
            mark = filling.mark(state)
            if filling.sizes[mark.leaf] <= SMALL or one.view.id in self._by_rows or one.partition is not None:
                done += min(STEP_ROWS, filling.sizes[mark.leaf])
                state = fill_step(filling, state, self._holder)
            else:
                with uncollected():
                    rows, state = self._spark_step(filling, state)
                done += rows
            done = total if state.filled is None else min(total, done)
            if state.filled is not None:
                # An apply lets go of the claim.
                self._store.view_tables.claim(group, self._holder, CLAIM_SECONDS)
                state = self._state(group)
            self._progress(Filled(one.view.name, done, total, monotonic() - began))

    def _run_whole(self, filling: Filling, state: GroupState) -> None:
        """All of a view that can only be computed whole, on Spark. One that was killed has to begin anew."""
        from viewkeeper.pipeline.wholefill import whole_fill

        began, one = monotonic(), filling.one
        state = from_nothing(filling, state)
        pieces = whole_fill(self._spark.session(), self._store, filling.bound, one, state.watermark, filling.read)
        with closing(pieces):
            for number, made in enumerate(pieces, 1):
                state = self._apply_piece(filling, state, made, b"%d" % number)
        self._apply_piece(filling, state, FirstChanges(EncodedRows([], [], []), 0), None)
        read = sum(filling.read.get(leaf, size) for leaf, size in enumerate(filling.sizes))
        self._progress(Filled(one.view.name, read, read, monotonic() - began))

    def _apply_piece(self, filling: Filling, state: GroupState, made: FirstChanges, after: bytes | None) -> GroupState:
        state = apply_whole(filling, state, WholeInputs(made=made), after, self._holder)
        if after is not None:
            # An apply lets go of the claim.
            self._store.view_tables.claim(filling.one.view.id, self._holder, CLAIM_SECONDS)
        return state

    def _state(self, group: int) -> GroupState:
        state = self._store.view_tables.groups().get(group)
        if state is None:
            raise Outrun("the view was dropped while it was filled")
        return state

    def _steps(self, filling: Filling, leaf: int) -> list[bytes]:
        """The keys of a leaf at which steps begin, ascending; the first is b""."""
        bound, source = filling.bound, filling.one.leaves[leaf].object
        keeps_rows = filling.one.is_joined or not isinstance(filling.one.program.plan.stages[0].sink, AggregateSink)
        parts = -(-filling.sizes[leaf] // (STORED_ROWS if keeps_rows else GROUPED_ROWS))
        if source in bound.catalog.codecs:
            intervals = self._store.split(bound.catalog.codecs[source], parts)
        else:
            intervals = split_view(self._store, bound.catalog.view_codecs[source], parts, ALL)
        return [interval.lower for interval in intervals]

    def _spark_step(self, filling: Filling, state: GroupState) -> tuple[int, GroupState]:
        """From where the fill stands to the next beginning of a step; about how many rows that were."""
        from viewkeeper.pipeline.bulk import bulk_fill
        from viewkeeper.pipeline.joined import joined_fill

        mark = filling.mark(state)
        if mark.leaf not in self._begins:
            self._begins[mark.leaf] = self._steps(filling, mark.leaf)
        steps = self._begins[mark.leaf]
        rows = filling.sizes[mark.leaf] // max(1, len(steps))
        reached = next((key for key in steps if key > mark.key), None)
        interval = Interval(mark.key, reached)
        one = filling.one
        spark, bound, position = self._spark.session(), filling.bound, state.watermark
        made: FirstChanges | None
        if one.is_joined:
            made = joined_fill(spark, self._store, bound, one, mark.leaf, position, interval, rows)
        else:
            made = bulk_fill(spark, self._store, bound, one, position, interval, rows)
        if made is None:
            self._by_rows.add(one.view.id)
            return 0, state
        return rows, apply_step(filling, state, StepInputs(mark.leaf, made=made), reached, self._holder)
