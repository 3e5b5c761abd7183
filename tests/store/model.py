"""The store as a dict per table and a list of what happened: what the random tests compare it with.

Shares nothing with store/: keys are codes of model/keycodec.py, rows are tuples of cells.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from viewkeeper.model.types import Cell, Row

Rows = dict[bytes, Row]
Write = Row | Mapping[int, Cell] | None
"""What is wanted of a key: a whole row, cells to merge into what is there, or None for no row."""


def same(left: Row | None, right: Row | None) -> bool:
    """Whether two rows hold the same cells, to the bit; one may lack columns that are NULL."""
    return (left is None) == (right is None) and _bits(left or ()) == _bits(right or ())


def _bits(row: Row) -> list[tuple[type, object]]:
    cells = [(type(cell), struct.pack(">d", cell) if isinstance(cell, float) else cell) for cell in row]
    while cells and cells[-1][1] is None:
        cells.pop()
    return cells  # type: ignore[return-value]


def ordered(rows: Rows) -> list[Row]:
    return [rows[key] for key in sorted(rows)]


def overlaid(row: Row | None, write: Write, width: int) -> Row | None:
    """The row behind a write."""
    if not isinstance(write, Mapping):
        return write
    cells = list(row or ()) + [None] * (width - len(row or ()))
    for number, cell in write.items():
        cells[number] = cell
    return tuple(cells)


@dataclass(frozen=True)
class Logged:
    """One transaction: by table, the rows before and after of each key that it changed."""

    start: int
    end: int
    changes: dict[int, dict[bytes, tuple[Row | None, Row | None]]]


@dataclass
class Model:
    """All tables by id, as they are and as they were at each transaction boundary."""

    now: dict[int, Rows] = field(default_factory=dict)
    widths: dict[int, int] = field(default_factory=dict)
    states: dict[int, dict[int, Rows]] = field(default_factory=lambda: {0: {}})
    log: list[Logged] = field(default_factory=list)
    head: int = 0
    oldest: int = 0

    def commit(self, writes: Mapping[int, Mapping[bytes, Write]]) -> int:
        """The head behind them."""
        changes: dict[int, dict[bytes, tuple[Row | None, Row | None]]] = {}
        for table, by_key in writes.items():
            for key, write in by_key.items():
                before = self.now[table].get(key)
                after = overlaid(before, write, self.widths[table])
                if same(before, after):
                    continue
                changes.setdefault(table, {})[key] = (before, after)
                if after is None:
                    del self.now[table][key]
                else:
                    self.now[table][key] = after
        if changes:
            start, self.head = self.head, self.head + sum(map(len, changes.values()))
            self.log.append(Logged(start, self.head, changes))
            self.states[self.head] = {table: dict(rows) for table, rows in self.now.items()}
        return self.head

    def at(self, table: int, position: int) -> Rows:
        """A table as it was; a position inside a transaction is its end. Empty before the table was made."""
        boundary = min(known for known in self.states if known >= position)
        return self.states[boundary].get(table, {})

    def changed_since(self, table: int, position: int) -> set[bytes]:
        return {key for one in self.log if one.start >= position for key in one.changes.get(table, ())}

    def truncate(self) -> None:
        """Without retention: everything but the last block."""
        if self.log:
            self.oldest = self.log[-1].start
