"""A maintainer: brings groups of views from their watermarks to where they are to be, round by round.

Takes no part in correctness: whatever it computes is refused unless the group still stands where the computation began.
So any number of maintainers may work on one database, each may be killed at any moment, and none needs to remember
anything. A group that fails is set aside with its error and tried again later, while the others go on.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Collection, Mapping

from viewkeeper.pipeline.attempts import Attempts, Round
from viewkeeper.pipeline.backfill import Filler, Progress
from viewkeeper.pipeline.lostgroups import drop_lost
from viewkeeper.pipeline.moving import LONG_BATCH, SMALL_WORK, Mover
from viewkeeper.pipeline.refreshing import Refreshing
from viewkeeper.pipeline.schedule import Pace, Schedule, schedule, work_due
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.views.bound import BoundView, BoundViews, bound_views
from viewkeeper.views.settle import settle_views

__all__ = ["BATCH_CHANGES", "Maintainer", "Round"]

BATCH_CHANGES = 1_000_000
"""Changes of the log that one batch takes in at most, but for the last transaction: what bounds its memory."""
PUT_OFF = 4
"""Rounds in a row that are given to what readers wait for alone."""
ROWS_BATCH = 100_000
"""The same where a view joins one that moves with it: its row before and after are known only in this process."""


class Maintainer:
    """Maintains the views of a store; `views`, by id, restricts it to groups that hold one of them.

    With `by_mode`, a round moves what is due by its mode, or asked for by a reader; else everything, as far as it goes,
    and computes PERIODIC views anew.
    """

    def __init__(
        self,
        store: EmbeddedStore,
        spark: SparkSource,
        *,
        views: Collection[int] | None = None,
        progress: Progress | None = None,
        batch_changes: int = BATCH_CHANGES,
        small_work: int = SMALL_WORK,
        long_batch: int = LONG_BATCH,
        by_mode: bool = False,
        step: Callable[[str], None] = lambda name: None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.store = store
        self.holder = f"{os.getpid()}-{secrets.token_hex(4)}"
        self.attempts = Attempts(store)
        self._views = None if views is None else frozenset(views)
        self._filler = Filler(store, spark, self.holder, progress)
        self._mover = Mover(
            store,
            spark,
            self.holder,
            self.attempts,
            small_work=small_work,
            long_batch=long_batch,
            step=step,
            clock=clock,
        )
        self._refreshing = Refreshing(store, spark, self.attempts, clock)
        self._batch_changes = batch_changes
        self._by_mode = by_mode
        self._step = step
        self._clock = clock
        self._put_off = 0

    def is_due(self) -> bool:
        """Whether a round by mode would have anything to do; a look that costs microseconds."""
        bound = bound_views(self.store)
        is_replaced = any(view.replaces is not None for view in bound.catalog.views.values())
        return is_replaced or bool(self.unfilled(bound)) or work_due(self.store, self._clock()) is not None

    def next_due(self) -> float | None:
        """In how many seconds a group that is behind is due by its interval; None if there is none."""
        wait = self.schedule().next_due()
        return None if wait is None else max(0.0, wait / 1e6)

    def round(self, until: int | None = None, *, fill: bool = True) -> Round:
        """One pass over everything that is due, up to `until` or the head as it is now."""
        done = Round()
        head = self.store.offset(self.store.head()) if until is None else until
        self.store.view_catalog.forget()
        bound = bound_views(self.store)
        self.attempts.tell_unbound(bound, done)
        drop_lost(self.store, bound, self.attempts)
        if fill:
            self._fill(bound, head, done)
        self._step("begun")
        moved = done.groups
        self._answer(bound, done)
        now = self._schedule(bound)
        if self._is_awaited(now, done.groups > moved):
            # A reader waits for more batches: what else is due has its turn, but not before each of them.
            done.left = True
        else:
            self._bring(bound, now.due() if self._by_mode else now.all(head), done)
        if not self._by_mode:
            self._refreshing.all(head, self._views, done)
        self._end(done)
        return done

    def job(self, group: int, upto: int) -> Round:
        """Bring one group to a position, as far as one batch goes, whatever its mode."""
        done = Round()
        self._bring(bound_views(self.store), {group: upto}, done)
        self._end(done)
        return done

    def _end(self, done: Round) -> None:
        if settle_views(self.store):
            self._step("settled")
            # What stands on a view that has just come to be kept beside the tables can be filled now.
            done.left = done.left or bool(self.unfilled(bound_views(self.store)))
        self.attempts.write(force=not done.left)
        if not done.left:
            self.let_go()

    def _bring(self, bound: BoundViews, targets: Mapping[int, int], done: Round) -> None:
        """Bring groups, by id, to positions, each as far as one batch goes."""
        self._pass(bound, targets, False, done)
        # Views on views of other groups follow, one level a pass.
        while self._pass(bound, targets, True, done):
            pass

    def let_go(self) -> None:
        """Release what it has claimed."""
        self._mover.let_go()

    def schedule(self) -> Schedule:
        """Which groups there are, and what is due."""
        return self._schedule(bound_views(self.store))

    def _schedule(self, bound: BoundViews) -> Schedule:
        return schedule(self.store, now=self._clock(), stuck=bound.failed.keys(), moved=self._mover.moved)

    def _answer(self, bound: BoundViews, done: Round) -> None:
        """What readers wait for comes first, and no further than they ask for."""
        views = self.store.view_tables
        if not views.asked(self._clock()):
            return
        asked = self._schedule(bound).asked()
        for priority in sorted({wanted.priority for wanted in asked.values()}, reverse=True):
            targets = {group: wanted.upto for group, wanted in asked.items() if wanted.priority == priority}
            self._bring(bound, targets, done)
            views.answered(views.asked())
        if not asked:
            # Whoever asked was helped by another.
            views.answered(views.asked())
        self._step("answered")

    def _is_awaited(self, now: Schedule, moved: bool) -> bool:
        """Whether readers still wait for a group that has moved; every so often the others go on all the same."""
        self._put_off = self._put_off + 1 if self._by_mode and moved and now.asked() else 0
        if self._put_off > PUT_OFF:
            self._put_off = 0
        return self._put_off > 0

    # Fills

    def _fill(self, bound: BoundViews, head: int, done: Round) -> None:
        for number in self.unfilled(bound):
            one = bound.views[number]
            if self._views is None or number in self._views:
                self.attempts.guard([one], done, lambda one=one: self._fill_one(bound, one, head, done))  # type: ignore[misc]

    def unfilled(self, bound: BoundViews) -> list[int]:
        """Views that are not whole yet, lower ones first; not those that are set aside, or wait for one that is."""
        states, objects = self.store.view_tables.objects()
        aside = self.attempts.aside()
        found: list[int] = []
        waiting: set[int] = set()
        for number, one in bound.views.items():
            if number != one.whole.id or (number in objects and states[objects[number].group].filled is None):
                continue
            if number in aside or not one.sources.isdisjoint(waiting):
                waiting.add(number)
            else:
                found.append(number)
        return found

    def _fill_one(self, bound: BoundViews, one: BoundView, head: int, done: Round) -> None:
        if self._filler.fill(bound, one):
            self.attempts.tell_filled(one, done)
            self._step("filled")
        elif self._gets_ready(one, head):
            done.left = True

    def _gets_ready(self, one: BoundView, head: int) -> bool:
        """Whether what a view reads is still on its way to the head: only there do its views stand together."""
        states, objects = self.store.view_tables.objects()
        views = self.store.catalog().views
        stuck = self.attempts.aside()
        below = [states[objects[source].group] for source in one.sources if source in objects]
        if any(not stuck.isdisjoint(state.objects) for state in below):
            return False
        whole = len(below) == sum(source in views and not views[source].in_base for source in one.sources)
        return not whole or any(state.filled is not None or state.watermark < head for state in below)

    # Batches

    def _pass(self, bound: BoundViews, targets: Mapping[int, int], outside: bool, done: Round) -> bool:
        """Move what is before its target as far as one batch goes; whether anything moved."""
        moved = done.groups
        for pace in self._paces(bound, targets):
            for (lower, target), groups in self._due(bound, targets, pace, outside).items():
                upper = min(target, self.store.boundary(lower, self._most_changes(bound, groups)))
                reached = self._by_reach(bound, groups, upper) if outside else {upper: groups}
                for reach, together in reached.items():
                    if reach > lower:
                        done.left = done.left or reach < target
                        self._mover.move(bound, lower, together, reach, done)
        return done.groups > moved

    def _paces(self, bound: BoundViews, targets: Mapping[int, int]) -> list[Pace]:
        """How soon groups follow, the soonest first: what shares a reader with them goes where they are then."""
        now = self._schedule(bound)
        return sorted({now.pace(state) for group, state in now.states.items() if group in targets})

    def _most_changes(self, bound: BoundViews, groups: Mapping[int, GroupState]) -> int:
        """How many changes a batch of these groups may take in: fewer, if some of it is left to the row executor."""
        views = [one for state in groups.values() for one in bound.of(state.objects)]
        moving = {one.view.id for one in views}
        by_rows = any(one.is_joined and not one.sources.isdisjoint(moving) for one in views)
        return min(self._batch_changes, ROWS_BATCH) if by_rows else self._batch_changes

    def _due(
        self, bound: BoundViews, targets: Mapping[int, int], pace: Pace, outside: bool
    ) -> dict[tuple[int, int], dict[int, GroupState]]:
        """Groups of a pace before their targets, by watermark and target.

        With `outside` those that read views of other groups, else the rest.
        """
        now = self._schedule(bound)
        due: dict[tuple[int, int], dict[int, GroupState]] = {}
        for group, state in sorted(now.states.items()):
            if group not in targets or now.pace(state) != pace or not now.is_movable(state):
                continue
            if state.watermark >= targets[group] or bool(now.below(state)) != outside:
                continue
            if self._views is None or not self._views.isdisjoint(state.objects):
                due.setdefault((state.watermark, now.place(group, targets[group])), {})[group] = state
        return due

    def _by_reach(
        self, bound: BoundViews, groups: Mapping[int, GroupState], upper: int
    ) -> dict[int, dict[int, GroupState]]:
        """Groups by how far one batch takes them, about to `upper`: where the views that they read have stood, too."""
        now = self._schedule(bound)
        found: dict[int, dict[int, GroupState]] = {}
        for group, state in groups.items():
            found.setdefault(now.reach(state, upper), {})[group] = state
        return found
