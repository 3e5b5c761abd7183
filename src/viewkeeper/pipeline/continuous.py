"""Maintenance that goes on: one Structured Streaming query is the clock, and each of its batches one or more rounds.

The stream carries no rows. It advances while there is work, also when nobody writes; what is to be done is read from
the watermarks, never from the stream's checkpoint. So a checkpoint is a folder of its own for each start, thrown away
at its end, and a lost or an old one can do no harm.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from viewkeeper.errors import BatchFailed, Closed, ForkedHandle, ViewkeeperError
from viewkeeper.pipeline.backfill import Filler, Progress
from viewkeeper.pipeline.checks import Checks
from viewkeeper.pipeline.maintainer import BATCH_CHANGES, Maintainer, Round
from viewkeeper.pipeline.progress import shown
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import bound_views
from viewkeeper.views.settle import settle_views

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

LOOK = 0.2
"""Seconds between two looks for views to fill."""
TICK_SECONDS = 5.0
"""A batch of the clock does rounds for at most this long, so that a stop is soon heard."""

Told = Callable[[Round], None]


class Maintenance:
    """Keeps views up to date until it is stopped; a context manager.

    Fills run in a thread of their own, so that views which are whole stay fresh meanwhile. `error` is what ended it, if
    anything did; errors of single views do not: they are in `db.status()`.
    """

    def __init__(
        self,
        store: EmbeddedStore,
        spark: SparkSource,
        *,
        trigger: str = "100 milliseconds",
        batch_changes: int = BATCH_CHANGES,
        verify_every: float | None = None,
        repair: bool = False,
        progress: bool | Progress = False,
        told: Told | None = None,
    ) -> None:
        self._store = store
        self._told = told or (lambda done: None)
        self._stopping = threading.Event()
        self._maintainer = Maintainer(store, spark, batch_changes=batch_changes)
        self._shown = shown(progress)
        self._filler = Filler(store, spark, self._maintainer.holder, self._shown.__enter__())
        self.checkpoint = tempfile.mkdtemp(prefix="viewkeeper-checkpoint-")
        self.error: BaseException | None = None
        try:
            self._query = self._start(spark, trigger)
        except BaseException:
            shutil.rmtree(self.checkpoint, ignore_errors=True)
            raise
        self._threads = [threading.Thread(target=self._fill, name="viewkeeper-fills", daemon=True)]
        if verify_every is not None:
            checks = Checks(store, spark, verify_every, repair=repair)
            run = partial(checks.run, self._stopping)
            self._threads.append(threading.Thread(target=run, name="viewkeeper-checks", daemon=True))
        for thread in self._threads:
            thread.start()

    def _start(self, spark: SparkSource, trigger: str) -> StreamingQuery:
        from viewkeeper.pipeline.clock import clock_frame

        session = spark.session()
        ticks = clock_frame(session, self._store)
        writer = ticks.writeStream.foreachBatch(self._tick).trigger(processingTime=trigger)
        return writer.option("checkpointLocation", self.checkpoint).queryName("viewkeeper").start()

    def _tick(self, _: DataFrame, __: int) -> None:
        """One batch of the clock: rounds until nothing is left, or for some seconds."""
        until = time.monotonic() + TICK_SECONDS
        while not self._stopping.is_set():
            try:
                done = self._maintainer.round(fill=False)
            except (Closed, ForkedHandle) as error:
                self.error = error
                self._stopping.set()
                return
            self._told(done)
            if not done.left or time.monotonic() > until:
                return
            if not done.groups:
                time.sleep(0.005)

    def _fill(self) -> None:
        while not self._stopping.wait(LOOK):
            try:
                self._fill_due()
            except (Closed, ForkedHandle):
                return
            except ViewkeeperError:
                # The next look tries again; what concerns one view was noted with it.
                continue

    def _fill_due(self) -> None:
        bound = bound_views(self._store)
        for number in self._maintainer.unfilled(bound):
            if self._stopping.is_set():
                return
            one, done = bound.views[number], Round()
            self._maintainer.guard([one], done, partial(self._filler.fill, bound, one))
            if done.failed:
                self._told(done)
        if any(view.replaces is not None for view in bound.catalog.views.values()):
            # The clock stands still while nothing lags, and a swap waits for nothing else.
            settle_views(self._store)

    @property
    def is_running(self) -> bool:
        return self._query.isActive and not self._stopping.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it ends, by `stop` or by itself; False if it is still running after so long."""
        until = None if seconds is None else time.monotonic() + seconds
        while self.is_running:
            left = 0.5 if until is None else min(0.5, until - time.monotonic())
            if left <= 0:
                return False
            self._stopping.wait(left)
        return True

    def stop(self) -> None:
        """End it behind the round under way. BatchFailed if it had ended by itself."""
        self._stopping.set()
        failed = None if self._query.isActive else self._query.exception()
        self._query.stop()
        for thread in self._threads:
            thread.join()
        self._shown.__exit__(None, None, None)
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        if self.error is None and failed is not None:
            self.error = failed
            raise BatchFailed("maintenance had ended by itself", detail=str(failed).splitlines()[0]) from failed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
