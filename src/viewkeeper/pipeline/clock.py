"""The clock of continuous maintenance: a stream that has something new as long as there is work.

It carries no rows. A batch of it says that maintenance is due, also when no write comes: after a compare-and-set that
was lost, or a failure that is tried again. What is done then, each group decides by its own watermark, so an offset
says nothing that could be stale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, ReadMaxRows
from pyspark.sql.types import LongType, StructField, StructType

from viewkeeper.pipeline.registration import name_in
from viewkeeper.pipeline.schedule import work_due
from viewkeeper.pipeline.workerstore import worker_store
from viewkeeper.store.embedded import EmbeddedStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ClockReader", "ClockSource", "clock_frame", "work_due"]

MOST_CHANGES = 1_000_000
"""Changes of a batch: what is in memory at once, and how long a kill sets maintenance back."""
_SCHEMA = StructType([StructField("tick", LongType())])

Due = Callable[[EmbeddedStore], "int | None"]
"""From which position on there is work, the least over all groups; None if there is none."""


def clock_frame(
    spark: SparkSession,
    store: EmbeddedStore,
    *,
    due: str = "viewkeeper.pipeline.clock:work_due",
    most_changes: int = MOST_CHANGES,
) -> DataFrame:
    """The clock as a stream without rows; `due` names a function of type Due, which is called in a process of Spark."""
    reader = spark.readStream.format(name_in(spark, ClockSource)).schema(_SCHEMA)
    options = {"path": str(store.folder.path), "due": due, "mostChanges": str(most_changes)}
    return reader.options(**options).load()


class ClockSource(DataSource):
    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802 (Spark's names)
        return ClockReader(self.options["path"], self.options["due"], int(self.options["mostChanges"]))


class ClockReader(DataSourceStreamReader):
    """Offsets are {"position", "tick"}: how far the batch may go, and how many there were."""

    def __init__(self, path: str, due: str, most_changes: int) -> None:
        self._path = path
        self._due: Due = resolve_name(due)
        self._most = most_changes

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"position": 0, "tick": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadMaxRows(self._most)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        """`start` if there is no work, which costs two looks at the store."""
        store = worker_store(self._path)
        lowest = self._due(store)
        if lowest is None:
            return start
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._most
        return {"position": store.boundary(lowest, most), "tick": start["tick"] + 1}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:  # noqa: ARG002
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:  # noqa: ARG002
        return iter(())
