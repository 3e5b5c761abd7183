"""How many partners each row of one side of a join has, kept because a condition makes rows of one key differ."""

from __future__ import annotations

from viewkeeper.execute.joinindex import IndexRunner
from viewkeeper.model.layout import Layout
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.viewreading import ViewReading


class PartnerCounts:
    """The counts of one side in one batch, by the keys that its join index has. A row without partners has no entry."""

    def __init__(self, layout: Layout, index: IndexRunner, reading: ViewReading) -> None:
        self._codec = RowCodec(layout)
        self._index = index
        self._reading = reading
        self._now: dict[bytes, tuple[Row, int]] = {}

    def get(self, key: bytes) -> int:
        """The partners of a row so far."""
        known = self._now.get(key)
        if known is not None:
            return known[1]
        stored = self._reading.get(self._codec.table.id, key)
        count: int = 0 if stored is None else self._codec.decode(stored)[-1]  # type: ignore[assignment]
        return count

    def set(self, key: bytes, row: Row, count: int) -> None:
        """A row now has so many partners; 0 as well if it is gone."""
        self._now[key] = (row, count)

    def store(self, objects: dict[int, ObjectChanges]) -> None:
        kept = objects.setdefault(self._codec.table.id, ObjectChanges(self._codec)).changes
        for key, (row, count) in self._now.items():
            kept[key] = (None, self._codec.encode((*self._index.key_cells(row), count)) if count else None)
