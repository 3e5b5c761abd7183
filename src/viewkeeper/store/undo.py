"""Reads of the past: what is in a table now, with the changes since a position undone.

    table at p  =  table now, where each key changed at or behind p has the row before its first such change

One mechanism serves as-of reads, scans in slices, snapshots and the validation of transactions: all need what has
changed since a position, and nothing that a writer can take away while the log is retained.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from viewkeeper.errors import NotRetained
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.store import log
from viewkeeper.store.blocks import Block
from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.scan import Interval

Keyed = tuple[bytes, Row]


class TableUndo:
    """The keys of one table changed since a position, each with its row at that position (None = absent).

    The position is a transaction boundary.
    """

    __slots__ = ("_width", "before", "keys", "upto")

    def __init__(self, position: int) -> None:
        self.upto = position
        self.before: dict[bytes, Row | None] = {}
        self.keys: list[bytes] = []
        self._width = 0

    def catch_up(self, txn: Txn, log_db: Database, head: int, codec: RowCodec) -> None:
        """Take in the changes up to `head`, which must be the head that `txn` sees."""
        self._widen(len(codec.names))
        # A reader whose transaction is older than what was taken in already loses nothing: a key that changed behind
        # its transaction has, in it, the very row that is kept here.
        if self.upto < head:
            self.take(log.read(txn, log_db, self.upto, head, codec.table.id.__eq__), codec, head)

    def take(self, blocks: Iterable[Block], codec: RowCodec, upto: int) -> None:
        """Take in the sections of these blocks, which are all there is of the table up to `upto`."""
        encode = codec.key.encode
        before = self.before
        fresh: list[bytes] = []
        for block in blocks:
            for section in block.sections:
                for old, new in section.pairs(codec):
                    row = new if old is None else old
                    assert row is not None
                    key = encode(row)
                    if key not in before:
                        before[key] = old
                        fresh.append(key)
        self.upto = upto
        # A new list each time: other threads may be looking at the one before.
        self.keys = sorted(self.keys + fresh)

    def _widen(self, width: int) -> None:
        """Give rows that were taken in before ADD COLUMN their NULLs."""
        if self._width == width:
            return
        self._width = width
        for key, row in self.before.items():
            if row is not None:
                self.before[key] = row + (None,) * (width - len(row))

    def within(self, interval: Interval) -> list[bytes]:
        """The changed keys of an interval, ascending."""
        keys = self.keys
        start = bisect_left(keys, interval.lower)
        end = len(keys) if interval.upper is None else bisect_left(keys, interval.upper)
        return keys[start:end]

    def rewrite(self, items: list[Keyed], interval: Interval, *, reverse: bool) -> list[Keyed]:
        """The items of an interval as they were: changed keys get their old rows, or go, or come back."""
        changed = self.within(interval)
        if not changed:
            return items
        merged = dict(items)
        for key in changed:
            row = self.before[key]
            if row is None:
                merged.pop(key, None)
            else:
                merged[key] = row
        return sorted(merged.items(), key=lambda item: item[0], reverse=reverse)


def check_retained(database: str, position: int, oldest: int) -> None:
    """NotRetained if the log no longer reaches back to `position`."""
    if position < oldest:
        raise NotRetained(
            f"position {Position(database, (position,))} is no longer retained",
            detail=f"The oldest position that can be read is {Position(database, (oldest,))}.",
            hint="Raise log_retention, or pin the position while you need it.",
        )
