"""LAZY views while nobody asks for them: brought on when clients leave time for it, one job at a wake-up.

A task is what a LAZY group has still to take in: [watermark, head), as far as the views below it have come. It is not
written down anywhere, so it costs the write nothing and survives a crash; many transactions are one task, condensed to
what they change in all. The oldest task is the next job: the one whose first transaction was committed first. Of tasks
as old as each other, that of the view that is expected to be read first. A job takes in so many changes at most, so
that no transaction runs long, and always from the watermark on, which is the order of commits.

On demand is another way: what a reader asks for is run by the next round, at once and with its priority.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from viewkeeper.errors import Closed, ForkedHandle, ViewkeeperError
from viewkeeper.pipeline.attempts import Round
from viewkeeper.pipeline.load import Load, LoadMeter
from viewkeeper.pipeline.maintainer import Maintainer
from viewkeeper.pipeline.schedule import LAZY, Schedule
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.share import Share
from viewkeeper.store.embedded import EmbeddedStore

BUSY = Load(writes=100.0, latency=0.01, reads=16)
"""What clients may do while lazy work is done, unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LazySettings:
    """When lazy work is done, and how much at once.

    `busy`: it sleeps on while clients do more than this. `patience`: but not while the oldest task is older than so
    many seconds, since its changes have to be kept in the log.
    """

    wake_seconds: float = 2.0
    busy: Load = BUSY
    job_changes: int = 50_000
    patience: float = 600.0


@dataclass(frozen=True, slots=True)
class Task:
    """What a LAZY group has still to take in. Moments in µs; a view that was never read is expected never."""

    group: int
    watermark: int
    committed_at: int
    next_read: float


def tasks(now: Schedule) -> list[Task]:
    """All pending tasks, the next job first."""
    found: list[Task] = []
    for group, state in now.states.items():
        if now.pace(state) != LAZY or not now.is_movable(state) or now.reach(state, now.head) <= state.watermark:
            continue
        committed_at = now.store.committed_behind(state.watermark)
        reads = [now.notes[number] for number in state.objects if number in now.notes and now.notes[number].read_at]
        next_read = min((note.read_at + note.read_interval for note in reads), default=math.inf)
        found.append(Task(group, state.watermark, committed_at or 0, next_read))
    return sorted(found, key=lambda task: (task.committed_at, task.next_read, task.group))


class LazyTurn:
    """Runs lazy jobs; see the top of the file."""

    def __init__(
        self,
        store: EmbeddedStore,
        spark: SparkSource,
        *,
        settings: LazySettings | None = None,
        load: Callable[[], Load] | None = None,
        clock: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.settings = settings or LazySettings()
        self._store = store
        self._load = load or LoadMeter(store)
        self._clock = clock
        self._maintainer = Maintainer(store, spark, batch_changes=self.settings.job_changes, clock=clock)

    def turn(self) -> Round | None:
        """One wake-up: what its job did; None if it goes back to sleep: clients are busy, or nothing is to do."""
        now = self._maintainer.schedule()
        if all(now.pace(state) != LAZY for state in now.states.values()):
            return None
        # Also while nothing is pending: it counts from the last look.
        load = self._load()
        pending = tasks(now)
        if not pending:
            return None
        first = pending[0]
        waits = (self._clock() - first.committed_at) / 1e6
        if load.is_above(self.settings.busy) and waits < self.settings.patience:
            return None
        return self._maintainer.job(first.group, self._store.boundary(first.watermark, self.settings.job_changes))

    def run(self, stopping: threading.Event, share: Share, told: Callable[[Round], None]) -> None:
        """Go on until it is told to stop."""
        while not stopping.wait(max(self.settings.wake_seconds, share.rest())):
            try:
                with share.busy():
                    done = self.turn()
            except (Closed, ForkedHandle):
                return
            except ViewkeeperError as error:
                # A full disk, say: the next turn tries again.
                done = Round(failed={"maintenance": str(error)})
            if done is not None:
                told(done)
