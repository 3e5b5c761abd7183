"""The frame of a relation that is computed whole: over all rows of its leaves, or over those that are enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as sf

from viewkeeper.execute.spark.intasks import name_of
from viewkeeper.execute.spark.relation import Frames
from viewkeeper.pipeline.firstsource import first_frame
from viewkeeper.pipeline.lookupframe import looked_up_frame
from viewkeeper.pipeline.signed import WEIGHT
from viewkeeper.pipeline.source import tasks_for
from viewkeeper.pipeline.tablesource import SMALL, table_frame, view_frame
from viewkeeper.plan.lookedup import LookedUp
from viewkeeper.plan.relation import Relation, Scan, scans
from viewkeeper.plan.staging import FirstRows
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import BoundViews
from viewkeeper.views.firstrows import reads_in, relation_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_TOGETHER = 250_000
"""Rows that a task takes into memory at once, about, where it needs all rows of a group."""


def relation_frames(
    spark: SparkSession,
    store: EmbeddedStore,
    bound: BoundViews,
    relation: Relation,
    position: int,
    read: dict[int, int] | None = None,
) -> Frames:
    """What makes the frame of a relation over tables and views as of a position; to be asked for it once.

    `read` is told, by leaf, how many stored rows are read of those of which not all are.
    """
    parts = tasks_for(spark, relation_rows(store, bound, relation), SMALL, ROWS_TOGETHER)
    leaves = _Leaves(spark, store, bound, relation, position, parts)
    # Frames asks for its leaves from left to right.
    numbers = iter(range(len(leaves.scans)))
    frames = Frames(lambda _: leaves.shown(next(numbers)), parts)
    frames.kept = leaves.kept
    if read is not None:
        for number, rows in leaves.some().items():
            read[number] = rows.count()
    return frames


class _Leaves:
    """The frames of the leaves of a relation, each of them made once. `kept` are those that are read more than once."""

    def __init__(
        self,
        spark: SparkSession,
        store: EmbeddedStore,
        bound: BoundViews,
        relation: Relation,
        position: int,
        parts: int,
    ) -> None:
        self.scans = list(scans(relation))
        self.kept: list[DataFrame] = []
        self._reads = reads_in(bound, relation)
        self._spark = spark
        self._store = store
        self._bound = bound
        self._position = position
        self._parts = parts
        self._made: dict[int, DataFrame] = {}

    def some(self) -> dict[int, DataFrame]:
        """By number, the leaves of which not all rows are read."""
        return {number: self._stored(number) for number, read in enumerate(self._reads) if read is not None}

    def shown(self, number: int) -> DataFrame:
        """The columns of a scan, each row as often as it is there."""
        scan, frame = self.scans[number], self._stored(number)
        if self._bound.repeats(scan.object):
            frame = frame.withColumn("again", sf.explode(sf.sequence(sf.lit(1).cast("bigint"), sf.col(WEIGHT))))
        return frame.select(*(sf.col(f"c{column}").alias(name_of(place)) for place, column in enumerate(scan.columns)))

    def _stored(self, number: int) -> DataFrame:
        """The rows of a scan as they are stored, with weights."""
        if number not in self._made:
            rows = self._read(number, self.scans[number])
            if self._reads[number] is not None:
                # As few as they are, to keep them is cheaper than to count them in passing, or to read them twice.
                rows = rows.persist()
                self.kept.append(rows)
            self._made[number] = rows
        return self._made[number]

    def _read(self, number: int, scan: Scan) -> DataFrame:
        spark, store, bound, place = self._spark, self._store, self._bound, self._position
        distinct, repeats = tuple(dict.fromkeys(scan.columns)), bound.repeats(scan.object)
        is_view = bound.fed_by(scan.object) is not None
        codec = (bound.catalog.view_codecs if is_view else bound.catalog.codecs)[scan.object]
        match self._reads[number]:
            case FirstRows() as first:
                return first_frame(spark, store, codec, distinct, place, first, is_view=is_view, repeats=repeats)
            case LookedUp() as read:
                arm = self._arm(read)
                return looked_up_frame(arm, store, codec, distinct, place, read, is_view=is_view, repeats=repeats)
        if is_view:
            return view_frame(spark, store, codec, distinct, store.position(place), repeats=repeats)
        return table_frame(spark, store, codec, distinct, store.position(place), repeats=repeats)

    def _arm(self, read: LookedUp) -> DataFrame:
        frames = Frames(lambda _: self.shown(read.leaf), self._parts)
        arm = frames.frame(read.arm)
        self.kept += frames.kept
        return arm
