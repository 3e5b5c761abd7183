"""The data source behind the frames of this package: a plan made by the driver, of which each task reads one part.

Spark carries the plan as the one option of the source. Planning opens no store thereby: the driver has it open, and a
planning process that opened it too would only be slower.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import LongType, StructField, StructType

from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.pipeline.registration import name_in
from viewkeeper.pipeline.signed import WEIGHT
from viewkeeper.pipeline.sparktypes import spark_type

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_OPTION = "plan"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What the driver decided: where the store is, what is read of which object, and what each task reads of that."""

    path: str
    object: int
    columns: tuple[int, ...]
    parts: tuple[tuple[Any, Any], ...]

    def read(self, part: tuple[Any, Any]) -> Iterator[pa.RecordBatch]:
        """In a worker: the batches of one part."""
        raise NotImplementedError


class PlannedSource(DataSource):
    """Reads a plan; subclasses say of which kind."""

    plan_type: ClassVar[type[Plan]]

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002 (Spark calls it by name)
        return PlannedReader(msgspec.json.decode(self.options[_OPTION], type=self.plan_type))


class PlannedReader(DataSourceReader):
    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(part) for part in self._plan.parts]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # A plan without parts is still asked for one.
        return iter(()) if partition.value is None else self._plan.read(partition.value)


def frame(spark: SparkSession, source: type[PlannedSource], plan: Plan, schema: StructType) -> DataFrame:
    """What a plan reads, as a frame."""
    reader = spark.read.format(name_in(spark, source)).schema(schema)
    return reader.option(_OPTION, msgspec.json.encode(plan).decode()).load()


def weighted_schema(codec: RowCodec, columns: tuple[int, ...], *, weight: bool = True) -> StructType:
    """`c` and its id for each column, then the weight."""
    fields = [StructField(f"c{number}", spark_type(codec.table.columns[number].type)) for number in columns]
    return StructType([*fields, StructField(WEIGHT, LongType())] if weight else fields)


def tasks_for(spark: SparkSession, amount: int, small: int, most: int) -> int:
    """How many tasks to read an amount with: one if it is `small`, else all cores alike, each `most` at a time."""
    if amount <= small:
        return 1
    cores = spark.sparkContext.defaultParallelism
    return cores * -(-amount // (cores * most))
