"""Rows of a view that can only be computed whole, computed on Spark.

Tasks encode the rows as the view stores them and hand them over in pieces; each piece is applied by itself.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from viewkeeper.delta.joinplan import WholeSource
from viewkeeper.errors import BatchFailed, ViewkeeperError
from viewkeeper.execute.encodedrows import EncodedRows, FirstChanges, RowEncoder
from viewkeeper.model.types import BINARY, Row
from viewkeeper.pipeline.sparkerrors import told
from viewkeeper.pipeline.tablesource import SMALL, table_frame, view_frame
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.fill import input_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from viewkeeper.plan.relation import Scan

ROWS_TOGETHER = 250_000
"""Rows that a task takes into memory at once, about, where it needs all rows of a group."""


def whole_fill(
    spark: SparkSession, store: EmbeddedStore, bound: BoundViews, one: BoundView, position: int
) -> Generator[FirstChanges]:
    """The rows of a view as of a position, piece by piece; errors come with the first. BatchFailed if Spark fails."""
    from viewkeeper.execute.spark.relation import Frames
    from viewkeeper.pipeline.source import tasks_for

    source = one.program.plan.source
    assert isinstance(source, WholeSource)
    parts = tasks_for(spark, input_rows(store, bound, one), SMALL, ROWS_TOGETHER)
    frames = Frames(lambda scan: _leaf(spark, store, bound, scan, position), parts)
    try:
        pieces = _encoded(frames.frame(source.relation), one).persist()
        frames.kept.append(pieces)
        # All tasks at once; the iterator below would run them one after the other.
        pieces.count()
        errors = frames.errors()
        yield FirstChanges(EncodedRows([], [], []), errors)
        for piece in pieces.toLocalIterator():
            table = pa.ipc.open_stream(piece[0]).read_all()
            yield FirstChanges(EncodedRows(*(table[name].to_pylist() for name in table.column_names)), 0)
    except ViewkeeperError:
        raise
    except Exception as error:
        hint = "It is tried again by itself."
        raise BatchFailed("Spark could not compute the view", detail=told(error), hint=hint) from error
    finally:
        for kept in frames.kept:
            # It fails where the JVM has gone.
            with suppress(Exception):
                kept.unpersist()


def _leaf(spark: SparkSession, store: EmbeddedStore, bound: BoundViews, scan: Scan, position: int) -> DataFrame:
    """The columns of a scan, each row as often as it is there."""
    from pyspark.sql import functions as sf

    from viewkeeper.execute.spark.intasks import name_of
    from viewkeeper.pipeline.signed import WEIGHT

    at, repeats = store.position(position), bound.repeats(scan.object)
    distinct = tuple(dict.fromkeys(scan.columns))
    if bound.fed_by(scan.object) is None:
        codec = bound.catalog.codecs[scan.object]
        frame = table_frame(spark, store, codec, distinct, at, repeats=repeats)
    else:
        codec = bound.catalog.view_codecs[scan.object]
        frame = view_frame(spark, store, codec, distinct, at, repeats=repeats)
    if repeats:
        frame = frame.withColumn("again", sf.explode(sf.sequence(sf.lit(1).cast("bigint"), sf.col(WEIGHT))))
    return frame.select(*(sf.col(f"c{number}").alias(name_of(place)) for place, number in enumerate(scan.columns)))


def _encoded(frame: DataFrame, one: BoundView) -> DataFrame:
    """The rows as the view stores them: Arrow streams of keys, rows and weights."""
    from viewkeeper.execute.spark.intasks import in_batches

    program = one.program
    assert isinstance(program.plan.source, WholeSource)

    def encode(rows: list[Row]) -> list[Row]:
        return [(_stream(RowEncoder(program).netted([(row, 1) for row in rows])),)]

    return in_batches(frame, program.plan.source.types, encode, [BINARY])


def _stream(rows: EncodedRows) -> bytes:
    arrays: list[Any] = [pa.array(rows.keys, pa.binary()), pa.array(rows.rows, pa.binary())]
    table = pa.table([*arrays, pa.array(rows.weights, pa.int64())], names=["keys", "rows", "weights"])
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as stream:
        stream.write_table(table)
    data: bytes = out.getvalue().to_pybytes()
    return data
