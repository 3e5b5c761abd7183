"""The feeds of views: what each apply changed, kept as blocks.

"feed"   object id (4) upper (8) lower (8) committed at (8) → block of blocks.py, one section
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from viewkeeper.store.blocks import Block, decode_block
from viewkeeper.store.environment import Database, Environment, Txn, explained

FEED = b"feed"
FEED_BLOCKS = 64
"""Blocks of a feed that are read in one transaction."""
feed_key = struct.Struct(">IQQq")
_object = struct.Struct(">I")


class ViewFeeds:
    """Reads and truncates them; an apply writes them."""

    _env: Environment
    feed_db: Database

    @explained
    def feed(
        self, number: int, since: int, upto: int | None = None, *, repaired_since: int | None = None
    ) -> list[tuple[int, Block]]:
        """The changes of a view that were applied behind `since` and not behind `upto`, with the upper end of each.

        With `repaired_since`, first the repairs at `since` itself that were made behind that moment (µs): whoever
        follows a view and has reached its watermark would miss them.

        The first FEED_BLOCKS of them, or a few more. A repair is a change that begins and ends at one position.
        """
        found: list[tuple[int, Block]] = []
        with self._env.begin() as txn:
            cursor = txn.cursor(db=self.feed_db)
            start = feed_key.pack(number, since + 1, 0, 0)[:12]
            if repaired_since is not None:
                start = feed_key.pack(number, since, since, repaired_since + 1)
            if not cursor.set_range(start):
                return found
            for key in cursor.iternext(keys=True, values=False):
                owner, upper, lower, committed_at = feed_key.unpack(key)
                # Never cut between an apply and a repair that ends where it does: the next read begins behind both.
                whole = len(found) >= FEED_BLOCKS and upper != found[-1][0]
                if owner != number or (upto is not None and upper > upto) or whole:
                    break
                found.append((upper, decode_block(lower, upper - lower, committed_at, cursor.value())))
        return found

    @explained
    def block_around(self, number: int, offset: int) -> tuple[int, int] | None:
        """Both ends of the block of a view's feed that a position is inside of; None if the view may stand there."""
        with self._env.begin() as txn:
            cursor = txn.cursor(db=self.feed_db)
            if not cursor.set_range(feed_key.pack(number, offset + 1, 0, 0)[:12]):
                return None
            owner, upper, lower, _ = feed_key.unpack(cursor.key())
        return (lower, upper) if owner == number and lower < offset else None

    def feed_between(self, number: int, since: int, upto: int | None = None) -> Iterator[tuple[int, Block]]:
        """All of a feed, in transactions of FEED_BLOCKS."""
        while blocks := self.feed(number, since, upto):
            yield from blocks
            since = blocks[-1][0]

    @explained
    def truncate_feeds(self, keep: int, committed_before: int, most: int) -> int:
        """Remove up to `most` blocks of feeds that end at or before `keep` and are older than a moment (µs)."""
        removed = 0
        with self._env.begin(write=True) as txn:
            cursor = txn.cursor(db=self.feed_db)
            found = cursor.first()
            while found and removed < most:
                number, upper, _, committed_at = feed_key.unpack(cursor.key())
                if upper <= keep and committed_at < committed_before:
                    found = cursor.delete() and bool(cursor.key())
                    removed += 1
                else:
                    # Blocks of one object are in order: what follows is younger.
                    found = cursor.set_range(_object.pack(number + 1))
        return removed

    @explained
    def oldest_feed(self, number: int) -> int | None:
        """Where the first block that is kept of a view's feed begins; None if there is none."""
        with self._env.begin() as txn:
            cursor = txn.cursor(db=self.feed_db)
            if not cursor.set_range(_object.pack(number)) or not cursor.key().startswith(_object.pack(number)):
                return None
            lower: int = feed_key.unpack(cursor.key())[2]
            return lower


def remove_feed(txn: Txn, db: Database, number: int) -> None:
    cursor = txn.cursor(db=db)
    found = cursor.set_range(_object.pack(number))
    while found and cursor.key().startswith(_object.pack(number)):
        found = cursor.delete() and bool(cursor.key())
