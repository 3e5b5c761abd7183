"""How busy clients are, as the lazy turn sees it between two wake-ups.

    writes    transactions a second that came to the log since the last look, of all processes
    latency   seconds that a write transaction of the base environment has to wait before it begins: one is begun, and
              given up at once, so it counts who writes now and changes nothing
    reads     read transactions that are open now, of all processes; their own ones of maintenance among them

Single reads by key are over in microseconds and are rarely seen; many of them at once are.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from viewkeeper.store.embedded import EmbeddedStore

MOST_BLOCKS = 10_000
"""Transactions that are counted at most; more are far too many anyway."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """See the top of the file."""

    writes: float = 0.0
    latency: float = 0.0
    reads: int = 0

    def is_above(self, limits: Load) -> bool:
        """Whether any of the three is more than its limit."""
        return self.writes > limits.writes or self.latency > limits.latency or self.reads > limits.reads


class LoadMeter:
    """Measures the load since it was last asked."""

    def __init__(self, store: EmbeddedStore, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._head = store.offset(store.head())
        self._looked = clock()

    def __call__(self) -> Load:
        now, head = self._clock(), self._store.offset(self._store.head())
        lower = max(self._head, self._store.offset(self._store.oldest()))
        blocks = self._store.blocks(self._store.position(lower), None, frozenset(), MOST_BLOCKS) if head > lower else []
        seconds = max(now - self._looked, 1e-3)
        self._head, self._looked = head, now
        return Load(writes=len(blocks) / seconds, latency=self._probe(), reads=self._store.reader_count())

    def _probe(self) -> float:
        began = self._clock()
        self._store.base.begin(write=True).abort()
        return self._clock() - began
