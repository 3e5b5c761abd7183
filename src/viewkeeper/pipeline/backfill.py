"""First fills of views: small inputs in this process, large ones on Spark, a stretch of the source's keys at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.errors import Outrun
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.pipeline.claiming import claimed
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.uncollected import uncollected
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.store.viewsnapshot import split_view
from viewkeeper.views.batch import Timing, compute
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.fill import SMALL, begin_fill, fill_step, input_rows, source_input

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


class Filler:
    """Fills views of a store. While it fills one, it holds a claim on it, so that no other maintainer does the same."""

    def __init__(self, store: EmbeddedStore, spark: SparkSource, holder: str, progress: Progress | None = None) -> None:
        self._store = store
        self._spark = spark
        self._holder = holder
        self._progress = progress or (lambda filled: None)

    def fill(self, bound: BoundViews, one: BoundView) -> bool:
        """Fill a view to its end from where it stands; False if its input is not whole. Outrun if another is at it."""
        views = self._store.view_tables
        if views.group_of(one.view.id) is None and begin_fill(self._store, bound, one) is None:
            return False
        with claimed(views, one.view, self._holder, seconds=CLAIM_SECONDS, wait=0) as group:
            self._run(bound, one, group)
        return True

    def _run(self, bound: BoundViews, one: BoundView, group: int) -> None:
        total = input_rows(self._store, bound, one)
        began, done = monotonic(), 0
        state = self._state(group)
        by_rows = total <= SMALL
        source = source_input(self._store, bound, one, state.watermark) if by_rows else None
        steps = [] if by_rows else self._steps(bound, one, total)
        while state.filled is not None:
            if source is not None:
                state = fill_step(self._store, bound, one, state, source, self._holder)
                done = total if state.filled is None else min(total, done + 10_000)
            else:
                with uncollected():
                    state = self._spark_step(bound, one, group, state, steps, total // max(1, len(steps)))
                done = total if state.filled is None else min(total, done + total // max(1, len(steps)))
            if state.filled is not None:
                # An apply lets go of the claim.
                self._store.view_tables.claim(group, self._holder, CLAIM_SECONDS)
                state = self._state(group)
            self._progress(Filled(one.view.name, done, total, monotonic() - began))

    def _state(self, group: int) -> GroupState:
        state = self._store.view_tables.groups().get(group)
        if state is None:
            raise Outrun("the view was dropped while it was filled")
        return state

    def _steps(self, bound: BoundViews, one: BoundView, total: int) -> list[bytes]:
        """The keys of the source at which steps begin, ascending; the first is b""."""
        grouped = isinstance(one.program.plan.stages[0].sink, AggregateSink)
        parts = -(-total // (GROUPED_ROWS if grouped else STORED_ROWS))
        if one.source in bound.catalog.tables:
            intervals = self._store.split(bound.catalog.codecs[one.source], parts)
        else:
            intervals = split_view(self._store, bound.catalog.view_codecs[one.source], parts, ALL)
        return [interval.lower for interval in intervals]

    def _spark_step(
        self, bound: BoundViews, one: BoundView, group: int, state: GroupState, steps: list[bytes], rows: int
    ) -> GroupState:
        """From where the fill stands to the next beginning of a step, about so many rows on."""
        from viewkeeper.pipeline.bulk import bulk_fill

        assert state.filled is not None
        reached = next((key for key in steps if key > state.filled), None)
        interval = Interval(state.filled, reached)
        found = bulk_fill(self._spark.session(), self._store, bound, one, state.watermark, interval, rows)

        def first(_: BoundView) -> FirstChanges:
            return found

        fill = (state.filled, reached)
        batch = compute(self._store, bound, group, state, state.watermark, first, Timing(), fill, holder=self._holder)
        return self._store.view_tables.apply(batch)
