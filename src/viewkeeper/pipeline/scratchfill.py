"""Scratch stores filled as views are: a small input in this process, a large one on Spark."""

from __future__ import annotations

from viewkeeper.errors import Outrun
from viewkeeper.pipeline.backfill import Filled, Filler
from viewkeeper.pipeline.comparing import Filler as FillScratch
from viewkeeper.pipeline.comparing import Progress
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import BoundView, BoundViews


def scratch_filler(spark: SparkSource, progress: Progress | None = None) -> FillScratch:
    """What `verify` and `repair` take as their filler; Spark is started when it is needed."""

    def told(filled: Filled) -> None:
        if progress is not None:
            progress("recomputed", filled.rows, filled.total)

    def fill(scratch: EmbeddedStore, bound: BoundViews, one: BoundView) -> None:
        if not Filler(scratch, spark, "scratch", told).fill(bound, one):
            raise Outrun(f'view "{one.view.name}" could not be computed anew', hint="Try again.")

    return fill
