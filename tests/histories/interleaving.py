"""Runs scripts step by step, in every order that their steps can take, in one process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Step = Callable[[], object]


def merges(lengths: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All orders of the steps of scripts of these lengths: which script is next, again and again.

    >>> list(merges([1, 2]))
    [(0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    if not any(lengths):
        yield ()
    for script, left in enumerate(lengths):
        if left:
            rest = [length - (number == script) for number, length in enumerate(lengths)]
            yield from ((script, *later) for later in merges(rest))


class Paused:
    """Something that runs in a thread of its own and stops at a place until it is told to go on.

    As steps: `until_there` runs it up to the first time that it calls `here`, `to_the_end` the rest. Where it never
    comes there, the first step is all of it.
    """

    def __init__(self, action: Callable[[Paused], object], timeout: float = 20.0) -> None:
        self._action = action
        self._timeout = timeout
        self._turn = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._armed = True
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def here(self, *_: Any) -> None:
        """Called by what runs, at the place."""
        if self._armed:
            self._armed = False
            self._back.release()
            assert self._turn.acquire(timeout=self._timeout), "nobody goes on"

    def until_there(self) -> None:
        self._thread.start()
        assert self._back.acquire(timeout=self._timeout), "neither there nor at the end"
        self._raise()

    def to_the_end(self) -> None:
        self._turn.release()
        self._thread.join(self._timeout)
        assert not self._thread.is_alive(), "it does not end"
        self._raise()

    def steps(self) -> list[Step]:
        return [self.until_there, self.to_the_end]

    def _run(self) -> None:
        try:
            self._action(self)
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            self._error = error
        finally:
            self._back.release()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error
