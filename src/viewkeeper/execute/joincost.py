"""How a batch meets a join index on Spark: by lookups from the tasks, or by a join with a scan of it.

    lookups    each different key of the batch takes a seek; nothing else of the index is read
    scan       every row of the index is read once, and joined by Spark: sent to all tasks if small, else shuffled

The seconds are those measured on the reference machine (two cores), where the benchmark of joins prints them.
"""

from __future__ import annotations

from dataclasses import dataclass

LOOK_UP = 12e-6
"""Seconds of a core for one key."""
SCAN = 1.8e-6
"""Seconds of a core for one row that is read and joined."""
BROADCAST_ROWS = 200_000
"""Rows up to which an index is sent to all tasks instead of being shuffled."""


@dataclass(frozen=True, slots=True)
class Way:
    """`by` is "lookups" or "scan"; `rows` are those of the index, `keys` at most so many of the batch."""

    by: str
    rows: int
    keys: int

    def __str__(self) -> str:
        return f"{self.by} ({self.keys:,} keys, {self.rows:,} rows)"


def choose(rows: int, keys: int) -> Way:
    """The cheaper way to meet an index of so many rows with a batch of at most so many keys.

    >>> choose(5_000, 1_000_000).by, choose(10_000_000, 50_000).by
    ('scan', 'lookups')
    """
    return Way("lookups" if min(keys, rows) * LOOK_UP < rows * SCAN else "scan", rows, keys)
