"""Joins by partner on Spark: the changes of both sides are brought together by lookup key, and each task runs the row
executor on its keys, with lookups of its own. Rows of one key never depend on those of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as sf
from pyspark.sql import types as spark
from pyspark.sql.pandas import functions as vectorized

from viewkeeper.delta.joinplan import PartnerSource, Side
from viewkeeper.delta.sides import in_numbers, numbers_of
from viewkeeper.delta.tables import SourceTables
from viewkeeper.errors import TableDropped, ViewNotReady
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.partnerjoin import PartnerRunner
from viewkeeper.execute.spark.expr import Translation
from viewkeeper.execute.spark.pool import WEIGHT, SourceColumns, source_column
from viewkeeper.model.arrow import arrow_type, from_cells, to_cells
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Kind, Type
from viewkeeper.pipeline.sparktypes import spark_type
from viewkeeper.pipeline.workerstore import worker_views
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.embedded import EmbeddedStore

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

arrow_udf: Any = vectorized.arrow_udf
SIDE = "_side"
Place = tuple[str, str]
"""Where a store is, and where its view tables are."""
_OBJECTS = pa.list_(pa.struct([("object", pa.int64()), ("key", pa.binary()), ("row", pa.binary())]))


@dataclass(frozen=True, slots=True)
class Partnered:
    """The delta of a join as a frame; what it has to keep. `held` is what Spark holds for it until it is done."""

    frame: DataFrame
    held: DataFrame
    objects: dict[int, ObjectChanges]
    errors: int


class PartnerTasks:
    def __init__(
        self, session: SparkSession, store: EmbeddedStore, source: PartnerSource, tables: SourceTables
    ) -> None:
        self._session = session
        self._store = store
        self._source = source
        self._tables = tables

    def run(self, left: DataFrame | None, right: DataFrame | None) -> Partnered | None:
        """The delta that follows from those of the sides, frames by column number; None if nothing changed."""
        sides = [self._tagged(place, frame) for place, frame in enumerate((left, right)) if frame is not None]
        if not sides:
            return None
        both = sides[0] if len(sides) == 1 else sides[0].unionAll(sides[1])
        keys = [f"k{place}" for place in range(len(self._source.indexes[0].key))]
        together = both.repartition(*keys).drop(*keys)
        given = list(together.columns)
        place = str(self._store.folder.path), str(self._store.views.path)
        run = _task(place, self._source, self._tables)
        run.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
        function = arrow_udf(run, self._given_type()).asNondeterministic()
        held = together.select(function(*map(sf.col, given)).alias("o")).where(sf.col("o").isNotNull()).persist()
        objects = self._objects(held.select(sf.explode("o.objects").alias("one")).select("one.*").toArrow())
        errors = held.select(sf.sum("o.errors").alias("errors")).toArrow()["errors"][0].as_py() or 0
        rows = held.select(sf.explode("o.rows").alias("row")).select("row.*")
        return Partnered(rows, held, objects, errors)

    def _tagged(self, place: int, frame: DataFrame) -> DataFrame:
        """The rows of one side: its key, which side it is, and the columns of both, those of the other NULL."""
        sides, index = self._source.sides, self._source.indexes[place]
        inputs = SourceColumns()
        keys = [
            _one_zero(Translation(inputs).column(in_numbers(sides[place], expr)), expr.type).alias(f"k{number}")
            for number, expr in enumerate(index.key)
        ]
        columns: list[Column] = []
        for other, side in enumerate(sides):
            for number, (column, type) in enumerate(zip(numbers_of(side), side.types, strict=True)):
                value = sf.col(source_column(column)) if other == place else sf.lit(None).cast(spark_type(type))
                columns.append(value.alias(f"v{other}_{number}"))
        return frame.select(*keys, sf.lit(place).alias(SIDE), *columns, WEIGHT)

    def _given_type(self) -> spark.StructType:
        rows = [
            spark.StructField(source_column(place), spark_type(type)) for place, type in enumerate(self._source.types)
        ]
        rows.append(spark.StructField(WEIGHT, spark.LongType()))
        objects = spark.StructType(
            [
                spark.StructField("object", spark.LongType()),
                spark.StructField("key", spark.BinaryType()),
                spark.StructField("row", spark.BinaryType()),
            ]
        )
        return spark.StructType(
            [
                spark.StructField("rows", spark.ArrayType(spark.StructType(rows))),
                spark.StructField("objects", spark.ArrayType(objects)),
                spark.StructField("errors", spark.LongType()),
            ]
        )

    def _objects(self, found: pa.Table) -> dict[int, ObjectChanges]:
        layouts = [index.layout for index in self._tables.indexes]
        layouts += [layout for layout in self._tables.partners if layout is not None]
        objects: dict[int, ObjectChanges] = {}
        for layout in layouts:
            mine = found.filter(pc.equal(found["object"], layout.id))
            after = zip(mine["key"].to_pylist(), mine["row"].to_pylist(), strict=True)
            objects[layout.id] = ObjectChanges(RowCodec(layout), {key: (None, row) for key, row in after})
        return objects


def _one_zero(column: Column, type: Type) -> Column:
    """A key under which what is equal is also sent to one task: there is one zero, and one NaN."""
    if type.kind is not Kind.DOUBLE:
        return column
    return sf.when(column == sf.lit(0.0), sf.lit(0.0)).when(sf.isnan(column), sf.lit(float("nan"))).otherwise(column)


def _task(place: Place, source: PartnerSource, tables: SourceTables) -> Callable[[Iterator[Any]], Iterator[pa.Array]]:
    def run(batches: Iterator[Any]) -> Iterator[pa.Array]:
        deltas: tuple[list[Weighted], list[Weighted]] = ([], [])
        type = _result_type(source)
        waiting = 0
        for arrays in batches:
            if waiting:
                yield pa.nulls(waiting, type)
            waiting = len(arrays[0])
            _take(arrays, source.sides, deltas)
        if waiting:
            yield pa.concat_arrays([pa.nulls(waiting - 1, type), _result(place, source, tables, deltas)])

    return run


def _take(arrays: Sequence[pa.Array], sides: Sequence[Side], deltas: Sequence[list[Weighted]]) -> None:
    tags, *columns, weights = arrays
    begin = 0
    for place, side in enumerate(sides):
        mine = pc.equal(tags, place)
        width = len(side.types)
        cells = [
            to_cells(array.filter(mine), type)
            for array, type in zip(columns[begin : begin + width], side.types, strict=True)
        ]
        begin += width
        deltas[place].extend(zip(zip(*cells, strict=True), weights.filter(mine).to_pylist(), strict=True))


def _result_type(source: PartnerSource) -> pa.DataType:
    row = [(source_column(place), arrow_type(type)) for place, type in enumerate(source.types)]
    rows = pa.list_(pa.struct([*row, (WEIGHT, pa.int64())]))
    return pa.struct([("rows", rows), ("objects", _OBJECTS), ("errors", pa.int64())])


def _result(
    place: Place, source: PartnerSource, tables: SourceTables, deltas: tuple[list[Weighted], list[Weighted]]
) -> pa.Array:
    runner = PartnerRunner(source, tables)
    objects: dict[int, ObjectChanges] = {}
    numbers = [index.id for index in runner.indexes] + [layout.id for layout in runner.counted]
    try:
        reading = worker_views(*place).reading(numbers, filling=True)
    except ViewNotReady:
        raise TableDropped("the view was dropped while its join index was being read") from None
    with reading:
        made, errors = runner.run(deltas, reading, objects)
    type = _result_type(source)
    cells = [from_cells([row[place] for row, _ in made], column) for place, column in enumerate(source.types)]
    weights = pa.array([weight for _, weight in made], pa.int64())
    row_type = type.field("rows").type.value_type
    rows = pa.StructArray.from_arrays([*cells, weights], fields=list(row_type))
    kept = [
        {"object": number, "key": key, "row": after}
        for number, changes in objects.items()
        for key, (_, after) in changes.changes.items()
    ]
    listed = [
        pa.ListArray.from_arrays(pa.array([0, len(made)], pa.int32()), rows),
        pa.array([kept], _OBJECTS),
        pa.array([errors], pa.int64()),
    ]
    return pa.StructArray.from_arrays(listed, fields=list(type))
