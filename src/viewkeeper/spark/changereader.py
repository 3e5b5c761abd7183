"""Streaming reads: the changes of a table or view, each once.

    offset := {"database": id, "position": n}   all changes before n have been given

A batch is the changes between two offsets, which the log gives again and again for as long as it is retained. So a
query that is restarted from its checkpoint misses nothing and repeats nothing, given a sink that takes a batch once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from viewkeeper.errors import BadParameter, ForeignPosition, NotRetained
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.pipeline.sparktypes import spark_type
from viewkeeper.read.feed import oldest_of
from viewkeeper.read.viewfeed import view_changes
from viewkeeper.spark.changerows import table_changes, view_batches, view_blocks
from viewkeeper.spark.target import Target, key_columns, reached, visible_columns, whole_number
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.rawlog import cut_log

CHANGES_A_TASK = 50_000
MOST_TASKS = 16


def change_schema(target: Target, codec: RowCodec) -> StructType:
    """position, committed_at, operation, key (if there is one), before, after; see docs/spark.md."""
    catalog = target.store().catalog()
    row = StructType([StructField(column.name, spark_type(column.type)) for column in visible_columns(codec)])
    key = StructType([StructField(c.name, spark_type(c.type)) for c in key_columns(target, catalog, codec)])
    fields = [
        StructField("position", StringType()),
        StructField("committed_at", TimestampType()),
        StructField("operation", StringType()),
        StructField("before", row),
        StructField("after", row),
    ]
    return StructType(fields[:3] + [StructField("key", key)] * bool(key.fields) + fields[3:])


class ChangeReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """`startingPosition` counts for a query without a checkpoint; `maxChangesPerTrigger` bounds a batch."""

    def __init__(self, target: Target, options: Mapping[str, str], schema: StructType) -> None:
        expected = change_schema(target, target.codec(target.store()))
        if schema != expected:
            raise BadParameter("a change feed has a schema of its own", hint="Leave .schema(…) out.")
        if target.view is not None and target.view.parts:
            # Refuses it, as db.changes does.
            view_changes(target.store(), target.view, target.store().head())
        self._target = target
        self._width = len(visible_columns(target.codec(target.store())))
        self._starting = options.get("startingPosition", "latest")
        self._most = whole_number(options, "maxChangesPerTrigger")
        self._last: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 (Spark's names)
        store = self._target.store()
        if self._starting == "latest":
            return self._offset(self._end(store))
        if self._starting == "earliest":
            return self._offset(store.offset(oldest_of(store, self._target.name)))
        return self._offset(store.offset(Position.parse(self._starting)))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable() if self._most is None else ReadMaxRows(self._most)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._last = self._end(self._target.store())

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        store = self._target.store()
        lower = self._checked(store, start)
        end = self._end(store) if self._last is None else self._last
        if isinstance(limit, ReadMaxRows) and self._target.view is None:
            end = min(end, store.boundary(lower, limit.max_rows))
        elif isinstance(limit, ReadMaxRows):
            end = min(end, self._view_boundary(store, lower, limit.max_rows, end))
        return self._offset(max(lower, end))

    def reportLatestOffset(self) -> dict[str, Any]:  # noqa: N802
        return self._offset(self._end(self._target.store()))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        lower, upper = start["position"], end["position"]
        if upper <= lower:
            return []
        if not self._target.in_log:
            return [InputPartition((lower, upper))]
        parts = min(MOST_TASKS, -(-(upper - lower) // CHANGES_A_TASK))
        return [InputPartition(part) for part in cut_log(self._target.store(), lower, upper, parts)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        lower, upper = partition.value
        store = self._target.store()
        codec = self._target.codec(store)
        if self._target.view is not None:
            return view_batches(store, self._target, lower, upper)
        return table_changes(store, codec, self._width, lower, upper)

    def _end(self, store: EmbeddedStore) -> int:
        self._target.check(store)
        return reached(self._target, store)

    def _view_boundary(self, store: EmbeddedStore, lower: int, most: int, end: int) -> int:
        """Where a batch of a view's applies has about so many changes; each apply is taken whole."""
        left = most
        for upper, block in view_blocks(store, self._target, lower, end):
            left -= sum(section.changes for section in block.sections)
            if left <= 0:
                return upper
        return end

    def _offset(self, position: int) -> dict[str, Any]:
        return {"database": self._target.database, "position": position}

    def _checked(self, store: EmbeddedStore, offset: Mapping[str, Any]) -> int:
        """The position of an offset; an error if it is another database's, or the log was truncated behind it."""
        if offset["database"] != store.database:
            raise ForeignPosition(
                f"the checkpoint is of database {offset['database']}, this is {store.database}",
                hint="Start the query with a checkpoint folder of its own.",
            )
        self._target.check(store)
        lower: int = offset["position"]
        oldest = oldest_of(store, self._target.name)
        if lower < store.offset(oldest):
            why = "the query was stopped for longer than log_retention, or fell behind"
            if store.offset(oldest) == self._target.since > 0:
                why = "from there on the view is kept where it is"
            raise NotRetained(
                f'the changes of "{self._target.name}" behind position {store.position(lower)} are no longer retained',
                detail=f"They begin at {oldest}: {why}.",
                hint="Read the table whole, then start anew from its position, with a new checkpoint folder.",
            )
        return lower
