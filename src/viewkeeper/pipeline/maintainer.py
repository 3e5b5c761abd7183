"""A maintainer: brings groups of views from their watermarks to the head, round by round.

Takes no part in correctness: whatever it computes is refused unless the group still stands where the computation began.
So any number of maintainers may work on one database, each may be killed at any moment, and none needs to remember
anything. A group that fails is set aside with its error and tried again later, while the others go on.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Lock

from viewkeeper.errors import BatchFailed, Closed, ForkedHandle, NotRetained, Outrun, ViewkeeperError, ViewNotReady
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.pipeline.backfill import Filler, Progress
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.uncollected import uncollected
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.store.viewstore import Apply
from viewkeeper.views.batch import LogInputs, Timing, compute, tables_of
from viewkeeper.views.bound import BoundView, BoundViews, bound_views
from viewkeeper.views.deltas import table_pairs
from viewkeeper.views.settle import settle_views

BATCH_CHANGES = 1_000_000
"""Changes of the log that one batch takes in at most, but for the last transaction: what bounds its memory."""
ROWS_BATCH = 100_000
"""The same where a view joins one that moves with it: its row before and after are known only in this process."""
SMALL_WORK = 40_000
"""Changes times views up to which a batch is computed in this process: below, starting a Spark job costs more."""
LONG_BATCH = 10_000
"""Changes from which on a batch runs without the garbage collector."""
CLAIM_SECONDS = 60.0
FIRST_RETRY = 1.0
LAST_RETRY = 300.0
NOTE_SECONDS = 1.0


@dataclass(slots=True)
class Round:
    """What one round did: groups moved, changes taken in, and by which executor; `left`: work is still to be done."""

    groups: int = 0
    changes: int = 0
    engine: str = ""
    filled: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    left: bool = False


class Maintainer:
    """Maintains the views of a store; `views`, by id, restricts it to groups that hold one of them."""

    def __init__(
        self,
        store: EmbeddedStore,
        spark: SparkSource,
        *,
        views: Collection[int] | None = None,
        progress: Progress | None = None,
        batch_changes: int = BATCH_CHANGES,
        small_work: int = SMALL_WORK,
        step: Callable[[str], None] = lambda name: None,
    ) -> None:
        self.store = store
        self.holder = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._spark = spark
        self._views = None if views is None else frozenset(views)
        self._filler = Filler(store, spark, self.holder, progress)
        self._batch_changes = batch_changes
        self._small_work = small_work
        self._step = step
        self._lost: dict[int, int] = {}
        self._claimed: set[int] = set()
        self._ways: dict[int, str] = {}
        # Fills may run in a thread of their own, and leave notes too.
        self._noting = Lock()
        self._noted = 0.0
        self._notes: dict[int, dict[str, object]] = {}

    def is_due(self) -> bool:
        """Whether there is anything to do; a look that costs microseconds."""
        head = self.store.offset(self.store.head())
        states, objects = self.store.view_tables.objects()
        catalog = self.store.catalog()
        if any(number not in objects or view.replaces is not None for number, view in catalog.views.items()):
            return True
        return any(state.watermark < head or state.filled is not None for state in states.values())

    def round(self, until: int | None = None, *, fill: bool = True) -> Round:
        """One pass over everything that is due, up to `until` or the head as it is now."""
        done = Round()
        head = self.store.offset(self.store.head()) if until is None else until
        self.store.view_catalog.forget()
        bound = bound_views(self.store)
        self._tell_unbound(bound, done)
        self._rebuild_lost(bound)
        if fill:
            self._fill(bound, head, done)
        self._step("begun")
        self._pass(bound, head, False, done)
        # Views on views of other groups follow, one level a pass.
        while self._pass(bound, head, True, done):
            pass
        if settle_views(self.store):
            self._step("settled")
        self._write_notes(force=not done.left)
        if not done.left:
            self.let_go()
        return done

    def let_go(self) -> None:
        """Release what it has claimed: the group may be where it was to be brought, by whoever was faster."""
        while self._claimed:
            self.store.view_tables.release(self._claimed.pop(), self.holder)

    # Fills

    def _fill(self, bound: BoundViews, head: int, done: Round) -> None:
        for number in self.unfilled(bound):
            one = bound.views[number]
            if self._views is None or number in self._views:
                self.guard([one], done, lambda one=one: self._fill_one(bound, one, head, done))  # type: ignore[misc]

    def unfilled(self, bound: BoundViews) -> list[int]:
        """Views that are not whole yet, lower ones first; not those that are set aside, or wait for one that is."""
        states, objects = self.store.view_tables.objects()
        aside = self._aside()
        found: list[int] = []
        waiting: set[int] = set()
        for number, one in bound.views.items():
            if number in objects and states[objects[number].group].filled is None:
                continue
            if number in aside or not one.sources.isdisjoint(waiting):
                waiting.add(number)
            else:
                found.append(number)
        return found

    def _fill_one(self, bound: BoundViews, one: BoundView, head: int, done: Round) -> None:
        if self._filler.fill(bound, one):
            self.tell_filled(one, done)
            self._step("filled")
        elif self._gets_ready(one, head):
            done.left = True

    def _gets_ready(self, one: BoundView, head: int) -> bool:
        """Whether what a view reads is still on its way to the head: only there do its views stand together."""
        states, objects = self.store.view_tables.objects()
        stuck = self._aside()
        below = [states[objects[source].group] for source in one.sources if source in objects]
        if any(not stuck.isdisjoint(state.objects) for state in below):
            return False
        whole = len(below) == sum(source in self.store.catalog().views for source in one.sources)
        return not whole or any(state.filled is not None or state.watermark < head for state in below)

    def tell_filled(self, one: BoundView, done: Round) -> None:
        """Count a fill as done; an earlier failure of it is forgotten."""
        done.filled.append(one.view.name)
        self._note(one.view.id, error="", failures=0, retry_at=0)
        self._write_notes(force=True)

    # Batches

    def _pass(self, bound: BoundViews, head: int, outside: bool, done: Round) -> bool:
        """Move what is due as far as one batch goes; whether anything moved."""
        moved = done.groups
        for lower, groups in self._due(bound, head, outside).items():
            upper = min(head, self.store.boundary(lower, self._most_changes(bound, groups)))
            reached = self._by_reach(bound, groups, upper) if outside else {upper: groups}
            for reach, together in reached.items():
                if reach > lower:
                    done.left = done.left or reach < head
                    self._move(bound, lower, together, reach, done)
        return done.groups > moved

    def _most_changes(self, bound: BoundViews, groups: Mapping[int, GroupState]) -> int:
        """How many changes a batch of these groups may take in: fewer, if some of it is left to the row executor."""
        views = [one for state in groups.values() for one in bound.of(state.objects)]
        moving = {one.view.id for one in views}
        by_rows = any(one.is_joined and not one.sources.isdisjoint(moving) for one in views)
        return min(self._batch_changes, ROWS_BATCH) if by_rows else self._batch_changes

    def _due(self, bound: BoundViews, head: int, outside: bool) -> dict[int, dict[int, GroupState]]:
        """Groups behind the head, by watermark; with `outside` those that read views of other groups, else the rest."""
        states, objects = self.store.view_tables.objects()
        stuck = self._aside() | bound.failed.keys()
        due: dict[int, dict[int, GroupState]] = {}
        for group, state in sorted(states.items()):
            views = bound.of(state.objects)
            if state.filled is not None or state.watermark >= head or not stuck.isdisjoint(state.objects):
                continue
            if self._views is not None and self._views.isdisjoint(state.objects):
                continue
            reads_others = any(not (one.sources & objects.keys()).issubset(state.objects) for one in views)
            if reads_others == outside:
                due.setdefault(state.watermark, {})[group] = state
        return due

    def _move(
        self,
        bound: BoundViews,
        lower: int,
        groups: dict[int, GroupState],
        upper: int,
        done: Round,
    ) -> None:
        """Bring groups from the one watermark where they stand to another."""
        if upper - lower > LONG_BATCH:
            with uncollected():
                self._move_now(bound, lower, groups, upper, done)
        else:
            self._move_now(bound, lower, groups, upper, done)

    def _move_now(
        self,
        bound: BoundViews,
        lower: int,
        groups: dict[int, GroupState],
        upper: int,
        done: Round,
    ) -> None:
        views = [one for state in groups.values() for one in bound.of(state.objects)]
        timing = Timing()
        try:
            inputs = self._inputs(bound, views, lower, upper, timing, done)
        except NotRetained as error:
            # Cannot be while the janitor honours watermarks; then what is there cannot be followed any more.
            self._set_aside(views, error, done)
            return
        except ViewkeeperError as error:
            if len(groups) > 1:
                for group, state in groups.items():
                    self._move(bound, lower, {group: state}, upper, done)
            else:
                self._set_aside(views, error, done)
            return
        self._step("computed first stages")
        batches = self._batches(bound, groups, upper, inputs, timing, done)
        self._step("computed")
        self._apply(bound, batches, timing, done)
        done.changes += upper - lower

    def _by_reach(
        self, bound: BoundViews, groups: Mapping[int, GroupState], upper: int
    ) -> dict[int, dict[int, GroupState]]:
        """Groups by how far one batch takes them, about to `upper`: where the views that they read have stood, too."""
        states, objects = self.store.view_tables.objects()
        found: dict[int, dict[int, GroupState]] = {}
        for group, state in groups.items():
            read = {source for one in bound.of(state.objects) for source in one.sources}
            below = (read & objects.keys()).difference(state.objects)
            limit = min((states[objects[number].group].watermark for number in below), default=upper)
            reach = min(upper, limit)
            for number in sorted(below) * len(below):
                # The feed has one block for an apply, so inside it the view never stood.
                reach = next(
                    (
                        block.end
                        for _, block in self.store.view_tables.feed(number, reach, limit)
                        if block.start < reach
                    ),
                    reach,
                )
            found.setdefault(reach, {})[group] = state
        return found

    def _inputs(
        self,
        bound: BoundViews,
        views: list[BoundView],
        lower: int,
        upper: int,
        timing: Timing,
        done: Round,
    ) -> LogInputs:
        """The inputs of views that read outside their group: by rows, or on Spark in one pass."""
        on_tables = [one for one in views if not one.sources.isdisjoint(bound.catalog.tables)]
        firsts: Mapping[int, FirstChanges] = {}
        by_rows = views
        if (upper - lower) * max(1, len(on_tables)) > self._small_work and on_tables:
            from viewkeeper.pipeline.bulk import bulk_firsts
            from viewkeeper.pipeline.joined import joined_firsts

            done.engine = "spark"
            plain = [one for one in on_tables if not one.is_joined]
            firsts = bulk_firsts(self._spark.session(), self.store, bound, plain, lower, upper)
            timing.lap("spark")
            moving = {one.view.id for one in views}
            joins = [one for one in on_tables if one.is_joined and one.sources.isdisjoint(moving)]
            if joins:
                joined = joined_firsts(self._spark.session(), self.store, bound, joins, lower, upper)
                firsts = {**firsts, **joined.firsts}
                self._ways |= joined.ways
                timing.lap("spark joins")
            by_rows = [one for one in views if one.view.id not in firsts]
        else:
            done.engine = done.engine or "rows"
        pairs = table_pairs(self.store, tables_of(bound, by_rows), lower, upper)
        timing.lap("read")
        return LogInputs(self.store, bound, lower, upper, pairs, firsts)

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
            batches.append(compute(self.store, bound, group, state, upper, inputs, timing, holder=self.holder))

        for group, state in groups.items():
            views = bound.of(state.objects)
            self.guard(views, done, lambda group=group, state=state: add(group, state))  # type: ignore[misc]
        return batches

    def _apply(self, bound: BoundViews, batches: list[Apply], timing: Timing, done: Round) -> None:
        outcomes = self._applied(bound, batches, done)
        timing.lap("apply")
        self._step("applied")
        now = time.time_ns() // 1000
        for batch, outcome in zip(batches, outcomes, strict=True):
            if outcome is None:
                continue
            if isinstance(outcome, Outrun):
                self._lose(batch.group)
                done.left = True
                continue
            self._lost.pop(batch.group, None)
            self._claimed.discard(batch.group)
            done.groups += 1
            for one in bound.of(outcome.objects):
                self._note(
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
        self._write_notes()

    def _applied(self, bound: BoundViews, batches: list[Apply], done: Round) -> Sequence[GroupState | Outrun | None]:
        """What became of each batch, all in one transaction; if one fails there, each by itself, None for those."""
        try:
            return self.store.view_tables.apply_all(batches)
        except (Closed, ForkedHandle):
            raise
        except Exception:  # noqa: BLE001 - whatever it is, it shows again below
            outcomes: list[GroupState | Outrun | None] = [None] * len(batches)

            def apply(place: int) -> None:
                (outcomes[place],) = self.store.view_tables.apply_all([batches[place]])

            for place, batch in enumerate(batches):
                self.guard(bound.of(batch.counted), done, partial(apply, place))
            return outcomes

    def _lose(self, group: int) -> None:
        """A compare-and-set was lost; who loses twice in a row claims the group for a while."""
        self._lost[group] = self._lost.get(group, 0) + 1
        if self._lost[group] >= 2 and self.store.view_tables.claim(group, self.holder, CLAIM_SECONDS):
            self._claimed.add(group)

    # Failures

    def guard(self, views: list[BoundView], done: Round, action: Callable[[], object]) -> None:
        """Run something for a group; what fails is set aside, what was outrun or has to wait is left for later."""
        try:
            action()
        except (Outrun, ViewNotReady):
            done.left = True
        except ViewkeeperError as error:
            self._set_aside(views, error, done)
        except Exception as error:  # noqa: BLE001 - whatever it is, the other views go on
            hint = "It is tried again by itself."
            self._set_aside(views, BatchFailed(f"{type(error).__name__}: {error}", hint=hint), done)

    def _set_aside(self, views: Iterable[BoundView], error: ViewkeeperError, done: Round) -> None:
        known = self.store.view_tables.notes()
        now = time.time()
        for one in views:
            failures = (known[one.view.id].failures if one.view.id in known else 0) + 1
            pause = min(LAST_RETRY, FIRST_RETRY * 2 ** (failures - 1))
            done.failed[one.view.name] = str(error)
            self._note(one.view.id, error=str(error), failures=failures, retry_at=int((now + pause) * 1e6))
        self._write_notes(force=True)

    def _tell_unbound(self, bound: BoundViews, done: Round) -> None:
        """Leave word of views that cannot be bound any more; their groups stay where they are."""
        known = self.store.view_tables.notes() if bound.failed else {}
        for number, error in bound.failed.items():
            done.failed[bound.catalog.views[number].name] = str(error)
            if number not in known or known[number].error != str(error):
                self._note(number, error=str(error), failures=1, retry_at=0)

    def _aside(self) -> set[int]:
        """Views whose last attempt failed and that are to be left alone for now."""
        now = time.time_ns() // 1000
        return {number for number, note in self.store.view_tables.notes().items() if note.retry_at > now}

    def _rebuild_lost(self, bound: BoundViews) -> None:
        """Fill anew the groups whose changes the base has lost: rolled back by a power cut, or no longer in the log."""
        lost = [
            number
            for group, state in self.store.view_tables.groups().items()
            # Another maintainer may have brought it on, and the log been truncated behind it, since it was read.
            if self._is_lost(state) and self.store.view_tables.groups().get(group) == state
            for number in state.objects
        ]
        if not lost:
            return
        # Those above follow the feeds of those below, which go with them.
        above = [view.id for view in bound.catalog.dependents(lost)]
        for one in reversed(bound.of([*lost, *above])):
            self.store.view_tables.drop_objects(one.view.objects)
            told = "filled anew: the log no longer has the changes that it was to follow"
            self._note(one.view.id, error=told, failures=0, retry_at=0)
        self._write_notes(force=True)

    def _is_lost(self, state: GroupState) -> bool:
        """Whether the log is another one than the group has followed, or no longer reaches back to it."""
        head, oldest = self.store.offset(self.store.head()), self.store.offset(self.store.oldest())
        if not oldest <= state.watermark <= head:
            return True
        known = self.store.transaction_before(state.watermark)
        if known is None:
            # Where the log begins, the transaction before it may be gone; elsewhere one has to end.
            return state.watermark != oldest
        return known[0] != state.transaction

    def _note(self, number: int, **changed: object) -> None:
        with self._noting:
            self._notes[number] = changed

    def _write_notes(self, *, force: bool = False) -> None:
        now = time.monotonic()
        with self._noting:
            if not self._notes or not (force or now - self._noted > NOTE_SECONDS):
                return
            noted, self._notes, self._noted = self._notes, {}, now
        # What was dropped meanwhile needs no note: nobody would ever remove it.
        views = self.store.catalog().views
        self.store.view_tables.note_all({number: note for number, note in noted.items() if number in views})
