"""A join index while a batch runs: what it held at the group's watermark, what the batch changes, and both together.

Rows are told apart by their encoded keys, so that a NaN, or -0.0 beside 0.0, makes no difference between a row that is
looked up and the same row that a change takes away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

from viewkeeper.delta.joinplan import Index
from viewkeeper.delta.tables import IndexTable
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.encodedrows import EncodedRows, with_weight
from viewkeeper.execute.rows.expr import Failures, compile_row
from viewkeeper.model.picking import picker
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Kind, Row
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.scan import Interval
from viewkeeper.store.viewreading import ViewReading

SLICE = 4
MOST_SLICE = 4096


class IndexRunner:
    """One join index, compiled once and used batch by batch."""

    def __init__(self, index: Index, table: IndexTable) -> None:
        self.side = index.side
        self.table = table
        self.codec = RowCodec(table.layout)
        self._key = compile_row(index.key)
        self._depth = len(index.key)
        columns = table.layout.columns
        self._width = len(columns)
        self._pick = picker(table.places)
        stored = {place: number for number, place in enumerate(table.places)}
        self._unique = picker([stored[place] for place in table.layout.key[self._depth :]])
        self._doubles = any(columns[place].type.kind is Kind.DOUBLE for place in table.places)

    @property
    def id(self) -> int:
        return self.table.layout.id

    def prefix(self, key: Sequence[Any]) -> bytes | None:
        """The beginning of the keys under which rows with this lookup key are; None if part of it is NULL."""
        return None if None in key else self.codec.key.encode_key(key)

    def prefix_of(self, row: Row) -> bytes | None:
        """The same for a row of the side."""
        return self.prefix(self._key(row, Failures()))

    def key_cells(self, row: Row) -> Row:
        """The key of a row of the side in this index, as cells."""
        return (*self._key(row, Failures()), *self._unique(row))

    def encode(self, row: Row) -> tuple[bytes, bytes, bytes] | None:
        """Prefix, key and stored row of a row of the side; None if part of its lookup key is NULL.

        Where rows may repeat, the stored row lacks its last column, the weight.
        """
        looked_up = self._key(row, Failures())
        if None in looked_up:
            return None
        if self._doubles:
            row = tuple(math.nan if cell != cell else cell for cell in row)
        whole: list[Any] = [None] * self._width
        whole[: self._depth] = looked_up
        for place, cell in zip(self.table.places, row, strict=True):
            whole[place] = cell
        if self.table.is_weighted:
            whole[-1] = 0
        stored = self.codec.encode(tuple(whole))
        key = self.codec.key
        return (
            key.encode_key(looked_up),
            key.encode(tuple(whole)),
            stored[:-1] if self.table.is_weighted else stored,
        )

    def lower(self, prefix: bytes, reading: ViewReading, most: int | None = None) -> dict[bytes, Weighted]:
        """The rows of the side under a prefix by key, with their weights, as of the watermark; with `most`, so many.

        A batch that asks again for the whole of a prefix is answered from memory.
        """
        slot = reading.object(self.id).slot
        known = reading.found.setdefault(slot, {})
        whole = known.get(prefix)
        if whole is None:
            whole = self._read(prefix, reading, most)
            if most is None or len(whole) < most:
                known[prefix] = whole
        return {key: self._row(stored) for key, stored in whole}

    def _read(self, prefix: bytes, reading: ViewReading, most: int | None) -> list[tuple[bytes, Row]]:
        rest = Interval.of_prefix(prefix)
        count = SLICE if most is None else most
        found: list[tuple[bytes, Row]] = []
        while True:
            items = reading.slice(self.codec, rest, count)
            found += [(key, self.codec.decode(value)) for key, value in items]
            if len(items) < count or (most is not None and len(found) >= most):
                return found
            rest = Interval(items[-1][0] + b"\0", rest.upper)
            count = min(count * 8, MOST_SLICE)

    def _row(self, stored: Row) -> Weighted:
        weight: Any = stored[-1] if self.table.is_weighted else 1
        return self._pick(stored), weight

    def delta(self, rows: Iterable[Weighted]) -> IndexDelta:
        return IndexDelta(self, rows)


class IndexDelta:
    """What a batch does to one index, netted: a row that comes and goes again is not in it."""

    def __init__(self, index: IndexRunner, rows: Iterable[Weighted]) -> None:
        self.index = index
        net: dict[tuple[bytes, bytes, bytes], tuple[Row, int]] = {}
        for row, weight in rows:
            place = index.encode(row)
            if place is not None:
                known = net.get(place)
                net[place] = (row, weight if known is None else known[1] + weight)
        self._net = net
        self._by_prefix: dict[bytes, list[tuple[bytes, Row, int]]] | None = None

    def changed(self) -> dict[bytes, list[tuple[bytes, Row, int]]]:
        """Key, row and weight of what changes, by prefix."""
        if self._by_prefix is None:
            self._by_prefix = {}
            for (prefix, key, _), (row, weight) in self._net.items():
                if weight:
                    self._by_prefix.setdefault(prefix, []).append((key, row, weight))
        return self._by_prefix

    def upper(self, prefix: bytes, reading: ViewReading) -> dict[bytes, Weighted]:
        """The rows under a prefix by key, with their weights, once the batch is applied."""
        found = self.index.lower(prefix, reading)
        # What goes before what comes: a row that changes keeps its key.
        for key, row, weight in sorted(self.changed().get(prefix, ()), key=lambda change: change[2]):
            known = found.get(key)
            old = known[1] if known is not None and self.index.table.is_weighted else 0
            total = max(weight + old, 0)
            if total:
                found[key] = (row, total)
            else:
                found.pop(key, None)
        return found

    def store(self, reading: ViewReading, objects: dict[int, ObjectChanges]) -> None:
        """Add what has to be written; another view that shares the table may have done so."""
        slot = reading.object(self.index.id).slot
        if slot in reading.written:
            return
        reading.written.add(slot)
        kept = objects.setdefault(self.index.id, ObjectChanges(self.index.codec)).changes
        if self.index.table.is_weighted:
            self._add_weights(reading, kept)
            return
        for (_, key, row), (_, weight) in self._net.items():
            if weight > 0:
                kept[key] = (None, row)
            elif weight < 0:
                kept.setdefault(key, (None, None))

    def _add_weights(self, reading: ViewReading, kept: dict[bytes, Any]) -> None:
        changes = [(key, row, weight) for (_, key, row), (_, weight) in self._net.items()]
        _add_weights(self.index.codec, changes, reading, kept)


def bulk_changes(table: IndexTable, parts: Sequence[EncodedRows], reading: ViewReading) -> ObjectChanges:
    """The changes of an index that follow from signed rows as it stores them.

    Each part is netted. Of a key that is in several, the last part has the last word: parts come in the order of the
    log, or have no key in common.
    """
    codec = RowCodec(table.layout)
    changes = ObjectChanges(codec)
    if table.is_weighted:
        for rows in parts:
            _add_weights(codec, zip(rows.keys, rows.rows, rows.weights, strict=True), reading, changes.changes)
        return changes
    for rows in parts:
        gone = map((0).__gt__, rows.weights)
        changes.rows.update(dict.fromkeys(compress(rows.keys, gone)))
        come = list(map((0).__lt__, rows.weights))
        changes.rows.update(zip(compress(rows.keys, come), compress(rows.rows, come), strict=True))
    return changes


def _add_weights(
    codec: RowCodec, changes: Iterable[tuple[bytes, bytes, int]], reading: ViewReading, kept: dict[bytes, Any]
) -> None:
    moves: dict[bytes, tuple[bytes, int]] = {}
    for key, row, weight in changes:
        # Two rows have one key if they differ in -0.0 and 0.0; what comes is kept, not what goes.
        known = moves.get(key)
        moves[key] = (row, weight) if known is None else (row if weight > 0 else known[0], known[1] + weight)
    stored = reading.get_many(codec.table.id, list(moves))
    for (key, (row, weight)), before in zip(moves.items(), stored, strict=True):
        old: Any = 0 if before is None else codec.decode(before)[-1]
        total = weight + old
        kept[key] = (None, with_weight(row, total) if total else None)
