"""The rows of a table or a view as of one position, as a frame.

Each task reads an interval of keys. The intervals adjoin, so every row is in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewkeeper.errors import TableDropped
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.pipeline.columns import encoded_columns
from viewkeeper.pipeline.signed import WEIGHT, signed_schema
from viewkeeper.pipeline.source import Plan, PlannedSource, frame, tasks_for, weighted_schema
from viewkeeper.pipeline.workerstore import worker_snapshot, worker_store
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.rawscan import raw_slices
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.store.viewsnapshot import ViewSnapshot, split_view

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SMALL = 50_000
"""Rows that one task reads in about the time that it takes to begin another."""
ROWS_A_TASK = 1_000_000


def table_frame(
    spark: SparkSession,
    store: EmbeddedStore,
    codec: RowCodec,
    columns: Sequence[int],
    at: Position,
    interval: Interval = ALL,
    *,
    weight: bool = True,
    repeats: bool = False,
    parts: int | None = None,
) -> DataFrame:
    """The rows of a base table as of a position: `c` and its id for each column, and `_w`, which is 1.

    Of a view that is kept beside tables and `repeats` rows, `_w` is how often a row is there.

    The position must stay retained until the frame has been read; `hold` of holding.py sees to that. At most `parts`
    tasks, of like size; by default as many as the rows are worth.
    """
    offset = store.snapshot(at).offset
    count = parts or tasks_for(spark, store.row_count(codec), SMALL, ROWS_A_TASK)
    return _frame(spark, store, codec, columns, offset, store.split(codec, count, interval), weight, repeats=repeats)


def view_frame(
    spark: SparkSession,
    store: EmbeddedStore,
    codec: RowCodec,
    columns: Sequence[int],
    at: Position,
    interval: Interval = ALL,
    *,
    repeats: bool = False,
    parts: int | None = None,
) -> DataFrame:
    """The stored rows of a view or an auxiliary table as of a watermark that its group has had.

    `_w` is 1, or, where the view `repeats` rows, how often a row is there: its last column.
    """
    with store.view_tables.reading([codec.table.id]) as reading:
        rows = reading.rows(codec.table.id)
    intervals = split_view(store, codec, parts or tasks_for(spark, rows, SMALL, ROWS_A_TASK), interval)
    return _frame(spark, store, codec, columns, store.offset(at), intervals, True, is_view=True, repeats=repeats)


def _frame(
    spark: SparkSession,
    store: EmbeddedStore,
    codec: RowCodec,
    columns: Sequence[int],
    offset: int,
    intervals: Sequence[Interval],
    weight: bool,
    **options: bool,
) -> DataFrame:
    plan = TablePlan(
        path=str(store.folder.path),
        object=codec.table.id,
        columns=tuple(columns),
        offset=offset,
        parts=tuple((_hex(part.lower), _hex(part.upper)) for part in intervals if not part.is_empty),
        weight=weight,
        **options,
    )
    return frame(spark, TableSource, plan, weighted_schema(codec, plan.columns, weight=weight))


def _hex(key: bytes | None) -> str | None:
    return None if key is None else key.hex()


class TablePlan(Plan, frozen=True, kw_only=True):
    """Parts are intervals of keys: their ends in hex."""

    offset: int
    weight: bool
    is_view: bool = False
    repeats: bool = False

    def read(self, part: tuple[Any, Any]) -> Iterator[pa.RecordBatch]:
        lower, upper = part
        interval = Interval(bytes.fromhex(lower), None if upper is None else bytes.fromhex(upper))
        for codec, values in self._slices(interval):
            columns = self.columns if not self.repeats else (*self.columns, len(codec.names) - 1)
            arrays = encoded_columns(codec, values, columns)
            if self.weight and not self.repeats:
                arrays.append(pa.repeat(pa.scalar(1, pa.int64()), len(values)))
            schema = signed_schema(codec, self.columns)
            yield pa.record_batch(arrays, schema=schema if self.weight else schema.remove(schema.names.index(WEIGHT)))

    def _slices(self, interval: Interval) -> Iterator[tuple[RowCodec, list[bytes]]]:
        store = worker_store(self.path)
        catalog = store.catalog()
        codec = (catalog.view_codecs if self.is_view else catalog.codecs).get(self.object)
        if codec is None:
            raise TableDropped("the table or view was dropped before it was read")
        if not self.is_view:
            return raw_slices(store, worker_snapshot(self.path, self.offset), codec, interval)
        snapshot = ViewSnapshot(store, self.object, codec, self.offset)
        return ((codec, values) for values in snapshot.raw_slices(interval))


class TableSource(PlannedSource):
    plan_type = TablePlan
