"""Rows of a view that can only be computed whole, computed on Spark.

Tasks encode the rows as the view stores them and hand them over in pieces; each piece is applied by itself. What they
read is up to wholeframes.py.
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
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import BoundView, BoundViews

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def whole_fill(
    spark: SparkSession,
    store: EmbeddedStore,
    bound: BoundViews,
    one: BoundView,
    position: int,
    read: dict[int, int] | None = None,
) -> Generator[FirstChanges]:
    """The rows of a view as of a position, piece by piece; errors come with the first. BatchFailed if Spark fails.

    `read` is told, by leaf, how many stored rows were read of those of which not all are.
    """
    from viewkeeper.pipeline.wholeframes import relation_frames

    source = one.program.plan.source
    assert isinstance(source, WholeSource)
    frames = relation_frames(spark, store, bound, source.relation, position, read)
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
