"""The first stages of many views in one Spark pass over each source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from viewkeeper.errors import BatchFailed, ViewkeeperError
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.pipeline.logsource import feed_frame, log_frame
from viewkeeper.pipeline.source import tasks_for
from viewkeeper.pipeline.sparkerrors import told
from viewkeeper.pipeline.tablesource import ROWS_A_TASK, SMALL, table_frame, view_frame
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.scan import Interval
from viewkeeper.views.bound import BoundView, BoundViews

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from viewkeeper.execute.spark.bulk import BulkStages

_compiled: WeakKeyDictionary[SparkSession, dict[tuple[str, tuple[int, ...]], BulkStages]] = WeakKeyDictionary()
"""By database and view ids: an id is never another view's, but each database counts its own."""
MOST_COMPILED = 32


def bulk_firsts(
    spark: SparkSession, store: EmbeddedStore, bound: BoundViews, views: Sequence[BoundView], lower: int, upper: int
) -> dict[int, FirstChanges]:
    """By view id, what its first stage makes of the changes of its source between two positions.

    BatchFailed if Spark gave up; an error of ours inside a task comes out as it is.
    """
    found: dict[int, FirstChanges] = {}
    for source in dict.fromkeys(one.leaves[0].object for one in views):
        together = [one for one in views if one.leaves[0].object == source]
        columns = used_columns(together)
        ends = store.position(lower), store.position(upper)
        repeats = bound.repeats(source)
        if bound.fed_by(source) is None:
            frame = log_frame(spark, store, bound.catalog.codecs[source], columns, *ends, repeats=repeats)
        else:
            codec = bound.catalog.view_codecs[source]
            frame = feed_frame(spark, store, codec, columns, *ends, repeats=repeats)
        found.update(run_stages(spark, store, together, frame))
    return found


def bulk_fill(
    spark: SparkSession,
    store: EmbeddedStore,
    bound: BoundViews,
    one: BoundView,
    position: int,
    interval: Interval,
    rows: int,
) -> FirstChanges:
    """What the first stage of a view makes of an interval of its source, of about so many rows, as of a position."""
    columns = used_columns([one])
    source = one.leaves[0].object
    repeats = bound.repeats(source)
    at = store.position(position)
    parts = tasks_for(spark, rows, SMALL, ROWS_A_TASK)
    codec = bound.catalog.view_codecs[source] if bound.fed_by(source) else bound.catalog.codecs[source]
    framed = view_frame if bound.fed_by(source) else table_frame
    frame = framed(spark, store, codec, columns, at, interval, repeats=repeats, parts=parts)
    return run_stages(spark, store, [one], frame)[one.view.id]


def used_columns(views: Sequence[BoundView]) -> tuple[int, ...]:
    """The columns of their common source that any of these views reads."""
    return tuple(sorted({column for one in views for column in one.program.plan.source.columns}))


def run_stages(
    spark: SparkSession, store: EmbeddedStore, views: Sequence[BoundView], frame: DataFrame
) -> dict[int, FirstChanges]:
    stages = _stages(spark, store, views)
    try:
        found = stages.run(frame)
    except ViewkeeperError:
        raise
    except Exception as error:
        raise BatchFailed(
            "Spark could not compute the batch", detail=told(error), hint="It is tried again by itself."
        ) from error
    return {one.view.id: made for one, made in zip(views, found, strict=True)}


def _stages(spark: SparkSession, store: EmbeddedStore, views: Sequence[BoundView]) -> BulkStages:
    """Columns are built once for a set of views: each takes a call into the JVM."""
    from viewkeeper.execute.spark.bulk import BulkStages

    kept = _compiled.setdefault(spark, {})
    key = (store.database, tuple(one.view.id for one in views))
    if key not in kept:
        if len(kept) >= MOST_COMPILED:
            kept.clear()
        kept[key] = BulkStages([one.runner for one in views])
    return kept[key]
