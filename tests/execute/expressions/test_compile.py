"""How expressions become Python functions: what is evaluated, what counts as failed, and how deep they may be."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.execute.expressions.notation import call, read
from viewkeeper.execute.rows.expr import Failures, compile_expr, compile_predicate, compile_row
from viewkeeper.model.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, INT, STRING, Cell, Type, decimal
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal

ROW = (1, 0, None)
ONE, ZERO, NULL = (Input(place, INT) for place in range(3))
FAILING = call("div", ONE, ZERO)


def _value(expr: Expr) -> tuple[Cell, int]:
    """The value, and how many operations failed."""
    failures = Failures()
    return compile_expr(expr)(ROW, failures), failures.count


def test_each_failed_operation_counts_once() -> None:
    assert _value(FAILING) == (None, 1)
    assert _value(call("+", FAILING, FAILING)) == (None, 2)
    assert _value(call("coalesce", FAILING, FAILING, ONE)) == (1, 2)


def test_an_operation_on_a_failed_one_does_not_fail_itself() -> None:
    assert _value(call("%", FAILING, ZERO)) == (None, 1)


def test_all_arguments_of_and_or_and_in_are_evaluated() -> None:
    failing = call("=", FAILING, ONE)
    assert _value(call("and", Literal(False, BOOLEAN), failing)) == (False, 1)
    assert _value(call("or", Literal(True, BOOLEAN), failing, failing)) == (True, 2)
    assert _value(call("in", Cast(ONE, BIGINT), Cast(ONE, BIGINT), FAILING)) == (True, 1)


def test_a_case_in_an_argument_does_not_hide_what_the_others_do() -> None:
    case = Case(((call("=", ONE, ONE), Literal(5, BIGINT)),), FAILING, BIGINT)
    assert _value(call("+", case, FAILING)) == (None, 1)
    assert _value(call("+", case, case)) == (10, 0)


def test_condition_of_null_or_failed_is_not_true() -> None:
    for expr in (call("=", NULL, ONE), call("=", FAILING, ONE)):
        assert compile_predicate(expr)(ROW, Failures()) is False
    assert compile_predicate(call("=", ONE, ONE))(ROW, Failures()) is True


def test_a_condition_has_to_be_boolean() -> None:
    with pytest.raises(ValueError, match="BOOLEAN"):
        compile_predicate(ONE)


def test_a_row_of_expressions_may_be_empty_or_of_one() -> None:
    assert compile_row([])(ROW, Failures()) == ()
    assert compile_row([call("+", ONE, ONE)])(ROW, Failures()) == (2,)
    assert compile_row([ONE, NULL, Literal("x", STRING)])(ROW, Failures()) == (1, None, "x")


@pytest.mark.parametrize("cell", [True, -5, 1.5, "it's {0} \\ \n", b"\x00'", None])
def test_a_constant_is_itself(cell: Cell) -> None:
    kinds = {bool: BOOLEAN, int: INT, float: DOUBLE, str: STRING, bytes: BINARY}
    expr = Literal(cell, kinds.get(type(cell), INT))
    assert _value(expr) == (cell, 0)
    assert _value(call("is_null", expr)) == (cell is None, 0)
    assert _value(call("coalesce", expr, expr)) == (cell, 0)


def test_conversion_that_is_not_allowed_is_refused() -> None:
    with pytest.raises(ValueError, match="no conversion from DATE to INT"):
        compile_expr(Cast(Input(0, DATE), INT))


def test_case_of_many_branches() -> None:
    branches = tuple((call("=", ONE, Literal(number, INT)), Literal(number * 10, INT)) for number in range(500, -1, -1))
    assert _value(Case(branches, FAILING_INT, INT)) == (10, 0)


FAILING_INT = Cast(FAILING, INT)


def test_case_coalesce_and_arithmetic_inside_one_another_200_times() -> None:
    expr: Expr = FAILING_INT
    for number in range(200):
        if number % 3 == 0:
            expr = Case(((call("=", ONE, ZERO), FAILING_INT),), expr, INT)
        elif number % 3 == 1:
            expr = call("coalesce", NULL, expr)
        else:
            expr = call("+", call("coalesce", expr, ZERO), ONE)
    # Each sum takes what failed, once, or the sum so far, and adds one.
    assert _value(expr) == (66, 1)


def test_case_in_the_condition_of_a_case_80_times() -> None:
    condition: Expr = call("=", ONE, ONE)
    for _ in range(80):
        condition = Case(((condition, Literal(True, BOOLEAN)),), Literal(None, BOOLEAN), BOOLEAN)
    assert _value(condition) == (True, 0)


def test_a_column_read_twice_and_one_far_right() -> None:
    wide = tuple(range(1000))
    expr = call("+", Input(999, INT), call("*", Input(7, INT), Input(7, INT)))
    assert compile_expr(expr)(wide, Failures()) == 1048


def test_constants_may_look_like_placeholders() -> None:
    assert _value(read("concat('{0}', '{v}', '%s')")) == ("{0}{v}%s", 0)
    assert _value(read("replace('{0}{1}', '{1}', '}{')")) == ("{0}}{", 0)


def test_a_call_of_wrong_arguments_cannot_be_written_by_accident() -> None:
    with pytest.raises(KeyError):
        compile_expr(Call("no_such_function", (ONE,), INT))


def _like(text: str, pattern: str) -> bool:
    """LIKE by definition: each wildcard tried with every text it may stand for."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(_like(text[skipped:], pattern[1:]) for skipped in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and _like(text[1:], pattern[1:])


@given(st.text("ab\n", max_size=7), st.text("ab%_", max_size=6))
def test_like_is_what_it_is_by_definition(text: str, pattern: str) -> None:
    assert _value(call("like", Literal(text, STRING), Literal(pattern, STRING))) == (_like(text, pattern), 0)


@pytest.mark.parametrize("pattern", ["%a" * 20 + "%b", "%a_" * 20 + "%b", "%" * 50 + "b"])
def test_like_does_not_take_long_where_many_wildcards_nearly_match(pattern: str) -> None:
    text = "a" * 20_000
    started = perf_counter()
    assert _value(call("like", Literal(text, STRING), Literal(pattern, STRING))) == (False, 0)
    assert perf_counter() - started < 2


@pytest.mark.parametrize("type", [DOUBLE, decimal(38, 10), BIGINT, DATE])
def test_a_long_text_that_is_no_number_does_not_take_long_to_refuse(type: Type) -> None:
    started = perf_counter()
    assert _value(Cast(Literal("1" * 300_000 + "x", STRING), type)) == (None, 1)
    assert perf_counter() - started < 2
