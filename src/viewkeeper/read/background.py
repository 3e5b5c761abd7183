"""One thread for each store that does what readers leave to be done: commit a fold, leave word of it.

All of that takes the write lock of the views environment, which a maintainer may hold for seconds. A reader waits for
its own job for milliseconds, and leaves it alone then; a job that finds another one waiting is dropped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, Full, Queue
from weakref import WeakKeyDictionary

from viewkeeper.store.interface import Store

IDLE = 2.0
"""Seconds without a job after which the thread ends; the next job starts another."""


class Job:
    """Something to be done, and whether it was."""

    def __init__(self, do: Callable[[], bool]) -> None:
        self._do = do
        self._over = threading.Event()
        self._done = False

    def run(self) -> None:
        # Whatever fails, nothing is lost: the next read folds again, and the thread has to go on.
        with suppress(Exception):
            self._done = self._do()
        self._over.set()

    def wait(self, seconds: float | None) -> bool:
        """Whether it is done; False if it is not over after so many seconds."""
        return self._over.wait(seconds) and self._done


class Background:
    """The thread, started by its first job; one job at most waits behind the one that runs."""

    def __init__(self) -> None:
        self._queue: Queue[Job] = Queue(1)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def give(self, do: Callable[[], bool]) -> Job | None:
        """Have something done; None if so much is waiting already that it is not."""
        job = Job(do)
        with self._lock:
            try:
                self._queue.put_nowait(job)
            except Full:
                return None
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="viewkeeper-reader", daemon=True)
                self._thread.start()
        return job

    def drain(self) -> None:
        """Wait until nothing is left to be done; the write lock is not waited for longer than others hold it."""
        self._queue.join()

    def _work(self) -> None:
        while True:
            try:
                job = self._queue.get(timeout=IDLE)
            except Empty:
                with self._lock:
                    if self._queue.empty():
                        self._thread = None
                        return
                continue
            job.run()
            # What it was to do holds the store, which may be about to go.
            del job
            self._queue.task_done()


def drain(store: Store) -> None:
    """Wait until the thread of a store, if there is one, has nothing left to do."""
    found = _threads.get(store)
    if found is not None:
        found.drain()


_threads: WeakKeyDictionary[Store, Background] = WeakKeyDictionary()
_lock = threading.Lock()


def background(store: Store) -> Background:
    """The thread of a store."""
    with _lock:
        found = _threads.get(store)
        if found is None:
            found = _threads[store] = Background()
        return found
