"""Changes as signed rows: the row before with weight -1, the row after with weight +1.

    Δ(t)  =  Σ over changes of  −before +after

An update that leaves the wanted columns as they were adds nothing, and is dropped here, before anything is shuffled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.model.arrow import arrow_type
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.pipeline.columns import row_columns
from viewkeeper.store.blocks import COLUMNAR, DELETE, INSERT, ROWS, UPDATE, Section
from viewkeeper.store.environment import explained
from viewkeeper.store.rawlog import RawSection

BATCH = 16_384
"""Changes of columnar sections from which a batch is handed on."""
WEIGHT = "_w"
_pairs = msgspec.msgpack.Decoder(
    list[tuple[tuple[tuple | None, tuple | None], ...]]  # type: ignore[type-arg]
).decode


def signed_schema(codec: RowCodec, wanted: Sequence[int]) -> pa.Schema:
    """`c` and its id for each wanted column, then the weight."""
    fields = [pa.field(f"c{number}", arrow_type(codec.table.columns[number].type)) for number in wanted]
    return pa.schema([*fields, pa.field(WEIGHT, pa.int64())])


def signed_rows(
    sections: Iterable[Sequence[RawSection]], codec: RowCodec, wanted: Sequence[int], *, repeats: bool = False
) -> Iterator[pa.RecordBatch]:
    """The changes of these sections as signed rows, in no order; batches are never empty.

    With `repeats`, the last column of the table says how often a row is there.
    """
    schema = signed_schema(codec, wanted)
    columns = (*wanted, len(codec.names) - 1) if repeats else tuple(wanted)
    rows = _RowSections(codec, columns, schema)
    columnar = _ColumnarSections(codec, columns, schema)
    for chunk in sections:
        for section in chunk:
            if section[0] == COLUMNAR:
                columnar.take(*section[1:])
                if columnar.changes >= BATCH:
                    yield from columnar.give()
        yield from rows.signed([section[3] for section in chunk if section[0] == ROWS])
    yield from columnar.give()


class _RowSections:
    """Decodes row sections, many by one call."""

    def __init__(self, codec: RowCodec, wanted: Sequence[int], schema: pa.Schema) -> None:
        self._wanted = wanted
        self._types = [codec.table.columns[number].type for number in wanted]
        self._schema = schema

    def signed(self, bodies: list[bytes]) -> Iterator[pa.RecordBatch]:
        if not bodies:
            return
        decoded = _decoded(bodies)
        olds: list[Row] = []
        news: list[Row] = []
        updated: tuple[list[Row], list[Row]] = ([], [])
        for section in decoded:
            for old, new in section:
                if old is None:
                    assert new is not None
                    news.append(new)
                elif new is None:
                    olds.append(old)
                else:
                    updated[0].append(old)
                    updated[1].append(new)
        before, after = (self._side(side) for side in updated)
        yield from _signed(self._schema, self._side(olds), before, after, self._side(news))

    def _side(self, rows: list[Row]) -> _Side:
        return _Side(len(rows), row_columns(rows, self._wanted, self._types))


@explained
def _decoded(bodies: list[bytes]) -> list[tuple[tuple[Row | None, Row | None], ...]]:
    pairs: list[tuple[tuple[Row | None, Row | None], ...]] = _pairs(
        b"\xdd" + len(bodies).to_bytes(4, "big") + b"".join(bodies)
    )
    return pairs


class _ColumnarSections:
    """Gathers columnar sections, so that each step of Arrow works on many at once."""

    def __init__(self, codec: RowCodec, wanted: Sequence[int], schema: pa.Schema) -> None:
        self._codec = codec
        self._wanted = wanted
        self._schema = schema
        self._ops: list[bytes] = []
        self._olds: list[list[pa.Array]] = []
        self._news: list[list[pa.Array]] = []
        self.changes = 0

    def take(self, columns: int, changes: int, body: bytes) -> None:
        # A section knows where its parts are, and whether they are whole.
        section = Section(COLUMNAR, columns, self._codec.table.id, changes, 0, body)
        ops, before, after = section.checked_batches(self._codec)
        self._ops.append(ops)
        self.changes += changes
        for batch, side in ((before, self._olds), (after, self._news)):
            if batch is not None:
                side.append([self._column(batch, number) for number in self._wanted])

    def _column(self, batch: pa.RecordBatch, number: int) -> pa.Array:
        if number < batch.num_columns:
            return batch.column(number)
        return pa.nulls(len(batch), arrow_type(self._codec.table.columns[number].type))

    def give(self) -> Iterator[pa.RecordBatch]:
        if not self._ops:
            return
        ops = pa.Array.from_buffers(pa.uint8(), self.changes, [None, pa.py_buffer(b"".join(self._ops))])
        is_old = ops.filter(pc.not_equal(ops, INSERT))
        is_new = ops.filter(pc.not_equal(ops, DELETE))
        olds = _Side(len(is_old), self._joined(self._olds))
        news = _Side(len(is_new), self._joined(self._news))
        self._ops, self._olds, self._news, self.changes = [], [], [], 0
        yield from _signed(
            self._schema,
            olds.filter(pc.equal(is_old, DELETE)),
            olds.filter(pc.equal(is_old, UPDATE)),
            news.filter(pc.equal(is_new, UPDATE)),
            news.filter(pc.equal(is_new, INSERT)),
        )

    def _joined(self, side: list[list[pa.Array]]) -> list[pa.Array]:
        if not side:
            return [pa.array([], arrow_type(self._codec.table.columns[number].type)) for number in self._wanted]
        return [pa.concat_arrays(arrays) for arrays in zip(*side, strict=True)]


class _Side(NamedTuple):
    """Some rows by column; their number is said apart, since there may be no column."""

    rows: int
    columns: list[pa.Array]

    def filter(self, mask: pa.Array) -> _Side:
        kept = pc.sum(mask).as_py() or 0
        return self if kept == self.rows else _Side(kept, [array.filter(mask) for array in self.columns])


def _signed(schema: pa.Schema, gone: _Side, before: _Side, after: _Side, come: _Side) -> Iterator[pa.RecordBatch]:
    """Rows of deletes, both sides of updates, and rows of inserts as one batch with weights."""
    changed = _changed(before, after)
    sides = ((gone, -1), (before.filter(changed), -1), (after.filter(changed), 1), (come, 1))
    columns = [pa.concat_arrays(arrays) for arrays in zip(*(side.columns for side, _ in sides), strict=True)]
    weights = pa.concat_arrays([pa.repeat(pa.scalar(weight, pa.int64()), side.rows) for side, weight in sides])
    if len(columns) == len(schema):
        weights = pc.multiply(weights, columns.pop())
    batch = pa.record_batch([*columns, weights], schema=schema)
    if len(batch):
        yield batch


def _changed(before: _Side, after: _Side) -> pa.Array:
    """For each pair of rows, whether any column differs."""
    none = pa.repeat(pa.scalar(False), before.rows)
    return reduce(pc.or_, map(_differs, before.columns, after.columns), none)


def _differs(before: pa.Array, after: pa.Array) -> pa.Array:
    """NULL equals NULL; doubles are compared by their bits, so NaN equals NaN."""
    if pa.types.is_floating(before.type):
        before, after = before.view(pa.int64()), after.view(pa.int64())
    differs = pc.not_equal(before, after)
    if differs.null_count:
        differs = pc.coalesce(differs, pc.xor(before.is_null(), after.is_null()))
    return differs
