"""Bulk writes: an Arrow batch as one transaction.

Has the meaning of `put` for each row. Where no row is there yet, which is what loads are made of, nothing is decoded,
nothing compared, and the batch itself becomes the block of the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Row
from viewkeeper.store import blocks
from viewkeeper.store.cardinality import Counts
from viewkeeper.store.catalog import Catalog, Databases
from viewkeeper.store.commit import append_block, commit_writes, settled
from viewkeeper.store.environment import Txn
from viewkeeper.store.keyspace import RUN, stored_key
from viewkeeper.store.samples import is_sampled, keep_sample
from viewkeeper.store.writes import WriteSet

if TYPE_CHECKING:
    import pyarrow as pa


class Batch:
    """Rows to be put, encoded outside of any lock.

    `data` has columns of the table, by name, in Arrow's types for them; the key columns are among them and not NULL.
    """

    def __init__(self, codec: RowCodec, data: pa.RecordBatch) -> None:
        from viewkeeper.model.arrow import to_cells

        self.codec = codec
        columns = codec.table.columns
        self._data = data
        self.given = [codec.table.column_id(name) for name in data.schema.names]
        absent: list[Cell] = [None] * len(data)
        cells: list[Sequence[Cell]] = [absent] * len(columns)
        for number, array in zip(self.given, data.columns, strict=True):
            cells[number] = to_cells(array, columns[number].type)
            if array.null_count and not columns[number].nullable:
                raise codec.missing(number)
        self.rows: list[Row] = list(zip(*cells, strict=True))
        self.keys = list(map(codec.key.encode, self.rows))
        self.values = list(map(codec.encode, self.rows))
        self.stored = self.keys if max(map(len, self.keys), default=0) < RUN else list(map(stored_key, self.keys))
        self.samples = [stored for key, stored in zip(self.keys, self.stored, strict=True) if is_sampled(key)]
        if sum(map(len, self.values)) > 1 << 20:
            for value in self.values:
                codec.check_size(value)

    def after(self) -> pa.RecordBatch:
        """The rows as a batch with all columns of the table, in its order."""
        import pyarrow as pa

        from viewkeeper.model.arrow import arrow_type, table_schema

        size = len(self._data)
        arrays = []
        for number, column in enumerate(self.codec.table.columns):
            if number in self.given:
                arrays.append(self._data.column(self.given.index(number)))
            else:
                arrays.append(pa.nulls(size, arrow_type(column.type)))
        return pa.record_batch(arrays, schema=table_schema(self.codec.table))

    def as_writes(self) -> WriteSet:
        writes = WriteSet()
        for key, row in zip(self.keys, self.rows, strict=True):
            writes.put(self.codec, key, {number: row[number] for number in self.given})
        return writes


def load_batch(txn: Txn, catalog: Catalog, batch: Batch) -> int:
    """Put the rows of a batch; the head behind them."""
    codec = settled(catalog, batch.codec)
    databases = catalog.databases
    if not batch.keys:
        return append_block(txn, databases, [], 0)
    if codec.table.id in catalog.followed or not _is_new(txn, databases, codec, batch):
        return commit_writes(txn, catalog, batch.as_writes())
    _check_required(codec, batch)
    number = codec.table.id
    txn.cursor(db=databases.tables[number]).putmulti(list(zip(batch.stored, batch.values, strict=True)))
    for stored in batch.samples:
        keep_sample(txn, databases.samples, number, stored)
    if codec.table.cardinalities:
        counts = Counts(codec)
        for row in batch.rows:
            counts.add(row, 1)
        counts.apply(txn, databases.counts)
    size = len(batch.keys)
    section = blocks.columnar_section(codec, bytes([blocks.INSERT]) * size, None, batch.after())
    return append_block(txn, databases, [section], size)


def _is_new(txn: Txn, databases: Databases, codec: RowCodec, batch: Batch) -> bool:
    """Whether no key of the batch is there yet and none comes twice."""
    if len(set(batch.keys)) < len(batch.keys):
        return False
    db = databases.tables[codec.table.id]
    if txn.stat(db)["entries"] == 0:
        return True
    cursor = txn.cursor(db=db)
    if cursor.last() and cursor.key() < min(batch.stored):
        return True
    return not cursor.getmulti(batch.stored)


def _check_required(codec: RowCodec, batch: Batch) -> None:
    given = set(batch.given)
    for number, column in enumerate(codec.table.columns):
        if not column.nullable and number not in given:
            raise codec.missing(number)
