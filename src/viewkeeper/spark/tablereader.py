"""Batch reads: the rows of a table or view as of one position, in parallel by intervals of keys."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from viewkeeper.errors import WrongType
from viewkeeper.model.arrow import arrow_type
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.pipeline.columns import encoded_columns
from viewkeeper.pipeline.sparktypes import spark_type
from viewkeeper.spark.keyfilters import key_intervals
from viewkeeper.spark.storedrows import is_put_together, row_count, row_slices, split_rows
from viewkeeper.spark.target import Target
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.scan import ALL, Interval

ROWS_A_TASK = 125_000
MOST_TASKS = 64
LEASE = 600.0
"""Seconds for which a planned read keeps its position from being truncated; its tasks renew it."""
HOLDER = "spark.read"


class TableReader(DataSourceReader):
    """Reads `schema`, which names columns of the target, at `offset`."""

    def __init__(self, target: Target, offset: int, schema: StructType, partitions: int | None) -> None:
        self._target = target
        self._offset = offset
        self._names = schema.fieldNames()
        self._partitions = partitions
        self._intervals = [ALL]
        store = target.store()
        self._columns = _column_ids(target.codec(store), schema)

    def partitions(self) -> Sequence[InputPartition]:
        store = self._target.store()
        codec = self._target.codec(store)
        pin = None
        if not store.read_only:
            pin = store.pin(store.position(self._offset), seconds=LEASE, holder=HOLDER)
        return [InputPartition((pin, part)) for part in self._split(store, codec)] or [InputPartition((pin, []))]

    def _split(self, store: EmbeddedStore, codec: RowCodec) -> list[list[Interval]]:
        """The intervals that each task reads."""
        if is_put_together(self._target, codec):
            return [self._intervals]
        count = self._partitions or self._tasks(store, codec)
        if len(self._intervals) == 1:
            return [[part] for part in split_rows(store, self._target, codec, count, self._intervals[0])]
        size = max(1, -(-len(self._intervals) // count))
        return [self._intervals[at : at + size] for at in range(0, len(self._intervals), size)]

    def _tasks(self, store: EmbeddedStore, codec: RowCodec) -> int:
        return min(MOST_TASKS, max(1, -(-row_count(store, self._target, codec) // ROWS_A_TASK)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        pin, intervals = partition.value
        store = self._target.store()
        schema: pa.Schema | None = None
        renewed = time.monotonic()
        for interval in intervals:
            for codec, values in row_slices(store, self._target, self._offset, interval):
                if pin is not None and time.monotonic() - renewed > LEASE / 3:
                    renewed = time.monotonic()
                    store.renew(pin, store.position(self._offset), seconds=LEASE, holder=HOLDER)
                if schema is None:
                    schema = self._schema(codec)
                yield self._batch(codec, values, schema)

    def _schema(self, codec: RowCodec) -> pa.Schema:
        types = (arrow_type(codec.table.columns[number].type) for number in self._columns)
        return pa.schema([pa.field(name, type) for name, type in zip(self._names, types, strict=True)])

    def _batch(self, codec: RowCodec, values: list[bytes], schema: pa.Schema) -> pa.RecordBatch:
        if not self._target.repeats:
            return pa.record_batch(encoded_columns(codec, values, self._columns), schema=schema)
        *arrays, weights = encoded_columns(codec, values, (*self._columns, len(codec.names) - 1))
        places = [place for place, weight in enumerate(weights.to_pylist()) for _ in range(weight)]
        return pa.record_batch(arrays, schema=schema).take(pa.array(places, pa.int64()))


class FilteringReader(TableReader):
    """A reader for planning with filters; Spark refuses one where the setting for it is off."""

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802 (Spark's name)
        store = self._target.store()
        self._intervals = key_intervals(self._target.codec(store), filters)
        return filters


def table_reader(target: Target, offset: int, schema: StructType, partitions: int | None) -> TableReader:
    """A reader that takes filters where Spark is about to hand them over."""
    kind = FilteringReader if _takes_filters() else TableReader
    return kind(target, offset, schema, partitions)


def _takes_filters() -> bool:
    """Whether this process was started to push filters, which Spark does only where the setting is on."""
    main: Any = sys.modules.get("__main__")
    started = getattr(getattr(main, "__spec__", None), "name", "")
    worker = "pyspark.sql.worker.data_source_pushdown_filters"
    return worker in sys.modules or started == worker


def _column_ids(codec: RowCodec, schema: StructType) -> tuple[int, ...]:
    """The ids of the columns that a schema asks for; UnknownColumn or WrongType if it does not fit."""
    ids = []
    for field in schema.fields:
        number = codec.table.column_id(field.name)
        column = codec.table.columns[number]
        if spark_type(column.type) != field.dataType:
            raise WrongType(
                f'column "{column.name}" is {column.type}, the schema asks for {field.dataType.simpleString()}',
                hint="Read it as it is, and cast it then.",
            )
        ids.append(number)
    return tuple(ids)
