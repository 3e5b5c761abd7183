"""First stages on Spark, case by case; all cases of a kind in one job."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.execute.spark.bulk import differences, frame, in_rows, in_spark, runner
from tests.execute.spark.cases import CASES, KIND, ROWS, TYPES, aggregate, scan
from tests.strategies import EVERY_TYPE, edge_cells
from viewkeeper.execute.changetable import ChangeTable, Weighted
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.execute.viewchanges import ViewRunner
from viewkeeper.model.types import BIGINT, Type
from viewkeeper.plan.relation import Field, Scan


def views() -> list[ViewRunner]:
    return [runner(relation, has_key=has_key) for relation in CASES.values() for has_key in (False, True)]


@pytest.fixture(scope="module")
def results(spark: SparkSession) -> dict[str, list[tuple[ViewRunner, FirstChanges]]]:
    """By case its view, without and with a key, and what Spark gives."""
    made = views()
    found = list(zip(made, in_spark(frame(spark, TYPES, ROWS), made), strict=True))
    return {name: found[2 * place : 2 * place + 2] for place, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_spark_gives_what_the_row_executor_gives(results: dict[str, Any], name: str) -> None:
    for view, first in results[name]:
        assert differences(in_rows(view, ROWS), first) == []


def test_errors_are_the_weight_of_source_rows(results: dict[str, Any]) -> None:
    """Of the rows, n is 0 in one that weighs -1."""
    wanted = dict.fromkeys(CASES, 0)
    failing = (
        *("an argument that fails", "a selection that fails", "what is projected away still fails"),
        *("rows in branches", "a branch that keeps fewer rows", "TOKENS behind what fails"),
    )
    wanted |= dict.fromkeys(failing, -1)
    # Not NaN, infinity nor a number of 308 digits is a DECIMAL: rows of weight -1, 1, -1, 3, 1 and -1.
    wanted["a function that runs in Python"] = 2
    assert {name: first.errors for name, ((_, first), _) in results.items()} == wanted


def test_sums_are_exact_and_groups_of_null_are_groups(results: dict[str, Any]) -> None:
    table = results["everything of BIGINT"][0][1].changes
    change = table.groups[None,]
    assert change.weight == 0
    count, total, squares = change.sums
    assert (count, total, squares) == (0, 2**63 - 1 + 2**63, (2**63 - 1) ** 2 - 2**126)
    assert table.values[0][("a",), 5] == 2


def test_views_that_share_values_do_not_share_the_dict(results: dict[str, Any]) -> None:
    (_, one), (_, other) = results["everything of INT"]
    one.changes.values[0].clear()
    assert other.changes.values[0]


def test_doubles_that_are_equal_are_one_group(results: dict[str, Any]) -> None:
    groups = results["doubles as groups"][0][1].changes.groups
    assert groups[0.0,].weight == 2
    assert [change.weight for (x,), change in groups.items() if x is not None and x != x] == [0]


@pytest.fixture(scope="module")
def by_type(spark: SparkSession) -> dict[Type, list[tuple[ViewRunner, FirstChanges]]]:
    """By type four views of a column of that type, and what Spark gives; all in one job."""
    made = {}
    for place, type in enumerate(EVERY_TYPE, 1):
        source = Scan(1, "T", (0, place), (Field("id", BIGINT), Field("v", type)))
        made[type] = [
            runner(aggregate(source, [1], (KIND.COUNT_ROWS, None), (KIND.MIN, 0))),
            runner(aggregate(source, [], (KIND.MIN, 1), (KIND.COUNT, 1))),
            runner(source),
            runner(source, has_key=True),
        ]
    flat = [view for several in made.values() for view in several]
    found = iter(in_spark(frame(spark, [BIGINT, *EVERY_TYPE], every_cell()), flat))
    return {type: [(view, next(found)) for view in several] for type, several in made.items()}


def every_cell() -> list[Weighted]:
    """Rows in which every column has NULL and each edge of its type, twice."""
    columns = [[None, *edge_cells(type)] * 2 for type in EVERY_TYPE]
    height = max(map(len, columns))
    rows = zip(*(itertools.islice(itertools.cycle(column), height) for column in columns), strict=True)
    return [((number, *row), 1 if number % 3 else -1) for number, row in enumerate(rows)]


@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
def test_every_type_can_be_group_value_and_row(by_type: dict[Type, Any], type: Type) -> None:
    for view, first in by_type[type]:
        assert differences(in_rows(view, every_cell()), first) == []


def test_an_empty_frame_changes_nothing(spark: SparkSession) -> None:
    made = views()
    for view, first in zip(made, in_spark(frame(spark, TYPES, []), made), strict=True):
        assert differences(in_rows(view, []), first) == []
        if isinstance(first.changes, ChangeTable):
            is_global = view.program.plan.stages[0].sink.group == ()  # type: ignore[union-attr]
            assert list(first.changes.groups) == ([()] if is_global else [])


def test_a_single_row_is_a_frame(spark: SparkSession) -> None:
    view = runner(CASES["everything of BIGINT"])
    [first] = in_spark(frame(spark, TYPES, ROWS[:1]), [view])
    assert differences(in_rows(view, ROWS[:1]), first) == []


def test_views_of_different_sources_are_not_computed_together(spark: SparkSession) -> None:
    other = Scan(2, "U", (0,), (Field("id", BIGINT),))
    with pytest.raises(ValueError, match="one source"):
        in_spark(frame(spark, TYPES, []), [runner(scan("id")), runner(other)])
