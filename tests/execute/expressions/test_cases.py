"""Fixed cases of every function, as people write them, in both executors."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.execute.expressions.both import Outcome, in_rows, in_spark
from tests.execute.expressions.notation import Example, examples, read, shown
from viewkeeper.model.types import INT
from viewkeeper.plan.expr import Call, Expr, Literal, children
from viewkeeper.plan.functions import FUNCTIONS, Nulls

FILES = sorted((Path(__file__).parent / "cases").glob("*.txt"))
CASES = [case for path in FILES for case in examples(path.read_text(encoding="utf-8"))]


def _given(outcome: Outcome, expr: Expr) -> str:
    """What an outcome is in the notation: a value, `fails`, or both where a part failed and the whole went on."""
    value = shown(outcome.value, expr.type)
    if not outcome.failed:
        return value
    return "fails" if outcome.value is None else f"{value}, fails"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.text)
def test_row_executor_gives_what_the_case_says(case: Example) -> None:
    assert _given(in_rows(case.expr, ()), case.expr) == case.gives


def test_spark_gives_what_the_cases_say(spark: SparkSession) -> None:
    exprs = [case.expr for case in CASES]
    outcomes = in_spark(spark, exprs, [INT], [(1,)])
    given = [_given(outcome, expr) for [outcome], expr in zip(outcomes, exprs, strict=True)]
    wrong = [(case.text, found, case.gives) for case, found in zip(CASES, given, strict=True) if found != case.gives]
    assert wrong == []


def _calls(expr: Expr) -> set[str]:
    here = {expr.name} if isinstance(expr, Call) else set()
    return here.union(*map(_calls, children(expr)))


def test_every_function_has_a_case() -> None:
    assert set(FUNCTIONS) - set().union(*(_calls(case.expr) for case in CASES)) == {"bucket"}


def test_every_function_that_can_fail_has_a_case_that_fails() -> None:
    failing = [_calls(case.expr) for case in CASES if case.gives.endswith("fails")]
    assert {function.name for function in FUNCTIONS.values() if function.can_fail} <= set().union(*failing)


@pytest.mark.parametrize(
    "name", [function.name for function in FUNCTIONS.values() if function.nulls is Nulls.PROPAGATE]
)
def test_a_null_argument_gives_null_and_does_not_fail(name: str) -> None:
    calls = [case.expr for case in CASES if isinstance(case.expr, Call) and case.expr.name == name]
    assert calls
    for call in calls:
        for place, arg in enumerate(call.args):
            if place in FUNCTIONS[name].constants:
                continue
            args = (*call.args[:place], Literal(None, arg.type), *call.args[place + 1 :])
            assert in_rows(Call(name, args, call.type), ()).value is None
    # Other arguments may fail by themselves; with all of them NULL nothing can.
    for call in calls:
        constants = FUNCTIONS[name].constants
        args = tuple(arg if n in constants else Literal(None, arg.type) for n, arg in enumerate(call.args))
        assert in_rows(Call(name, args, call.type), ()) == Outcome(None, False)


def test_a_constant_of_the_notation_is_read_as_it_is_written() -> None:
    for text in ("NULL", "TRUE", "-7", "1.50", "0.05", "-0.0", "'it''s'", "X'00ff'", "DATE '0001-01-01'"):
        if text != "NULL":
            expr = read(text)
            assert isinstance(expr, Literal)
            assert shown(expr.value, expr.type) == (text if text != "-0.0" else "0.0")
