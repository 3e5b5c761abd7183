"""Signed rows as a view without aggregates stores them, and what is handed from the first stage of a plan to the rest.

A KEYED row is stored as it is. A WEIGHTED one has its weight behind it, which is known only when the store has been
read, so it is encoded up to there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from viewkeeper.delta.program import Program, Storage
from viewkeeper.execute.changetable import ChangeTable, Weighted
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Kind, Row
from viewkeeper.store.applying import ObjectChanges

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(int).decode


@dataclass(slots=True)
class EncodedRows:
    """Encoded key, encoded row and weight of each. No pair of key and row twice, no weight zero."""

    keys: Sequence[bytes]
    rows: Sequence[bytes]
    weights: Sequence[int]


class FirstChanges(NamedTuple):
    """What the first stage of a view makes of the delta of its input: a change table, or rows; and the errors in it.

    `objects` are the changes of what is kept below it: join indexes, and the state of sub-queries that are joined.
    """

    changes: ChangeTable | EncodedRows
    errors: int
    objects: Mapping[int, ObjectChanges] = {}


class RowEncoder:
    """Encodes the rows of one view. Executors need not agree on the bits of a NaN, so there is to be only one."""

    def __init__(self, program: Program) -> None:
        self.codec = RowCodec(program.layout)
        self.is_weighted = program.storage is Storage.WEIGHTED
        columns = self.codec.table.columns
        self._doubles = [place for place, column in enumerate(columns) if column.type.kind is Kind.DOUBLE]

    def encode(self, rows: Iterable[Row]) -> tuple[list[bytes], list[bytes]]:
        """The keys and the rows, in order, of rows in which every NaN is `math.nan`."""
        stored = [(*row, 0) for row in rows] if self.is_weighted else list(rows)
        encoded = list(map(self.codec.encode, stored))
        if self.is_weighted:
            # The weight, being 0, takes one byte.
            encoded = [row[:-1] for row in encoded]
        return list(map(self.codec.key.encode, stored)), encoded

    def netted(self, rows: Sequence[Weighted]) -> EncodedRows:
        """Weighted rows with what cancels out left out."""
        plain: Iterable[Row] = (row for row, _ in rows)
        keys, encoded = self.encode(map(self._with_one_nan, plain) if self._doubles else plain)
        net: dict[tuple[bytes, bytes], int] = {}
        for key, row, (_, weight) in zip(keys, encoded, rows, strict=True):
            net[key, row] = net.get((key, row), 0) + weight
        left = [(key, row, weight) for (key, row), weight in net.items() if weight]
        return EncodedRows(*map(list, zip(*left, strict=True))) if left else EncodedRows([], [], [])

    def _with_one_nan(self, row: Row) -> Row:
        if all(row[place] == row[place] for place in self._doubles):
            return row
        return tuple(math.nan if cell != cell else cell for cell in row)


_WEIGHTS = [_pack(weight) for weight in range(128)]


def with_weight(row: bytes, weight: int) -> bytes:
    """A row whose last column is a weight, as it is stored, given the row up to there."""
    return row + (_WEIGHTS[weight] if 0 <= weight < 128 else _pack(weight))


def weight_behind(row: bytes, stored: bytes) -> int:
    """The weight of such a row as it is stored.

    >>> weight_behind(b"row", with_weight(b"row", 7)), weight_behind(b"row", with_weight(b"row", 1 << 40))
    (7, 1099511627776)
    """
    return stored[-1] if len(stored) == len(row) + 1 else _unpack(stored[len(row) :])
