"""Threads that are waited for with patience, and a commit that is held open so that others queue up behind it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from viewkeeper.store.embedded import EmbeddedStore

PATIENCE = 10.0
"""Seconds from which something is taken to hang."""


class Thread(threading.Thread):
    """A thread whose result, or error, can be asked for."""

    def __init__(self, action: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self.action = action
        self.result: Any = None
        self.start()

    def run(self) -> None:
        try:
            self.result = self.action()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            self.result = error

    def ended(self) -> Any:
        self.join(PATIENCE)
        assert not self.is_alive(), "hangs"
        return self.result


class Round:
    """A commit that is held open until it is told to go on, so that others queue up behind it."""

    def __init__(self, store: EmbeddedStore) -> None:
        self.store = store
        self._inside, self._go_on = threading.Event(), threading.Event()
        self.leader = Thread(lambda: store.write(self._work))
        assert self._inside.wait(PATIENCE)

    def _work(self, txn: Any) -> str:
        self._inside.set()
        assert self._go_on.wait(PATIENCE)
        return "led"

    def wait_for(self, members: int) -> None:
        """Until that many wait behind it; its leader is in the queue, too."""
        deadline = time.monotonic() + PATIENCE
        while len(self.store._group._queue) <= members:
            assert time.monotonic() < deadline
            time.sleep(0.001)

    def go_on(self) -> None:
        self._go_on.set()
