"""What Spark's optimizer and generated code must not do to an expression."""

from __future__ import annotations

from time import perf_counter

import pytest
from pyspark.sql import SparkSession

from tests.execute.expressions.both import collect, data_frame, differences
from tests.execute.expressions.notation import call, read
from viewkeeper.execute.spark.expr import Translation, failed
from viewkeeper.model.types import BIGINT, BIGINT_MAX, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, Row, decimal
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal

A, B = Input(0, BIGINT), Input(1, BIGINT)
EDGES = (BIGINT_MAX, -BIGINT_MAX, 2**62, 5, 1, 0, -1, None)
PAIRS: list[Row] = [(a, b) for a in EDGES for b in EDGES]


def _big(value: int) -> Literal:
    return Literal(value, BIGINT)


def test_sums_and_products_are_evaluated_as_they_are_written(spark: SparkSession) -> None:
    exprs = [
        call("*", call("*", _big(17), A), _big(0)),
        call("+", call("+", A, _big(BIGINT_MAX)), _big(-BIGINT_MAX)),
        call("+", A, call("+", _big(-5), B)),
        call("*", call("*", A, _big(0)), B),
        call("+", call("+", A, B), call("+", _big(-1), A)),
        call("epoch+", Literal(0, TIMESTAMP), call("+", A, _big(-BIGINT_MAX))),
    ]
    assert differences(spark, exprs, [BIGINT, BIGINT], PAIRS) == []


def test_a_null_separator_is_not_that_of_the_row_before(spark: SparkSession) -> None:
    number, text = Input(0, INT), Input(1, STRING)
    branches = tuple((call("=", number, Literal(place, INT)), Input(place, STRING)) for place in (1, 2))
    separator = Case(branches, Literal(None, STRING), STRING)
    rows: list[Row] = [(place % 4, ",", ";") for place in range(40)]
    assert differences(spark, [call("concat_ws", separator, text, text)], [INT, STRING, STRING], rows) == []


def test_constants_that_are_equal_need_not_be_the_same(spark: SparkSession) -> None:
    exprs: list[Expr] = [Literal(0.0, DOUBLE), Literal(-0.0, DOUBLE)]
    exprs.append(call("coalesce", Literal(-0.0, DOUBLE), Literal(0.0, DOUBLE)))
    assert differences(spark, exprs, [INT], [(1,)]) == []


def test_what_cannot_fail_has_no_flag(spark: SparkSession) -> None:
    frame, inputs = data_frame(spark, [BIGINT, BIGINT], [(1, 1)])
    for text in ("1.50 + 2", "1e0 * 2e0", "upper('a')", "7 / 2e0", "CAST(1 AS BIGINT)", "coalesce(1, 2)"):
        assert failed(read(text), inputs) is None
    for expr in (call("+", A, B), call("/", A, B), Cast(A, INT), call("coalesce", A, call("div", A, B))):
        assert failed(expr, inputs) is not None
    assert frame.count() == 1


def test_a_flag_is_never_null(spark: SparkSession) -> None:
    frame, inputs = data_frame(spark, [BIGINT, BIGINT], PAIRS)
    quotient = call("div", A, B)
    condition = call("=", quotient, A)
    exprs: list[Expr] = [
        call("+", quotient, B),
        call("and", condition, condition),
        Case(((condition, quotient), (call("=", A, B), A)), quotient, BIGINT),
        call("coalesce", quotient, A, quotient),
    ]
    translation = Translation(inputs)
    flags = [translation.failed(expr) for expr in exprs]
    for cells in collect(frame, [flag for flag in flags if flag is not None], [BOOLEAN] * len(exprs)):
        assert None not in cells
        assert {True, False} == set(cells)


def test_a_function_in_python_runs_once_for_value_and_flag(spark: SparkSession) -> None:
    frame, inputs = data_frame(spark, [STRING, STRING], [("a", "a\\")])
    expr = call("like", Input(0, STRING), Input(1, STRING))
    translation = Translation(inputs)
    flag = translation.failed(expr)
    assert flag is not None
    plan = frame.select(translation.column(expr), flag)._jdf.queryExecution().executedPlan().toString()
    assert plan.count("viewkeeper_like(c0#") == 1


@pytest.mark.parametrize("size", [10, 60])
def test_long_lists_do_not_change_what_in_means(spark: SparkSession, size: int) -> None:
    value = Input(0, DOUBLE)
    members = [Literal(float(number), DOUBLE) for number in range(size)]
    exprs = [
        Call("in", (value, *members), BOOLEAN),
        Call("in", (value, *members, Literal(float("nan"), DOUBLE)), BOOLEAN),
        Call("in", (value, *members, Literal(None, DOUBLE)), BOOLEAN),
    ]
    rows: list[Row] = [(-0.0,), (0.0,), (float("nan"),), (-1.0,), (None,), (5.0,)]
    assert differences(spark, exprs, [DOUBLE], rows) == []


def test_texts_that_nearly_match_do_not_take_long(spark: SparkSession) -> None:
    text, pattern = Input(0, STRING), Input(1, STRING)
    patterns = ["%a" * 20 + "%b", "%a_" * 20 + "%b"]
    exprs = [call("like", text, Literal(each, STRING)) for each in patterns]
    exprs += [call("like", text, pattern), Cast(text, DOUBLE), Cast(text, decimal(38, 10))]
    rows: list[Row] = [("a" * 20_000, "%a_" * 20 + "%b"), ("1" * 300_000 + "x", "%1%2")]
    started = perf_counter()
    assert differences(spark, exprs, [STRING, STRING], rows) == []
    assert perf_counter() - started < 20
