"""Random expressions over random rows: both executors give the same value, and fail on the same rows."""

from __future__ import annotations

from random import Random

import pytest
from pyspark.sql import SparkSession

from tests.execute.expressions.both import Difference, differences
from tests.execute.expressions.random_cells import TYPES, random_cell
from tests.execute.expressions.random_exprs import RandomExprs
from viewkeeper.execute.rows.expr import Failures, compile_expr, compile_predicate, compile_row
from viewkeeper.model.types import BOOLEAN, Row
from viewkeeper.plan.expr import Expr, children
from viewkeeper.plan.failing import can_fail
from viewkeeper.plan.functions import FUNCTIONS

COLUMNS = [type for type in TYPES for _ in range(2)]
TRIED = "random cases tried"


def _batch(seed: int, depth: int, count: int, size: int) -> tuple[list[Expr], list[Row]]:
    """Each function in turn on top of arguments less than `depth` deep, and conversions; and the rows."""
    rng = Random(seed)
    draw = RandomExprs(rng, COLUMNS)
    names = rng.sample(list(FUNCTIONS), len(FUNCTIONS))
    exprs: list[Expr] = [draw.call(names[number % len(names)], depth - 1) for number in range(count)]
    exprs += [draw.cast(rng.choice(TYPES), depth - 1) for _ in range(count // 4)]
    rows = [tuple(random_cell(rng, type) for type in COLUMNS) for _ in range(size)]
    return exprs, rows


def _smallest(spark: SparkSession, difference: Difference) -> Difference:
    """The part of an expression that the executors differ on, while its own parts agree."""
    while inside := differences(spark, children(difference.expr), COLUMNS, [difference.row]):
        difference = inside[0]
    return difference


# Few and large: a job costs a third of a second, a case in it next to nothing.
@pytest.mark.parametrize(("depth", "count", "size"), [(1, 200, 60), (2, 160, 60), (4, 60, 60)])
def test_executors_agree(
    spark: SparkSession, seeds: list[int], record_property: pytest.RecordProperty, depth: int, count: int, size: int
) -> None:
    for seed in seeds:
        exprs, rows = _batch(seed, depth, count, size)
        found = differences(spark, exprs, COLUMNS, rows)
        assert [_smallest(spark, each) for each in found[:3]] == [], f"seed {seed}"
        record_property(TRIED, len(exprs) * len(rows))


def test_what_cannot_fail_does_not(seeds: list[int], record_property: pytest.RecordProperty) -> None:
    for seed in seeds:
        exprs, rows = _batch(seed, 2, 20 * len(FUNCTIONS), 40)
        sure = [expr for expr in exprs if not can_fail(expr)]
        for expr in sure:
            function, failures = compile_expr(expr), Failures()
            for row in rows:
                function(row, failures)
            assert failures.count == 0, (seed, expr)
        record_property(TRIED, len(sure) * len(rows))


def test_a_function_for_several_expressions_or_a_condition_gives_what_single_ones_give(
    seeds: list[int], record_property: pytest.RecordProperty
) -> None:
    for seed in seeds:
        exprs, rows = _batch(seed, 3, 4 * len(FUNCTIONS), 20)
        whole, each = compile_row(exprs), [compile_expr(expr) for expr in exprs]
        conditions = [(compile_predicate(expr), place) for place, expr in enumerate(exprs) if expr.type == BOOLEAN]
        for row in rows:
            together, apart = Failures(), Failures()
            values = tuple(function(row, apart) for function in each)
            # By text, in which NaN is NaN and -0.0 is not 0.0.
            assert repr(whole(row, together)) == repr(values), f"seed {seed}"
            assert together.count == apart.count, f"seed {seed}"
            for condition, place in conditions:
                assert condition(row, Failures()) is (values[place] is True), f"seed {seed}"
        record_property(TRIED, len(exprs) * len(rows))
