"""The changes of a table between two positions, as a frame of signed rows.

Each task reads a range of the log. The ranges adjoin at transaction boundaries, so every change is in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from viewkeeper.errors import TableDropped
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.pipeline.signed import signed_rows
from viewkeeper.pipeline.source import Plan, PlannedSource, frame, tasks_for, weighted_schema
from viewkeeper.pipeline.workerstore import worker_store
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.rawlog import cut_log, raw_feed, raw_sections

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SMALL = 10_000
"""Changes that one task reads in about the time that it takes to begin another."""
CHANGES_A_TASK = 500_000


def log_frame(
    spark: SparkSession,
    store: EmbeddedStore,
    codec: RowCodec,
    columns: Sequence[int],
    lower: Position,
    upper: Position,
    *,
    repeats: bool = False,
    parts: int | None = None,
) -> DataFrame:
    """The changes of a table at lower <= position < upper: `c` and its id for each column, and `_w`.

    It may be a view that is kept beside the tables; where that `repeats` rows, `_w` is how often one was, or is, there.

    A change is its row before with -1 and its row after with +1; neither, if these columns are the same in both. A
    position inside a transaction stands for its end. NotRetained, when the frame is read, if the log has lost `lower`.
    """
    start, end = store.offset(lower), store.offset(upper)
    count = parts or tasks_for(spark, end - start, SMALL, CHANGES_A_TASK)
    return _frame(spark, store, codec, columns, cut_log(store, start, end, count), repeats=repeats)


def feed_frame(
    spark: SparkSession,
    store: EmbeddedStore,
    codec: RowCodec,
    columns: Sequence[int],
    lower: Position,
    upper: Position,
    *,
    repeats: bool = False,
) -> DataFrame:
    """The changes of a view between two watermarks that it has had, in the same form; read by one task.

    Where the view `repeats` rows, a weight is as often as the row was, or is, there.
    """
    ranges = [(store.offset(lower), store.offset(upper))]
    return _frame(spark, store, codec, columns, ranges, is_view=True, repeats=repeats)


def _frame(
    spark: SparkSession,
    store: EmbeddedStore,
    codec: RowCodec,
    columns: Sequence[int],
    ranges: Sequence[tuple[int, int]],
    **options: bool,
) -> DataFrame:
    plan = LogPlan(
        path=str(store.folder.path), object=codec.table.id, columns=tuple(columns), parts=tuple(ranges), **options
    )
    return frame(spark, LogSource, plan, weighted_schema(codec, plan.columns))


class LogPlan(Plan, frozen=True, kw_only=True):
    """Parts are ranges of the log: lower and upper offset."""

    is_view: bool = False
    repeats: bool = False

    def read(self, part: tuple[Any, Any]) -> Iterator[pa.RecordBatch]:
        store = worker_store(self.path)
        catalog = store.catalog()
        codec = (catalog.view_codecs if self.is_view else catalog.codecs).get(self.object)
        if codec is None:
            raise TableDropped("the table was dropped while its changes were being read")
        sections = (raw_feed if self.is_view else raw_sections)(store, self.object, *part)
        return signed_rows(sections, codec, self.columns, repeats=self.repeats)


class LogSource(PlannedSource):
    plan_type = LogPlan
