"""One batch of some groups that stand at one watermark: computed together, applied in one transaction.

A long batch claims its groups first: a reader that commits a fold of its own would outrun it, again and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from viewkeeper.errors import Closed, ForkedHandle, NotRetained, Outrun, ViewkeeperError
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.pipeline.attempts import Attempts, Round
from viewkeeper.pipeline.claiming import claims
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.uncollected import uncollected
from viewkeeper.store.applying import Apply
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.views.batch import LogInputs, Timing, compute, tables_of
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.deltas import table_pairs

SMALL_WORK = 40_000
"""Changes times views up to which a batch is computed in this process: below, starting a Spark job costs more."""
LONG_BATCH = 10_000
"""Changes from which on a batch claims its groups, and runs without the garbage collector."""
CLAIM_SECONDS = 60.0
"""How long a killed maintainer keeps others from its groups; a living one renews its claims."""


class Mover:
    """Computes batches and applies them. `moved`: by group, when it last did (µs)."""

    def __init__(
        self,
        store: EmbeddedStore,
        spark: SparkSource,
        holder: str,
        attempts: Attempts,
        *,
        small_work: int = SMALL_WORK,
        long_batch: int = LONG_BATCH,
        step: Callable[[str], None] = lambda name: None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._store = store
        self._spark = spark
        self._holder = holder
        self._attempts = attempts
        self._small_work = small_work
        self._long_batch = long_batch
        self._step = step
        self._clock = clock
        self._lost: dict[int, int] = {}
        self._claimed: set[int] = set()
        self._ways: dict[int, str] = {}
        self.moved: dict[int, int] = {}

    def let_go(self) -> None:
        """Release what it has claimed: the group may be where it was to be brought, by whoever was faster."""
        while self._claimed:
            self._store.view_tables.release(self._claimed.pop(), self._holder)

    def move(self, bound: BoundViews, lower: int, groups: Mapping[int, GroupState], upper: int, done: Round) -> None:
        """Bring groups from the one watermark where they stand to another."""
        if upper - lower <= self._long_batch and not self._on_spark(bound, groups, lower, upper):
            self._move(bound, lower, groups, upper, done)
            return
        with uncollected(), claims(self._store.view_tables, groups, self._holder, seconds=CLAIM_SECONDS) as held:
            now = self._store.view_tables.groups()
            ours = {
                group: state
                for group, state in groups.items()
                if group in held and group in now and _stands(now[group]) == _stands(state)
            }
            done.left = done.left or len(ours) < len(groups)
            if ours:
                self._step("claimed")
                self._move(bound, lower, ours, upper, done)

    def _on_spark(self, bound: BoundViews, groups: Mapping[int, GroupState], lower: int, upper: int) -> bool:
        on_tables = _on_tables(bound, [one for state in groups.values() for one in bound.of(state.objects)])
        return bool(on_tables) and (upper - lower) * len(on_tables) > self._small_work

    def _move(self, bound: BoundViews, lower: int, groups: Mapping[int, GroupState], upper: int, done: Round) -> None:
        views = [one for state in groups.values() for one in bound.of(state.objects)]
        timing = Timing()
        try:
            inputs = self._inputs(bound, views, lower, upper, timing, done)
        except NotRetained as error:
            # Cannot be while the janitor honours watermarks; then what is there cannot be followed any more.
            self._attempts.set_aside(views, error, done)
            return
        except ViewkeeperError as error:
            if len(groups) > 1:
                for group, state in groups.items():
                    self._move(bound, lower, {group: state}, upper, done)
            else:
                self._attempts.set_aside(views, error, done)
            return
        self._step("computed first stages")
        batches = self._batches(bound, groups, upper, inputs, timing, done)
        self._step("computed")
        self._apply(bound, batches, timing, done)
        done.changes += upper - lower

    def _inputs(
        self, bound: BoundViews, views: list[BoundView], lower: int, upper: int, timing: Timing, done: Round
    ) -> LogInputs:
        """The inputs of views that read outside their group: by rows, or on Spark in one pass."""
        on_tables = _on_tables(bound, views)
        firsts: Mapping[int, FirstChanges] = {}
        by_rows = views
        if on_tables and (upper - lower) * len(on_tables) > self._small_work:
            from viewkeeper.pipeline.bulk import bulk_firsts
            from viewkeeper.pipeline.joined import joined_firsts

            done.engine = "spark"
            # What is kept apart for each partition is told apart by rows alone.
            plain = [one for one in on_tables if not one.is_joined and one.partition is None]
            firsts = bulk_firsts(self._spark.session(), self._store, bound, plain, lower, upper)
            timing.lap("spark")
            moving = {one.view.id for one in views}
            joins = [one for one in on_tables if one.is_joined and one.sources.isdisjoint(moving)]
            if joins:
                joined = joined_firsts(self._spark.session(), self._store, bound, joins, lower, upper)
                firsts = {**firsts, **joined.firsts}
                self._ways |= joined.ways
                timing.lap("spark joins")
            by_rows = [one for one in views if one.view.id not in firsts]
        else:
            done.engine = done.engine or "rows"
        pairs = table_pairs(self._store, tables_of(bound, by_rows), lower, upper)
        timing.lap("read")
        return LogInputs(self._store, bound, lower, upper, pairs, firsts)

    def _batches(
        self,
        bound: BoundViews,
        groups: Mapping[int, GroupState],
        upper: int,
        inputs: LogInputs,
        timing: Timing,
        done: Round,
    ) -> list[Apply]:
        batches: list[Apply] = []

        def add(group: int, state: GroupState) -> None:
            batches.append(compute(self._store, bound, group, state, upper, inputs, timing, holder=self._holder))

        for group, state in groups.items():
            self._attempts.guard(bound.of(state.objects), done, partial(add, group, state))
        return batches

    def _apply(self, bound: BoundViews, batches: list[Apply], timing: Timing, done: Round) -> None:
        outcomes = self._applied(bound, batches, done)
        timing.lap("apply")
        self._step("applied")
        now = self._clock()
        for batch, outcome in zip(batches, outcomes, strict=True):
            if outcome is None:
                continue
            if isinstance(outcome, Outrun):
                self._lose(batch.group)
                done.left = True
                continue
            self._lost.pop(batch.group, None)
            self._claimed.discard(batch.group)
            self.moved[batch.group] = now
            done.groups += 1
            for one in bound.of(outcome.objects):
                self._attempts.note(
                    one.view.id,
                    error="",
                    failures=0,
                    retry_at=0,
                    batch_at=now,
                    batch_changes=batch.upper - batch.lower,
                    batch_engine=done.engine,
                    batch_seconds=dict(timing.seconds),
                    batch_joins=self._ways.pop(one.view.id, ""),
                )
        self._attempts.write()

    def _applied(self, bound: BoundViews, batches: list[Apply], done: Round) -> Sequence[GroupState | Outrun | None]:
        """What became of each batch, all in one transaction; if one fails there, each by itself, None for those."""
        try:
            return self._store.view_tables.apply_all(batches)
        except (Closed, ForkedHandle):
            raise
        except Exception:  # noqa: BLE001 - whatever it is, it shows again below
            outcomes: list[GroupState | Outrun | None] = [None] * len(batches)

            def apply(place: int) -> None:
                (outcomes[place],) = self._store.view_tables.apply_all([batches[place]])

            for place, batch in enumerate(batches):
                self._attempts.guard(bound.of(batch.counted), done, partial(apply, place))
            return outcomes

    def _lose(self, group: int) -> None:
        """A compare-and-set was lost; who loses twice in a row claims the group for a while."""
        self._lost[group] = self._lost.get(group, 0) + 1
        if self._lost[group] >= 2 and self._store.view_tables.claim(group, self._holder, CLAIM_SECONDS):
            self._claimed.add(group)


def _on_tables(bound: BoundViews, views: Sequence[BoundView]) -> list[BoundView]:
    """The views that read the log, which is what Spark is for."""
    return [one for one in views if not one.sources.isdisjoint(bound.catalog.codecs)]


def _stands(state: GroupState) -> tuple[int, int]:
    return state.generation, state.watermark
