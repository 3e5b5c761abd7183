"""Parameters in compiled expressions: read anew at each run, and each thread has its own."""

from __future__ import annotations

from threading import Event, Thread

import pytest

from tests.execute.expressions.notation import call
from viewkeeper.execute.rows.expr import Failures, compile_expr, compile_predicate, compile_row
from viewkeeper.execute.rows.parameters import parameters
from viewkeeper.model.types import BOOLEAN, INT, STRING
from viewkeeper.plan.expr import Call, Case, Input, Literal, Parameter
from viewkeeper.plan.filling import ANY_LENGTH

P, Q = Parameter("p", INT), Parameter(0, INT)
COLUMN = Input(0, INT)


def test_an_expression_has_the_values_of_the_run_around_it() -> None:
    add = compile_expr(call("+", COLUMN, P))
    for value, result in ((5, 6), (7, 8), (None, None)):
        with parameters({("p", None): value}):
            assert add((1,), Failures()) == result


def test_names_numbers_and_places_of_a_list_are_told_apart() -> None:
    row = compile_row([P, Q, Parameter("p", INT, 0), Parameter("p", INT, 1)])
    with parameters({("p", None): 1, (0, None): 2, ("p", 0): 3, ("p", 1): 4}):
        assert row((), Failures()) == (1, 2, 3, 4)


def test_a_failure_with_a_parameter_counts() -> None:
    divide, failures = compile_expr(call("div", COLUMN, P)), Failures()
    with parameters({("p", None): 0}):
        assert divide((1,), failures) is None
    assert failures.count == 1


@pytest.mark.parametrize(
    ("value", "members", "result"),
    [
        (2, (1, 2), True),
        (3, (1, 2), False),
        (3, (None, None), None),
        (1, (None, 1), True),
        (None, (1, 2), None),
        (1, (), False),
        (None, (), False),
    ],
)
def test_a_list_of_parameters_is_looked_through(value: object, members: tuple[object, ...], result: object) -> None:
    listed = call("in", COLUMN, *(Parameter("ids", INT, place) for place in range(2)))
    with parameters({("ids", ANY_LENGTH): members}):
        assert compile_expr(listed)((value,), Failures()) is result  # type: ignore[arg-type]


def test_a_pattern_may_be_a_parameter() -> None:
    like = compile_predicate(Call("like", (Input(0, STRING), Parameter("p", STRING)), BOOLEAN))
    with parameters({("p", None): "a%"}):
        assert [like((text,), Failures()) for text in ("ab", "b")] == [True, False]


def test_parameters_are_read_in_functions_of_deeply_nested_expressions_too() -> None:
    deep = call("+", COLUMN, P)
    for _ in range(150):
        deep = Case(((call("=", COLUMN, Literal(1, INT)), deep),), Literal(0, INT), INT)  # type: ignore[assignment]
    with parameters({("p", None): 5}):
        assert compile_expr(deep)((1,), Failures()) == 6


def test_runs_inside_of_runs_have_their_own_values() -> None:
    value = compile_expr(P)
    with parameters({("p", None): 1}):
        with pytest.raises(RuntimeError), parameters({("p", None): 2}):
            assert value((), Failures()) == 2
            raise RuntimeError
        assert value((), Failures()) == 1
    with pytest.raises(KeyError):
        value((), Failures())


def test_each_thread_has_its_own_values() -> None:
    value, seen = compile_expr(P), []
    inside, read = Event(), Event()

    def run() -> None:
        with parameters({("p", None): 2}):
            inside.set()
            read.wait(10)
            seen.append(value((), Failures()))

    with parameters({("p", None): 1}):
        thread = Thread(target=run)
        thread.start()
        inside.wait(10)
        seen.append(value((), Failures()))
        read.set()
        thread.join()
    assert seen == [1, 2]
