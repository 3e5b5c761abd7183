"""Maintenance that goes on: one Structured Streaming query is the clock, and each of its batches one or more rounds.

The stream carries no rows. It advances while there is work, also when nobody writes; what is to be done is read from
the watermarks, never from the stream's checkpoint. So a checkpoint is a folder of its own for each start, thrown away
at its end, and a lost or an old one can do no harm.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self

from viewkeeper.errors import BatchFailed, Closed, ForkedHandle, SparkMissing, StoreError, ViewkeeperError, WrongType
from viewkeeper.model.duration import milliseconds
from viewkeeper.pipeline.backfill import Filler, Progress
from viewkeeper.pipeline.checks import Checks
from viewkeeper.pipeline.lazy import LazySettings, LazyTurn
from viewkeeper.pipeline.maintainer import BATCH_CHANGES, Maintainer, Round
from viewkeeper.pipeline.progress import shown
from viewkeeper.pipeline.refreshing import Refreshing
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.share import Share
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import BoundView, BoundViews, bound_views
from viewkeeper.views.settle import settle_views

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

LOOK = 0.2
"""Seconds between two looks for views to fill."""
RETRY = 1.0
"""Seconds to wait after what went wrong for all views."""
TICK_SECONDS = 5.0
"""A batch of the clock does rounds for at most this long, so that a stop is soon heard."""
SHORT_WAIT = 0.25
"""Seconds for which a batch of the clock waits for a group that is due then: another batch costs as much."""
BEAT = 1.0
ALIVE = 10.0
"""Seconds between two signs of life, and for how long readers take one for granted: a beat waits for an apply."""

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
        share: float = 1.0,
        lazy: LazySettings | None = None,
        verify_every: float | None = None,
        repair: bool = False,
        progress: bool | Progress = False,
        told: Told | None = None,
    ) -> None:
        interval = _checked(trigger, batch_changes, verify_every)
        self.share = Share(share)
        self._store = store
        self._told = told or (lambda done: None)
        self._stopping = threading.Event()
        self._maintainer = Maintainer(store, spark, batch_changes=self.share.batch(batch_changes), by_mode=True)
        self._shown = shown(progress)
        self._paced = self.share.paced(self._stopping.wait, self._shown.__enter__())
        self._filler = Filler(store, spark, self._maintainer.holder, self._paced)
        settings = lazy or LazySettings()
        turn = LazyTurn(store, spark, settings=replace(settings, job_changes=self.share.batch(settings.job_changes)))
        self.checkpoint = tempfile.mkdtemp(prefix="viewkeeper-checkpoint-")
        self.error: BaseException | None = None
        try:
            self._query = self._start(spark, interval)
        except BaseException:
            shutil.rmtree(self.checkpoint, ignore_errors=True)
            raise
        works: dict[str, Callable[[], None]] = {
            "fills": self._fill,
            "beat": self._beat,
            "lazy": partial(turn.run, self._stopping, self.share, self._told),
            "periodic": partial(
                Refreshing(store, spark, self._maintainer.attempts).run, self._stopping, self.share, self._told
            ),
        }
        if verify_every is not None:
            works["checks"] = partial(Checks(store, spark, verify_every, repair=repair).run, self._stopping)
        self._threads = [
            threading.Thread(target=run, name=f"viewkeeper-{name}", daemon=True) for name, run in works.items()
        ]
        for thread in self._threads:
            thread.start()
        atexit.register(self._end)

    def _start(self, spark: SparkSource, interval: int) -> StreamingQuery:
        from viewkeeper.pipeline.clock import clock_frame

        # A session has one query of a name, and may maintain several databases, or one of them twice.
        name = f"viewkeeper {self._maintainer.holder}"
        session = spark.session()
        ticks = clock_frame(session, self._store)
        writer = ticks.writeStream.foreachBatch(self._tick).trigger(processingTime=f"{interval} milliseconds")
        return writer.option("checkpointLocation", self.checkpoint).queryName(name).start()

    def _tick(self, _: DataFrame, __: int) -> None:
        """One batch of the clock: rounds until nothing is left, or for some seconds."""
        until = time.monotonic() + TICK_SECONDS
        while not self._stopping.wait(self.share.rest()):
            try:
                with self.share.busy():
                    done = self._maintainer.round(fill=False)
            except (Closed, ForkedHandle) as error:
                self.error = error
                self._stopping.set()
                return
            except ViewkeeperError as error:
                # A full disk, say: work is still due, so the clock goes on and it is tried again.
                self._told(Round(failed={"maintenance": str(error)}))
                self._stopping.wait(RETRY)
                return
            self._told(done)
            if time.monotonic() > until or not (done.left or self._wait_for_due()):
                return
            if done.left and not done.groups:
                time.sleep(0.005)

    def _wait_for_due(self) -> bool:
        """Wait for a group that is soon due by its interval; False if there is none."""
        seconds = self._maintainer.next_due()
        if seconds is None or not 0 < seconds <= SHORT_WAIT:
            return False
        self._stopping.wait(seconds)
        return True

    def _beat(self) -> None:
        """Say again and again that this maintainer is alive, also during a long batch."""
        while True:
            try:
                self._store.view_tables.beat(self._maintainer.holder, ALIVE)
            except (Closed, ForkedHandle):
                return
            except StoreError:
                # A full disk, say: readers take it for dead until the next beat is heard.
                pass
            if self._stopping.wait(BEAT):
                break
        with suppress(ViewkeeperError):
            self._store.view_tables.beat(self._maintainer.holder, 0)

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
            self._maintainer.attempts.guard([one], done, partial(self._fill_one, bound, one, done))
            if done.failed or done.filled:
                self._told(done)
        if any(view.replaces is not None for view in bound.catalog.views.values()):
            # The clock stands still while nothing lags, and a swap waits for nothing else.
            settle_views(self._store)

    def _fill_one(self, bound: BoundViews, one: BoundView, done: Round) -> None:
        self._paced.begin()
        if self._filler.fill(bound, one):
            self._maintainer.attempts.tell_filled(one, done)

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
        failed = self._stop_clock()
        for thread in self._threads:
            thread.join()
        with suppress(ViewkeeperError):
            self._maintainer.let_go()
        self._shown.__exit__(None, None, None)
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        atexit.unregister(self._end)
        if self.error is None and failed is not None:
            self.error = failed
            raise BatchFailed("maintenance had ended by itself", detail=str(failed).splitlines()[0]) from failed

    def _end(self) -> None:
        """The program ends and nobody has stopped it: as if killed, which does no harm, but no folder stays."""
        self._stopping.set()
        # Otherwise it would go on writing to the folder.
        self._stop_clock()
        shutil.rmtree(self.checkpoint, ignore_errors=True)

    def _stop_clock(self) -> BaseException | None:
        """What had ended the query before, if anything had."""
        try:
            failed = None if self._query.isActive else self._query.exception()
            self._query.stop()
        except Exception as error:  # noqa: BLE001
            # The JVM has gone, as it does where a signal goes to all processes of a service.
            return SparkMissing("Spark has gone", detail=str(error), hint="Start maintenance again.")
        return failed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _checked(trigger: str, batch_changes: int, verify_every: float | None) -> int:
    """The trigger in milliseconds; WrongType, before anything is started, if one of the three cannot be meant."""
    if batch_changes < 1:
        raise WrongType(f"batch_changes is {batch_changes}", hint="A batch takes in at least one change.")
    if verify_every is not None and not verify_every > 0:
        raise WrongType(
            f"verify_every is {verify_every:g} seconds",
            hint="Give the seconds between two comparisons, or leave it out: nothing is then compared.",
        )
    return milliseconds(trigger)
