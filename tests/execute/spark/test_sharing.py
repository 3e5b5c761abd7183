"""What views have in common is computed once, and what tasks hold is bounded."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.execute.spark.bulk import differences, in_rows, runner
from tests.execute.spark.cases import KIND, TYPES, aggregate, call, scan
from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.execute.spark import task as task_module
from viewkeeper.execute.spark.collect import Collected
from viewkeeper.execute.spark.sharing import GroupShare, Share, Sharing
from viewkeeper.execute.spark.task import Task
from viewkeeper.execute.viewchanges import ViewRunner
from viewkeeper.model.arrow import from_cells
from viewkeeper.model.types import BIGINT, BOOLEAN
from viewkeeper.plan.expr import Input, Literal
from viewkeeper.plan.relation import Filter, Project


def shared(*made: ViewRunner) -> tuple[Sharing, list[Share]]:
    sharing = Sharing()
    return sharing, [sharing.add(view.program) for view in made]


def test_the_values_of_equal_groups_are_kept_once(spark: SparkSession) -> None:
    """Also of views that read other columns beside, or say it with a projection."""
    smallest = runner(aggregate(scan("kind", "n"), [0], (KIND.MIN, 1)))
    largest = runner(aggregate(scan("n", "price", "kind"), [2], (KIND.MAX, 0), (KIND.SUM, 1)))
    sharing, [one, other] = shared(smallest, largest)
    assert isinstance(one, GroupShare)
    assert isinstance(other, GroupShare)
    assert one.values == other.values
    assert one.groups == other.groups
    assert len(sharing.plan().sinks) == 3


def test_a_measure_of_two_views_is_summed_once(spark: SparkSession) -> None:
    sums = runner(aggregate(scan("kind", "n"), [0], (KIND.SUM, 1)))
    averages = runner(aggregate(scan("kind", "n", "x"), [0], (KIND.AVG, 1), (KIND.SUM, 2)))
    sharing, [one, other] = shared(sums, averages)
    assert isinstance(one, GroupShare)
    assert isinstance(other, GroupShare)
    assert one.measures == other.measures[:2]
    # Of n how many and two halves, of x how many and four sums, and the weight.
    assert other.measures[-1] == 1 + 1 + 2 + 1
    assert len(sharing.plan().sinks) == 2


def test_another_condition_is_another_group(spark: SparkSession) -> None:
    some = Filter(scan("kind", "n"), call(">", BOOLEAN, Input(1, BIGINT), Literal(1, BIGINT)))
    _, [one, other] = shared(
        runner(aggregate(scan("kind", "n"), [0], (KIND.MIN, 1))), runner(aggregate(some, [0], (KIND.MIN, 1)))
    )
    assert isinstance(one, GroupShare)
    assert isinstance(other, GroupShare)
    assert one.groups != other.groups
    assert one.values != other.values


def test_an_expression_travels_once(spark: SparkSession) -> None:
    more = call("+", BIGINT, Input(0, BIGINT), Literal(1, BIGINT))
    again = call("+", BIGINT, Input(1, BIGINT), Literal(1, BIGINT))
    sharing, _ = shared(
        runner(Project(scan("n"), (more,), ("m",))), runner(Project(scan("kind", "n"), (again, again), ("m", "k")))
    )
    # The sum and whether it failed.
    assert len(sharing.plan().names) == 2


@pytest.mark.parametrize(("chunk", "merge", "hold", "part"), [(1, 1, 1, 1), (7, 20, 5, 3), (50, 1 << 18, 1 << 18, 9)])
def test_results_do_not_depend_on_how_much_a_task_holds(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, chunk: int, merge: int, hold: int, part: int
) -> None:
    for name, value in (("CHUNK", chunk), ("MERGE", merge), ("HOLD", hold), ("PART", part)):
        monkeypatch.setattr(task_module, f"{name}_ROWS", value)
    rows: list[Weighted] = [
        ((number % 30, f"k{number % 7}", number % 11, number, 0.5, "a b", 0, number, number), number % 3 - 1)
        for number in range(200)
    ]
    made = [
        runner(aggregate(scan("kind", "n", "wide"), [0], (KIND.MAX, 1), (KIND.SUM, 2))),
        runner(scan("id", "kind")),
    ]
    sharing, shares = shared(*made)
    plan = sharing.plan()
    task = Task(plan)
    handed_out = []
    for start in range(0, len(rows), 10):
        some = rows[start : start + 10]
        arrays = [from_cells([row[int(name[1:])] for row, _ in some], TYPES[int(name[1:])]) for name in plan.names]
        task.add([*arrays, pa.array([weight for _, weight in some], pa.int64())])
        handed_out += task.ready()
    held_to_the_end = not handed_out
    task.finish()
    handed_out += task.ready()
    assert held_to_the_end == (hold > 100)
    collected = Collected(
        pa.table({"sink": [sink for sink, _ in handed_out], "part": pa.array([data for _, data in handed_out])})
    )
    for view, share in zip(made, shares, strict=True):
        assert differences(in_rows(view, rows), FirstChanges(_changes(collected, view, share), 0)) == []


def _changes(collected: Collected, view: ViewRunner, share: Share):  # type: ignore[no-untyped-def]
    if not isinstance(share, GroupShare):
        return collected.rows(share.rows)
    sink = view.program.plan.stages[0].sink
    assert isinstance(sink, AggregateSink)
    return collected.change_table(sink, share)
