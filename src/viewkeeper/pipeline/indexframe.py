"""A join index as a frame: all of it by a scan, or what some keys have in it by lookups from tasks.

Both read the index as it is while they run. What they find counts only if the group still stands where the batch began
when it is applied, so it is as of the watermark, or nothing.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as kinds
from pyspark.sql.pandas import functions as vectorized

from viewkeeper.delta.tables import IndexTable
from viewkeeper.errors import TableDropped, ViewNotReady
from viewkeeper.model.arrow import arrow_type, from_cells, to_cells
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import BIGINT, Row, Type
from viewkeeper.pipeline.columns import encoded_columns
from viewkeeper.pipeline.source import Plan, PlannedSource, frame, tasks_for
from viewkeeper.pipeline.sparktypes import spark_type
from viewkeeper.pipeline.tablesource import ROWS_A_TASK, SMALL
from viewkeeper.pipeline.workerstore import worker_views
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.store.viewsnapshot import split_view

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

SLICE = 20_000
LOOK_UPS = 4

arrow_udf: Any = vectorized.arrow_udf


def stored_columns(table: IndexTable, depth: int) -> list[tuple[str, int, Type]]:
    """Name, place in the stored row and type of what is read of an index: the lookup key, the row, its weight."""
    columns = table.layout.columns
    found = [(f"k{place}", place, columns[place].type) for place in range(depth)]
    found += [(f"r{number}", place, columns[place].type) for number, place in enumerate(table.places)]
    return [*found, ("w", len(columns) - 1, BIGINT)]


def scan_frame(spark: SparkSession, store: EmbeddedStore, table: IndexTable, depth: int) -> DataFrame:
    """All of an index: k0, k1, … what rows are looked up by, r0, r1, … the columns of the side, w the weight."""
    codec = RowCodec(table.layout)
    with store.view_tables.reading([table.layout.id], filling=True) as reading:
        rows = reading.rows(table.layout.id)
    intervals = split_view(store, codec, tasks_for(spark, rows, SMALL, ROWS_A_TASK), ALL, filling=True)
    plan = IndexPlan(
        path=str(store.folder.path),
        object=table.layout.id,
        columns=(),
        parts=tuple((part.lower.hex(), None if part.upper is None else part.upper.hex()) for part in intervals),
        table=base64.b64encode(pickle.dumps((table, depth))).decode(),
        views=str(store.views.path),
    )
    fields = [kinds.StructField(name, spark_type(type)) for name, _, type in stored_columns(table, depth)]
    return frame(spark, IndexSource, plan, kinds.StructType(fields))


class IndexPlan(Plan, frozen=True, kw_only=True):
    """Parts are intervals of keys: their ends in hex. `table` is an IndexTable and the depth of its lookup key.

    `views` is where the view tables are: those of the store, or of a scratch store.
    """

    table: str
    views: str

    def read(self, part: tuple[Any, Any]) -> Iterator[pa.RecordBatch]:
        table, depth = pickle.loads(base64.b64decode(self.table))
        codec = RowCodec(table.layout)
        columns = stored_columns(table, depth)
        schema = pa.schema([pa.field(name, arrow_type(type)) for name, _, type in columns])
        lower, upper = part
        rest = Interval(bytes.fromhex(lower), None if upper is None else bytes.fromhex(upper))
        while True:
            with _reading(self.path, self.views, self.object) as reading:
                items = reading.slice(codec, rest, SLICE)
            if items:
                values = [value for _, value in items]
                stored = columns if table.is_weighted else columns[:-1]
                arrays = encoded_columns(codec, values, [place for _, place, _ in stored])
                if not table.is_weighted:
                    arrays.append(pa.repeat(pa.scalar(1, pa.int64()), len(values)))
                yield pa.record_batch(arrays, schema=schema)
            if len(items) < SLICE:
                return
            rest = Interval(items[-1][0] + b"\0", rest.upper)


class IndexSource(PlannedSource):
    plan_type = IndexPlan


def _reading(path: str, views: str, number: int) -> ViewReading:
    try:
        return worker_views(path, views).reading([number], filling=True)
    except ViewNotReady:
        raise TableDropped("the view was dropped while its join index was being read") from None


def look_up(store: EmbeddedStore, table: IndexTable, depth: int, by: Sequence[Column]) -> Column:
    """For each row what the index has for its key, as a list of structs r0, r1, …, w."""
    columns = stored_columns(table, depth)[depth:]
    struct = kinds.StructType([kinds.StructField(name, spark_type(type)) for name, _, type in columns])
    run = _look_up_task(str(store.folder.path), str(store.views.path), table, depth)
    run.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    function = arrow_udf(run, kinds.ArrayType(struct))
    found: Column = function(*by)
    return found


def _look_up_task(
    path: str, views: str, table: IndexTable, depth: int
) -> Callable[[Iterator[Any]], Iterator[pa.Array]]:
    def run(batches: Iterator[Any]) -> Iterator[pa.Array]:
        known: dict[Row, list[Row]] = {}
        codec = RowCodec(table.layout)
        columns = stored_columns(table, depth)[depth:]
        places = table.places
        types = [column.type for column in table.layout.columns[:depth]]
        fields = [pa.field(name, arrow_type(type)) for name, _, type in columns]

        def stored(reading: ViewReading, key: Row) -> list[Row]:
            rest, count = Interval.of_prefix(codec.key.encode_key(key)), LOOK_UPS
            found: list[Row] = []
            while True:
                items = reading.slice(codec, rest, count)
                for _, value in items:
                    row = codec.decode(value)
                    found.append((*map(row.__getitem__, places), row[-1] if table.is_weighted else 1))
                if len(items) < count:
                    return found
                rest = Interval(items[-1][0] + b"\0", rest.upper)
                count = min(4096, 8 * count)

        for batch in batches:
            arrays = [batch] if isinstance(batch, pa.Array) else list(batch)
            keys = list(zip(*(to_cells(array, type) for array, type in zip(arrays, types, strict=True)), strict=True))
            with _reading(path, views, table.layout.id) as reading:
                for key in keys:
                    if key not in known:
                        known[key] = [] if None in key else stored(reading, key)
            found = [known[key] for key in keys]
            ends = [0]
            for rows in found:
                ends.append(ends[-1] + len(rows))
            flat = [row for rows in found for row in rows]
            values = [from_cells([row[number] for row in flat], type) for number, (_, _, type) in enumerate(columns)]
            struct = pa.StructArray.from_arrays(values, fields=fields)
            yield pa.ListArray.from_arrays(pa.array(ends, pa.int32()), struct)

    return run
