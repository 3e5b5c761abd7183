"""When PERIODIC views are computed anew: at their intervals by continuous maintenance, and by maintenance once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from functools import partial

from viewkeeper.errors import Closed, ForkedHandle, ViewkeeperError
from viewkeeper.model.view import View
from viewkeeper.pipeline.attempts import Attempts, Round
from viewkeeper.pipeline.periodic import refresh
from viewkeeper.pipeline.periodicdue import due, periodic_views
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.share import Share
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import bound_views

LOOK = 0.2
"""Seconds between two looks for views to refresh."""


class Refreshing:
    """Refreshes views one by one; one that fails is set aside, and the others go on."""

    def __init__(
        self,
        store: EmbeddedStore,
        spark: SparkSource,
        attempts: Attempts,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._store = store
        self._spark = spark
        self._attempts = attempts
        self._clock = clock

    def turn(self) -> Round:
        """Refresh what is due now, or asked for by a reader."""
        done = Round()
        self._refresh(due(self._store, now=self._clock()), done)
        return done

    def all(self, upto: int, wanted: Collection[int] | None, done: Round) -> None:
        """Refresh what is before a position, of some views or of all; `left` if any moved: others may stand on it."""
        moved = done.groups
        states, objects = self._store.view_tables.objects()
        aside = self._attempts.aside()
        behind = [
            view
            for view in periodic_views(self._store)
            if view.id in objects and states[objects[view.id].group].watermark < upto and view.id not in aside
            if wanted is None or view.id in wanted
        ]
        self._refresh(behind, done)
        done.left = done.left or done.groups > moved

    def _refresh(self, views: Iterable[View], done: Round) -> None:
        for view in views:
            one = bound_views(self._store).of([view.id])
            self._attempts.guard(one, done, partial(self._refresh_one, view, done))

    def _refresh_one(self, view: View, done: Round) -> None:
        made = refresh(self._store, self._spark, view)
        if made.moved:
            done.groups += 1
            done.changes += made.changes
            done.engine = made.engine
        asked = self._store.view_tables.asked()
        if view.id in asked:
            self._store.view_tables.answered(asked)

    def run(self, stopping: threading.Event, share: Share, told: Callable[[Round], None]) -> None:
        """Go on until it is told to stop."""
        while not stopping.wait(max(LOOK, share.rest())):
            try:
                with share.busy():
                    done = self.turn()
            except (Closed, ForkedHandle):
                return
            except ViewkeeperError as error:
                # A full disk, say: the next look tries again.
                done = Round(failed={"maintenance": str(error)})
            if done.groups or done.failed:
                told(done)
