"""Rows that are looked up by the values of others, as a frame; see plan/lookedup.py.

Tasks look them up, not the driver: how many rows are found for a value nobody knows, and so they are read in parallel
and stay where they are joined. Each value is sent to one task, since a row that two of them found would count twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from viewkeeper.execute.spark.intasks import in_batches, name_of
from viewkeeper.model.picking import picker
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import BIGINT, BINARY, Row
from viewkeeper.pipeline.firstsource import worker_scanning
from viewkeeper.pipeline.signed import WEIGHT
from viewkeeper.plan.lookedup import LookedUp
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.neededrows import found_rows, prefixes, with_weights

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def looked_up_frame(
    arm: DataFrame,
    store: EmbeddedStore,
    codec: RowCodec,
    columns: tuple[int, ...],
    offset: int,
    read: LookedUp,
    *,
    is_view: bool,
    repeats: bool,
) -> DataFrame:
    """`c` and its id for each column, and `_w`, as of an offset; `arm` is the frame of the arm that it is read by."""
    path, number = str(store.folder.path), codec.table.id

    def keys(rows: list[Row]) -> list[Row]:
        here, _ = worker_scanning(path, number, offset, is_view=is_view)
        return [(prefix,) for prefix in prefixes(here, read, rows)]

    def found(given: list[Row]) -> list[Row]:
        _, scan = worker_scanning(path, number, offset, is_view=is_view)
        wanted = [prefix for (prefix,) in given if isinstance(prefix, bytes)]
        pick = picker(columns)
        chunks = found_rows(wanted, scan)
        return [(*pick(row), weight) for chunk in chunks for row, weight in with_weights(chunk, repeats)]

    types = [codec.table.columns[column].type for column in columns]
    cores = arm.sparkSession.sparkContext.defaultParallelism
    values = in_batches(arm, [field.type for field in read.arm.fields], keys, [BINARY]).distinct().repartition(cores)
    rows = in_batches(values, [BINARY], found, [*types, BIGINT])
    named = [sf.col(name_of(place)).alias(f"c{column}") for place, column in enumerate(columns)]
    return rows.select(*named, sf.col(name_of(len(columns))).alias(WEIGHT))
