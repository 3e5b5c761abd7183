"""The part of time that maintenance may take: it works for a stretch, then rests, so that clients have the machine.

After t seconds of work that began at s, nobody works before s + t / share. The work of several threads adds up. What is
not done meanwhile stays in the log: views lag, status shows by how much, and they catch up when writes are fewer.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from viewkeeper.errors import WrongType
from viewkeeper.pipeline.backfill import Filled, Progress

PACED_BATCH = 50_000
"""Changes that a batch takes in at most for each whole share: what keeps a stretch of work short."""
LEAST_BATCH = 1_000


class Share:
    """Keeps account of work; 1 is all of the time, and then nobody ever rests."""

    def __init__(self, share: float = 1.0, *, clock: Callable[[], float] = time.monotonic) -> None:
        is_number = isinstance(share, int | float) and not isinstance(share, bool)
        if not is_number or math.isnan(share) or not 0 < share <= 1:
            raise WrongType(
                f"share is {share!r}",
                detail="It is the part of time that maintenance may take, above 0 and at most 1.",
                hint="Write 0.2 for one second in five; to halt maintenance, stop it.",
            )
        self.share = float(share)
        self._clock = clock
        self._lock = threading.Lock()
        self._free_at = -math.inf

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Count what is done inside as work."""
        began = self._clock()
        try:
            yield
        finally:
            self.spent(began)

    def spent(self, began: float) -> None:
        """Count the time since a moment as work."""
        with self._lock:
            self._free_at = max(self._free_at, began) + (self._clock() - began) / self.share

    def rest(self) -> float:
        """For how many seconds nobody is to work; 0 if there is nothing to make up for."""
        if self.share == 1:
            return 0.0
        with self._lock:
            return max(0.0, self._free_at - self._clock())

    def batch(self, most: int) -> int:
        """How many changes a batch may take in, where it may take in so many at most."""
        return most if self.share == 1 else min(most, max(LEAST_BATCH, int(PACED_BATCH * self.share)))

    def paced(self, wait: Callable[[float], object], progress: Progress | None) -> Paced:
        return Paced(self, wait, progress)

    def now(self) -> float:
        return self._clock()


class Paced:
    """Is told of each step of a fill: counts it as work, and rests before the next one. One thread's."""

    def __init__(self, share: Share, wait: Callable[[float], object], progress: Progress | None) -> None:
        self._share = share
        self._wait = wait
        self._progress = progress
        self._began = share.now()

    def begin(self) -> None:
        """Rest before the first step of a fill."""
        self._wait(self._share.rest())
        self._began = self._share.now()

    def __call__(self, filled: Filled) -> None:
        self._share.spent(self._began)
        if self._progress is not None:
            self._progress(filled)
        self.begin()
