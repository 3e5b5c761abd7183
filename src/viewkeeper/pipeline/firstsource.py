"""The first rows of each part of a staging view as of one position, as a frame; see plan/staging.py.

Each task reads a few parts, each by one range read that ends after the rows that are needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewkeeper.errors import TableDropped
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.pipeline.columns import row_columns
from viewkeeper.pipeline.signed import signed_schema
from viewkeeper.pipeline.source import Plan, PlannedSource, frame, weighted_schema
from viewkeeper.pipeline.workerstore import worker_snapshot, worker_store
from viewkeeper.plan.staging import FirstRows
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.viewsnapshot import ViewSnapshot
from viewkeeper.views.firstrows import Scanning, part_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TASKS_A_CORE = 4
"""More parts than this for each core share tasks: a range read is soon over, and a task takes time to begin."""


def first_frame(
    spark: SparkSession,
    store: EmbeddedStore,
    codec: RowCodec,
    columns: tuple[int, ...],
    offset: int,
    first: FirstRows,
    *,
    is_view: bool,
    repeats: bool,
) -> DataFrame:
    """`c` and its id for each column, and `_w`: 1, or where rows repeat how often a row is there."""
    count = 1 if first.parts is None else first.parts
    tasks = min(count, TASKS_A_CORE * spark.sparkContext.defaultParallelism)
    plan = FirstPlan(
        path=str(store.folder.path),
        object=codec.table.id,
        columns=columns,
        parts=tuple((count * task // tasks, count * (task + 1) // tasks) for task in range(tasks)),
        offset=offset,
        first=first,
        is_view=is_view,
        repeats=repeats,
    )
    return frame(spark, FirstSource, plan, weighted_schema(codec, columns))


class FirstPlan(Plan, frozen=True, kw_only=True):
    """Parts are stretches of parts of the staging view: the first, and the one behind the last."""

    offset: int
    first: FirstRows
    is_view: bool
    repeats: bool

    def read(self, part: tuple[Any, Any]) -> Iterator[pa.RecordBatch]:
        codec, scan = worker_scanning(self.path, self.object, self.offset, is_view=self.is_view)
        types = [codec.table.columns[number].type for number in self.columns]
        for number in range(*part):
            for chunk in part_rows(codec, self.first, number, scan):
                rows = [row for _, row in chunk]
                weights = [row[-1] if self.repeats else 1 for row in rows]
                arrays = [*row_columns(rows, self.columns, types, widened=True), pa.array(weights, pa.int64())]
                yield pa.record_batch(arrays, schema=signed_schema(codec, self.columns))


class FirstSource(PlannedSource):
    plan_type = FirstPlan


def worker_scanning(path: str, number: int, offset: int, *, is_view: bool) -> tuple[RowCodec, Scanning]:
    """In a worker: how the rows of a table or view are stored, and what reads them as of an offset."""
    store = worker_store(path)
    catalog = store.catalog()
    codec = (catalog.view_codecs if is_view else catalog.codecs).get(number)
    if codec is None:
        raise TableDropped("the table or view was dropped before it was read")
    if is_view:
        view = ViewSnapshot(store, number, codec, offset)
        return codec, lambda interval, limit, reverse: view.scan_keyed(interval, limit=limit, reverse=reverse)
    table = worker_snapshot(path, offset)
    return codec, lambda interval, limit, reverse: table.scan_keyed(codec, interval, limit=limit, reverse=reverse)
