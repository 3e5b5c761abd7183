"""Functions of the row executor in Spark's tasks, over the rows of a batch or of a whole partition.

They run as scalar Arrow functions over an iterator, which give a value for each row that they are given: the rows that
they make are spread over these values as lists, and then laid out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas import functions as vectorized

from viewkeeper.execute.spark.literals import type_name
from viewkeeper.execute.spark.normal import normalised
from viewkeeper.model.arrow import arrow_type, from_cells, to_cells
from viewkeeper.model.types import BOOLEAN, Row, Type

# Its annotations demand a function type, and given one it warns that type hints are preferred.
arrow_udf: Any = vectorized.arrow_udf

Function = Callable[[list[Row]], Iterable[Row]]


def name_of(place: int) -> str:
    """What the field of a relation at a place is called in its frame."""
    return f"f{place}"


def brought_together(frame: DataFrame, by: Sequence[int], types: Sequence[Type], parts: int) -> DataFrame:
    """The rows, those that are equal in some columns in one task; without columns, all of them in one."""
    if not by:
        return frame.repartition(1)
    keys = [normalised(sf.col(name_of(place)), types[place]) for place in by]
    return frame.repartition(parts, *keys)


def in_batches(frame: DataFrame, given: Sequence[Type], function: Function, made: Sequence[Type]) -> DataFrame:
    """What a function makes of the rows, thousands of them at a time."""

    def run(batches: Iterator[Any]) -> Iterator[pa.Array]:
        for batch in batches:
            arrays = _arrays(batch)
            yield _spread(list(function(_rows(arrays, given))), len(arrays[0]), made)

    return _mapped(frame, run, given, made)


def in_tasks(frame: DataFrame, given: Sequence[Type], function: Function, made: Sequence[Type]) -> DataFrame:
    """What a function makes of the rows of each partition, all at once. An empty partition gives nothing."""

    def run(batches: Iterator[Any]) -> Iterator[pa.Array]:
        rows: list[Row] = []
        waiting = 0
        for batch in batches:
            if waiting:
                yield _spread([], waiting, made)
            arrays = _arrays(batch)
            waiting = len(arrays[0])
            rows += _rows(arrays, given)
        if waiting:
            yield _spread(list(function(rows)), waiting, made)

    return _mapped(frame, run, given, made)


def in_one_task(frame: DataFrame, given: Sequence[Type], function: Function, made: Sequence[Type]) -> DataFrame:
    """What a function makes of all rows in one task; it is also asked where there are none."""
    types = (*given, BOOLEAN)
    nothing = (sf.lit(None).cast(type_name(type)) for type in given)
    one = frame.sparkSession.range(1).select(*nothing, sf.lit(True))
    marked = frame.withColumn(name_of(len(given)), sf.lit(False)).unionAll(one)
    return in_tasks(
        marked.repartition(1), types, lambda rows: function([row[:-1] for row in rows if not row[-1]]), made
    )


def _mapped(
    frame: DataFrame,
    run: Callable[[Iterator[Any]], Iterator[pa.Array]],
    given: Sequence[Type],
    made: Sequence[Type],
) -> DataFrame:
    run.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
    fields = ", ".join(f"{name_of(place)} {type_name(type)}" for place, type in enumerate(made))
    # Said to be nondeterministic, since what it gives with one row depends on the others.
    function = arrow_udf(run, f"array<struct<{fields}>>").asNondeterministic()
    # A relation may have no columns at all, and a function has an argument.
    columns = [sf.lit(True), *(sf.col(name_of(place)) for place in range(len(given)))]
    rows = frame.select(function(*columns).alias("made")).select(sf.explode("made").alias("row"))
    return rows.select("row.*")


def _arrays(batch: Any) -> list[pa.Array]:
    # One column is not handed over as a tuple.
    return [batch] if isinstance(batch, pa.Array) else list(batch)


def _rows(arrays: list[pa.Array], types: Sequence[Type]) -> list[Row]:
    if not types:
        return [()] * len(arrays[0])
    return list(zip(*(to_cells(array, type) for array, type in zip(arrays[1:], types, strict=True)), strict=True))


def _spread(rows: list[Row], count: int, types: Sequence[Type]) -> pa.Array:
    """Rows as `count` lists of like length."""
    fields = [pa.field(name_of(place), arrow_type(type)) for place, type in enumerate(types)]
    columns = [from_cells([row[place] for row in rows], type) for place, type in enumerate(types)]
    offsets = [len(rows) * place // count for place in range(count + 1)]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.StructArray.from_arrays(columns, fields=fields))
