"""The first stage of delta plans on Spark: all views over one source in one pass.

Spark evaluates the expressions of the linear steps, each different one once. Its tasks take the columns as Arrow,
group and sum them there, and hand partial tables to the driver, which adds those up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.pandas import functions as vectorized

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.delta.program import origin
from viewkeeper.execute.changetable import ChangeTable
from viewkeeper.execute.encodedrows import EncodedRows, FirstChanges
from viewkeeper.execute.spark.collect import Collected
from viewkeeper.execute.spark.pool import WEIGHT
from viewkeeper.execute.spark.sharing import GroupShare, Share, Sharing
from viewkeeper.execute.spark.task import PARTS, task_function
from viewkeeper.execute.viewchanges import ViewRunner

# Its annotations demand a function type, and given one it warns that type hints are preferred.
arrow_udf: Any = vectorized.arrow_udf


class BulkStages:
    """The first stages of views over one source, compiled once and run on many frames.

    Making one needs an active session: its columns are made then.
    """

    def __init__(self, runners: Sequence[ViewRunner]) -> None:
        if len({origin(runner.program.plan.source) for runner in runners}) > 1:
            raise ValueError("views that are computed together read one source")
        sharing = Sharing()
        self._shares: list[tuple[ViewRunner, Share]] = [(runner, sharing.add(runner.program)) for runner in runners]
        self.tasks = Tasks(sharing)

    def run(self, frame: DataFrame) -> list[FirstChanges]:
        """For each runner what its `first_changes` would give for the rows of the frame. One job.

        The frame holds signed rows of the source: column n as `cn`, under the type that model/arrow.py gives it, and
        the weight as `_w`. Columns that no view reads may be missing.
        """
        (collected,) = collect([(self.tasks, frame)])
        return self.made(collected)

    def made(self, collected: Collected) -> list[FirstChanges]:
        """The same from what the tasks gave."""
        errors = self.tasks.errors(collected)
        return [
            FirstChanges(_changes(collected, runner, share), errors.get(number, 0))
            for number, (runner, share) in enumerate(self._shares)
        ]


class Tasks:
    """What tasks do with a frame, as a column over it."""

    def __init__(self, sharing: Sharing) -> None:
        plan = sharing.plan()
        self._errors = len(plan.sinks) - 1
        run = task_function(plan)
        run.__annotations__ = {"batches": Iterator[tuple[pa.Array, ...]], "return": Iterator[pa.Array]}
        # Said to be nondeterministic, since what it gives with one row depends on the others.
        function = arrow_udf(run, PARTS).asNondeterministic()
        self._parts = function(*(sharing.pool.columns[name] for name in plan.names), sf.col(WEIGHT).cast("bigint"))

    def parts(self, frame: DataFrame, number: int) -> DataFrame:
        """The partial tables of a frame, marked with a number."""
        given = frame.select(self._parts.alias("parts")).select(sf.explode("parts").alias("part"))
        return given.select(sf.lit(number).alias("pass"), "part.sink", "part.part")

    def errors(self, collected: Collected) -> dict[int, int]:
        """By number of what was added, the weight of the rows on which it failed."""
        return collected.errors(self._errors)


def collect(passes: Sequence[tuple[Tasks, DataFrame]]) -> list[Collected]:
    """What tasks give for several frames, in one job."""
    if not passes:
        return []
    frames = [tasks.parts(frame, number) for number, (tasks, frame) in enumerate(passes)]
    parts = reduce(DataFrame.unionAll, frames).toArrow()
    return [Collected(parts.filter(pc.equal(parts["pass"], number))) for number in range(len(passes))]


def _changes(collected: Collected, runner: ViewRunner, share: Share) -> ChangeTable | EncodedRows:
    if not isinstance(share, GroupShare):
        return collected.rows(share.rows)
    sink = runner.program.plan.stages[0].sink
    assert isinstance(sink, AggregateSink)
    return collected.change_table(sink, share)


def first_changes(frame: DataFrame, runners: Sequence[ViewRunner]) -> list[FirstChanges]:
    """`BulkStages` for one frame."""
    return BulkStages(runners).run(frame)
