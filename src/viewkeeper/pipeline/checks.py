"""Views compared with their definitions in the background, one at a time and each now and then.

By default only what has changed since the last time is compared; what was never compared is compared whole. A check
waits while views lag: freshness comes first.
"""

from __future__ import annotations

import threading
import time

from viewkeeper.errors import Closed, ForkedHandle, ViewkeeperError
from viewkeeper.model.view import View
from viewkeeper.pipeline.repair import repair
from viewkeeper.pipeline.schedule import work_due
from viewkeeper.pipeline.scratchfill import scratch_filler
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.verify import verify
from viewkeeper.store.embedded import EmbeddedStore

LOOK = 0.5
"""Seconds between two looks for something to compare."""
PATIENCE = 10.0
"""How often longer than asked for a check is put off, at most, because views lag."""


class Checks:
    """Compares each view every so many seconds; with `repair`, mends what differs."""

    def __init__(self, store: EmbeddedStore, spark: SparkSource, every: float, *, repair: bool) -> None:
        self._store = store
        self._filler = scratch_filler(spark)
        self._every = every
        self._repair = repair

    def run(self, stopping: threading.Event) -> None:
        """Go on until it is told to stop."""
        while not stopping.wait(min(LOOK, self._every)):
            try:
                view = self._next()
                if view is not None:
                    self._check(view)
            except (Closed, ForkedHandle):
                return
            except ViewkeeperError:
                # Dropped, not whole, or no longer retained: the next look sees how it is then.
                continue

    def _next(self) -> View | None:
        """The view that has waited longest, if it is due and none lags, or it has waited far too long."""
        notes = self._store.view_tables.notes()
        states, objects = self._store.view_tables.objects()
        due: list[tuple[int, int]] = []
        now = time.time_ns() // 1000
        for number, view in self._store.catalog().views.items():
            is_whole = number in objects and states[objects[number].group].filled is None
            if not (is_whole or view.in_base) or view.replaces is not None:
                continue
            checked = notes[number].verified_at if number in notes else 0
            if now - checked >= self._every * 1e6:
                due.append((checked, number))
        if not due:
            return None
        checked, number = min(due)
        if work_due(self._store) is not None and now - checked < self._every * PATIENCE * 1e6:
            return None
        return self._store.catalog().views.get(number)

    def _check(self, view: View) -> None:
        note = self._store.view_tables.notes().get(view.id)
        since = None
        if note is not None and note.verified_at and not note.verified_differences:
            since = self._store.position(note.verified_position)
        report = verify(self._store, view.name, since=since, filler=self._filler)
        if self._repair and not report.ok:
            repair(self._store, view.name, filler=self._filler)
