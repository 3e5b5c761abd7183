"""CARDINALITY limits, by one counter for each value of the other key columns.

A limit costs a read and a write of its counter per row that comes or goes, whatever the number of rows. The words of a
text are counted in the text itself, each time that its row is written.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from viewkeeper.errors import CardinalityExceeded
from viewkeeper.model.keycodec import KeyCodec
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Cardinality
from viewkeeper.model.types import Row, Type
from viewkeeper.model.values import present
from viewkeeper.model.words import tokens
from viewkeeper.store.environment import Database, Txn

_count = struct.Struct(">Q")
_LONGEST = 480


def group_codec(codec: RowCodec, number: int) -> KeyCodec:
    """The key columns that limit `number` does not name."""
    limited = {codec.table.column_id(name) for name in codec.table.cardinalities[number].columns}
    ids = [column for column in codec.key.columns if column not in limited]
    return _compiled(tuple(ids), tuple(codec.table.columns[column].type for column in ids))


@lru_cache(maxsize=1_000)
def _compiled(ids: tuple[int, ...], types: tuple[Type, ...]) -> KeyCodec:
    """To compile one takes longer than the rest of a small transaction."""
    return KeyCodec(ids, types)


class Counts:
    """The counters that one transaction moves for one table; checked when all its rows are known."""

    __slots__ = ("_codec", "_groups", "_moves", "_texts")

    def __init__(self, codec: RowCodec) -> None:
        self._codec = codec
        limits = codec.table.cardinalities
        self._groups = {number: group_codec(codec, number) for number, limit in enumerate(limits) if not limit.words}
        self._texts = [(codec.table.column_id(limit.columns[0]), limit) for limit in limits if limit.words]
        self._moves: dict[bytes, tuple[int, int, Row]] = {}

    def check_words(self, row: Row) -> None:
        """CardinalityExceeded if a text of a row that is written has more words than it may."""
        for column, limit in self._texts:
            text = row[column]
            # One of n words has 2 n - 1 characters or more.
            if isinstance(text, str) and len(text) > 2 * limit.limit and len(tokens(text)) > limit.limit:
                raise self._too_many_words(row, column, limit)

    def add(self, row: Row, by: int) -> None:
        """Count a row that comes (+1) or goes (-1); CardinalityExceeded as of check_words if it comes."""
        if by > 0:
            self.check_words(row)
        for number, group in self._groups.items():
            key = self._key(number, group.encode(row))
            self._moves[key] = (self._moves.get(key, (0, 0, row))[0] + by, number, row)

    def _key(self, number: int, group: bytes) -> bytes:
        if len(group) > _LONGEST:
            group = blake2b(group, digest_size=32).digest()
        return struct.pack(">IB", self._codec.table.id, number) + group

    def check(self, txn: Txn, db: Database) -> list[tuple[bytes, int]]:
        """The counters that move, and what they come to; CardinalityExceeded if one that grew is above its limit."""
        totals = []
        for key, (by, number, row) in self._moves.items():
            if by == 0:
                continue
            stored = txn.get(key, db=db)
            total = (_count.unpack(stored)[0] if stored else 0) + by
            if by > 0 and total > self._codec.table.cardinalities[number].limit:
                raise self._exceeded(number, row, total)
            totals.append((key, total))
        return totals

    def apply(self, txn: Txn, db: Database) -> None:
        """Move the counters, if `check` lets them."""
        set_counts(txn, db, self.check(txn, db))

    def _exceeded(self, number: int, row: Row, total: int) -> CardinalityExceeded:
        table = self._codec.table
        limit = table.cardinalities[number]
        group = self._shown(row, self._groups[number].columns)
        return CardinalityExceeded(
            f'table "{table.name}" would hold {total} values of {", ".join(limit.columns)}'
            f"{' for ' + group if group else ''}, more than {limit.limit}",
            detail=f"It was created with {limit}.",
            hint="Delete another one first.",
        )

    def _too_many_words(self, row: Row, column: int, limit: Cardinality) -> CardinalityExceeded:
        table = self._codec.table
        count = len(tokens(str(row[column])))
        return CardinalityExceeded(
            f'column "{table.columns[column].name}" of table "{table.name}" would hold {count} words'
            f" for {self._shown(row, self._codec.key.columns)}, more than {limit.limit}",
            detail=f"It was created with {limit}.",
            hint="Write a shorter text.",
        )

    def _shown(self, row: Row, ids: Sequence[int]) -> str:
        columns = self._codec.table.columns
        return ", ".join(f"{columns[n].name}={present(row[n], columns[n].type)!r}" for n in ids)


def set_counts(txn: Txn, db: Database, totals: list[tuple[bytes, int]]) -> None:
    for key, total in totals:
        if total > 0:
            txn.put(key, _count.pack(total), db=db)
        else:
            txn.delete(key, db=db)
