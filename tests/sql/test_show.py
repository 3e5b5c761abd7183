"""Plans as texts."""

from __future__ import annotations

import pytest

from viewkeeper.model.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, decimal
from viewkeeper.plan.expr import Call, Expr, Input, Literal, Parameter
from viewkeeper.plan.relation import Aggregate, Field, Project, Scan
from viewkeeper.plan.show import show, show_expr

SCAN = Scan(1, "t", (0, 1), (Field("a", INT), Field("a", STRING)))


@pytest.mark.parametrize(
    ("literal", "shown"),
    [
        (Literal(5, INT), "5"),
        (Literal(5, BIGINT), "5:BIGINT"),
        (Literal(None, INT), "NULL:INT"),
        (Literal(1.5, DOUBLE), "1.5:DOUBLE"),
        (Literal(-150, decimal(5, 2)), "-1.50:DECIMAL(5,2)"),
        (Literal("it's", STRING), "'it''s'"),
        (Literal(b"\x0a\xff", BINARY), "X'0aff'"),
        (Literal(True, BOOLEAN), "TRUE"),
        (Literal(0, DATE), "DATE '1970-01-01'"),
        (Literal(1, TIMESTAMP), "TIMESTAMP '1970-01-01 00:00:00.000001+00:00'"),
    ],
)
def test_constants_of_different_types_are_told_apart(literal: Expr, shown: str) -> None:
    assert show_expr(literal, ()) == shown


@pytest.mark.parametrize(
    ("parameter", "shown"),
    [
        (Parameter("id", INT), ":id"),
        (Parameter(0, INT), "?1"),
        (Parameter("ids", INT, 3), ":ids[3]"),
        (Parameter(1, INT, -1), "?2[…]"),
    ],
)
def test_parameters_are_shown_as_they_are_written(parameter: Parameter, shown: str) -> None:
    assert show_expr(parameter, ()) == shown


def test_columns_of_one_name_are_told_apart_by_place() -> None:
    both = Project(SCAN, (Input(1, STRING), Input(0, INT)), ("x", "y"))
    assert show(both) == "Project\n    x STRING = a#1\n    y INT = a#0\n  Scan t (a INT, a STRING)"


def test_operators_are_nested_in_parentheses_and_one_sided_ones_are_calls() -> None:
    one = Literal(1, INT)
    minus = Call("-", (Call("-", (one, one), INT), one), INT)
    assert show_expr(minus, ()) == "((1 - 1) - 1)"
    assert show_expr(Call("and", (Literal(True, BOOLEAN),), BOOLEAN), ()) == "and(TRUE)"


def test_a_group_column_with_another_name_says_where_it_is_from() -> None:
    assert show(Aggregate(SCAN, (1,), (), ("g",))).splitlines()[0] == "Aggregate by (g = a#1)"
