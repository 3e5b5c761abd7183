"""What the conditions of a query say."""

from __future__ import annotations

import pytest

from viewkeeper.analysis.conditions import Conditions, core, equal_pair
from viewkeeper.model.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal, Parameter

A, B, C = (Input(place, INT) for place in range(3))
S = Input(3, STRING)
P, Q = Parameter("p", INT), Parameter("q", INT)
ONE = Literal(1, INT)


def cond(op: str, *args: Expr) -> Call:
    return Call(op, args, BOOLEAN)


def test_columns_that_equal_one_parameter_are_equal() -> None:
    found = Conditions([cond("=", A, P), cond("=", P, B)])
    assert found.are_equal(A, B)
    assert found.same(A) == {A, B, P}
    assert not found.are_equal(A, C)


def test_classes_grow_together_whatever_the_order() -> None:
    found = Conditions([cond("=", A, P), cond("=", B, C), cond("=", C, A)])
    assert found.same(B) == {A, B, C, P}
    assert len(found.classes()) == 1


def test_a_literal_comes_before_a_parameter() -> None:
    assert Conditions([cond("=", A, P), cond("=", A, ONE)]).constants(A) == [ONE, P]


def test_a_comparison_the_other_way_round_is_turned() -> None:
    (found,) = Conditions([cond("<", P, A)]).tests
    assert (found.op, found.subject, found.operands) == (">", A, (P,))


def test_a_test_of_an_equal_column_counts_for_both() -> None:
    found = Conditions([cond("=", A, B), cond(">", B, P)])
    assert [one.op for one in found.tests_of(A)] == [">"]
    assert not list(found.tests_of(C))


def test_a_list_of_one_is_an_equality_and_one_of_unknown_length_is_not() -> None:
    assert equal_pair(cond("in", A, P)) == (A, P)
    assert equal_pair(cond("in", A, Parameter("p", INT, -1))) is None


def test_an_equality_of_constants_says_nothing_of_columns() -> None:
    assert equal_pair(cond("=", P, ONE)) is None


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (Cast(A, BIGINT), A),
        (Cast(A, DOUBLE), A),
        (Cast(Cast(A, BIGINT), BIGINT), A),
        (Cast(A, STRING), Cast(A, STRING)),
        (Cast(Input(4, BIGINT), DOUBLE), Cast(Input(4, BIGINT), DOUBLE)),
        (Cast(Input(4, BIGINT), INT), Cast(Input(4, BIGINT), INT)),
    ],
)
def test_only_a_conversion_that_keeps_values_and_their_order_is_looked_through(expr: Expr, expected: Expr) -> None:
    assert core(expr) == expected


@pytest.mark.parametrize(
    ("pattern", "op"),
    [("wo%", "starts"), ("%wo", None), ("w_%", None), ("wo", None), ("%", None), (r"50\%%", "starts")],
)
def test_a_pattern_that_only_says_how_a_text_begins_is_a_range(pattern: str, op: str | None) -> None:
    found = Conditions([cond("like", S, Literal(pattern, STRING))])
    assert [one.op for one in found.tests] == ([] if op is None else [op])
    assert len(found.other) == (op is None)


def test_what_compares_a_column_implies_that_it_is_not_null() -> None:
    present = cond("not", cond("is_null", A))
    assert Conditions([cond(">", A, P)]).implies(present)
    assert Conditions([cond("=", A, B)]).implies(present)
    assert Conditions([present]).implies(present)
    assert not Conditions([cond(">", B, P)]).implies(present)
    assert not Conditions([cond("is_null", A)]).implies(present)


def test_only_what_is_there_or_follows_by_equality_is_implied() -> None:
    found = Conditions([cond("=", A, P), cond("=", B, P), cond(">", C, ONE)])
    assert found.implies(cond("=", A, B))
    assert found.implies(cond(">", C, ONE))
    assert not found.implies(cond("=", A, C))
    assert not found.implies(cond(">", C, Literal(2, INT)))
    assert not found.implies(cond("=", A, Q))


def test_equalities_of_one_column_that_or_joins_are_a_list() -> None:
    three = Literal(3, INT)
    both = cond("or", cond("=", A, ONE), cond("or", cond("=", P, A), cond("in", A, three, ONE)))
    (found,) = Conditions([both]).tests
    assert (found.op, found.subject, found.operands, found.conjunct) == ("in", A, (ONE, P, three), both)


@pytest.mark.parametrize(
    "other",
    [cond("=", B, ONE), cond(">", A, ONE), cond("=", A, B), cond("is_null", A), cond("in", A, Parameter("p", INT, -1))],
)
def test_or_with_anything_else_is_no_list(other: Expr) -> None:
    assert Conditions([cond("or", cond("=", A, ONE), other)]).tests == []
