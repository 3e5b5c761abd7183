"""PERIODIC views: computed anew at an interval, as of one position, and exchanged whole.

    recompute  the definition over its input as of p, the head when the refresh began, into a scratch store
    compare    what is stored beside it, table by table
    exchange   one apply from the watermark to p: the rows that differ, their block of the feed, and the watermark

The last is a compare-and-set as any apply is, so readers see all of it or nothing, whoever follows the feed goes from
one to the other, and a refresh that is killed leaves nothing but a temporary folder behind.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from viewkeeper.errors import NotRetained
from viewkeeper.model.position import Position
from viewkeeper.model.view import View
from viewkeeper.pipeline.backfill import uses_spark
from viewkeeper.pipeline.claiming import claimed
from viewkeeper.pipeline.comparing import Compared, Comparing, find_bound
from viewkeeper.pipeline.differences import Found
from viewkeeper.pipeline.holding import hold
from viewkeeper.pipeline.periodicdue import due, periodic_views
from viewkeeper.pipeline.scratch import scratch_folder, scratch_store
from viewkeeper.pipeline.scratchfill import scratch_filler
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.stored import StoredTable
from viewkeeper.pipeline.verify import standing
from viewkeeper.store.applying import Apply, Counted, ObjectChanges
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.views.batch import Timing
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.reach import reach

__all__ = ["Refreshed", "due", "periodic_views", "refresh"]

LEASE = 30.0
"""Seconds for which a group stays claimed when the process that refreshes it is killed."""
WAIT = 5.0
"""Seconds that a refresh waits for another's claim."""

Step = Callable[[str], None]
"""Told of each step that is done, for tests that end the process there."""


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh did: from which position to which, how many rows it wrote, and where they were computed.

    `moved` is False if nothing that the view reads has come since. `read`: how many stored rows of its input were read;
    of a staging view at most as many as its parts have first rows, of anything that is read whole on Spark about.
    """

    views: tuple[str, ...]
    before: Position
    position: Position
    written: int
    removed: int
    changes: int
    engine: str
    seconds: float
    read: int = 0

    @property
    def moved(self) -> bool:
        return self.changes > 0

    def __str__(self) -> str:
        names = ", ".join(self.views)
        if not self.moved:
            return f"{names}: nothing has changed since {self.before}"
        by = {"rows": "in this process", "spark": "on Spark"}[self.engine]
        return (
            f"{names}: computed anew at {self.position} in {self.seconds:.2f} s, {by}: "
            f"{self.read:,} rows read, {self.written:,} written, {self.removed:,} removed"
        )


def refresh(
    store: EmbeddedStore,
    spark: SparkSource | None,
    view: View,
    *,
    folder: Path | None = None,
    lease: float = LEASE,
    wait: float = WAIT,
    step: Step = lambda name: None,
) -> Refreshed:
    """Compute a view, and the others of its group, anew as of the head, and exchange their rows; leaves a note of it.

    A view over views of other groups is computed as of the last position at which all of these stood. Without Spark
    the rows are computed in this process, however many they are.

    UnknownTable if it was dropped, ViewNotReady if it is not filled yet, Outrun if another process holds it for longer
    than `wait` seconds, or was faster. Whatever happens before the end, what is stored stays as it is.
    """
    began = time.monotonic()
    bound, _ = find_bound(store, view)
    holder = f"refresh {os.getpid()}-{secrets.token_hex(4)}"
    with claimed(store.view_tables, view, holder, seconds=lease, wait=wait) as group:
        state = standing(store, view)
        views = bound.of(state.objects)
        place = _place(store, bound, views, state)
        step("claimed")
        done = _Refresh(store, bound, views, group, state, holder, step)
        if place > state.watermark:
            done.exchange(place, spark, folder)
    made = Refreshed(
        views=tuple(one.view.name for one in views),
        before=store.position(state.watermark),
        position=store.position(max(place, state.watermark)),
        written=done.written,
        removed=done.removed,
        changes=max(0, place - state.watermark),
        engine=done.engine,
        seconds=time.monotonic() - began,
        read=done.read,
    )
    _note(store, views, made, done.timing)
    return made


def _place(store: EmbeddedStore, bound: BoundViews, views: Iterable[BoundView], state: GroupState) -> int:
    """Where the group can be computed now: the head, or where what it reads of other groups has stood last."""
    head = store.offset(store.head())
    read = {source for one in views for source in one.sources}
    below = [number for number in read if number not in bound.catalog.codecs and number not in state.objects]
    standings = [found for found in map(store.view_tables.standing, below) if found is not None]
    if len(standings) < len(below) or any(its.filled is not None for _, its in standings):
        return state.watermark
    limit = min((its.watermark for _, its in standings), default=head)
    return reach(store, below, state.watermark, head, limit) if below else head


@dataclass(slots=True)
class _Refresh:
    """The refresh of one claimed group."""

    store: EmbeddedStore
    bound: BoundViews
    views: list[BoundView]
    group: int
    state: GroupState
    holder: str
    step: Step
    written: int = 0
    removed: int = 0
    read: int = 0
    engine: str = "rows"
    timing: Timing = field(default_factory=Timing)
    objects: dict[int, ObjectChanges] = field(default_factory=dict)

    def exchange(self, place: int, spark: SparkSource | None, folder: Path | None) -> None:
        store = self.store
        transaction, committed_at = store.transaction_before(place) or self._known(place)
        then = replace(self.state, watermark=place, transaction=transaction, committed_at=committed_at)
        compared: list[Compared] = []
        with (
            hold(store, store.position(place), self.holder),
            scratch_folder(folder) as there,
            scratch_store(store, there) as scratch,
        ):
            recomputed = 0

            def progress(phase: str, done: int, _: int) -> None:
                nonlocal recomputed
                recomputed = done if phase == "recomputed" else recomputed

            filler = None if spark is None else scratch_filler(spark, progress)
            comparing = Comparing(store, self.bound, scratch, there, filler, progress)
            for one in self.views:
                if spark is not None and uses_spark(store, self.bound, one):
                    self.engine = "spark"
                copied = comparing.copy(one)
                self.timing.lap("copy")
                comparing.recompute(one, then)
                self.read += recomputed
                self.timing.lap("recompute")
                compared.append(comparing.compare(one, copied, self._found))
                self.timing.lap("compare")
            self.step("computed")
        batch = Apply(
            group=self.group,
            generation=self.state.generation,
            lower=self.state.watermark,
            upper=place,
            transaction=transaction,
            committed_at=committed_at,
            objects=self.objects,
            counted={one.one.view.id: one.off for one in compared if one.off != Counted()},
            holder=self.holder,
        )
        store.view_tables.apply(batch)
        self.timing.lap("apply")
        self.step("exchanged")

    def _known(self, place: int) -> tuple[int, int]:
        """The last transaction before a place where the log begins: a view that stands there knows it."""
        read = {source for one in self.views for source in one.sources}
        for found in map(self.store.view_tables.standing, sorted(read)):
            if found is not None and found[1].watermark == place:
                return found[1].transaction, found[1].committed_at
        raise NotRetained(f"the log no longer reaches back to {self.store.position(place)}")

    def _found(self, table: StoredTable) -> Found:
        """Whom to tell of the rows of a table that differ: they become its changes."""
        kept = self.objects.setdefault(table.number, ObjectChanges(table.codec, has_feed=table.is_view))

        def tell(_: bytes, stored: bytes | None, expected: bytes | None) -> None:
            row = stored if expected is None else expected
            assert row is not None
            kept.changes[table.codec.key.encode(table.codec.decode(row))] = (stored, expected)
            self.written += table.is_view and expected is not None
            self.removed += table.is_view and expected is None

        return tell


def _note(store: EmbeddedStore, views: Iterable[BoundView], made: Refreshed, timing: Timing) -> None:
    """Leave word of a refresh, by which the next one is due."""
    noted: dict[str, object] = {"error": "", "failures": 0, "retry_at": 0, "batch_at": time.time_ns() // 1000}
    if made.moved:
        noted |= {"batch_changes": made.changes, "batch_engine": made.engine, "batch_seconds": dict(timing.seconds)}
        noted |= {"batch_rows": made.read}
    known = store.catalog().views
    store.view_tables.note_all({one.view.id: noted for one in views if one.view.id in known})
