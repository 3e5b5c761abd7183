"""SELECT: output columns, order, limit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql.tables import catalog, points
from viewkeeper.errors import BadParameter, SqlSyntax, UnknownColumn, UnknownTable
from viewkeeper.sql.statements import Select

ALL = (("a", 0), ("b", 1), ("c", 2), ("v", 3))


def test_a_star_is_every_column_in_key_order_without_a_limit() -> None:
    assert catalog().one("SELECT * FROM K") == Select(
        table="k", columns=ALL, where=points(()), descending=False, limit=None
    )


@pytest.mark.parametrize(
    ("items", "columns"),
    [
        ("b, A", (("b", 1), ("A", 0))),
        ("a AS x, b y, (c)", (("x", 0), ("y", 1), ("c", 2))),
        ("k.a, K.b", (("a", 0), ("b", 1))),
        ("k.*", ALL),
        ("*, a AS again", (*ALL, ("again", 0))),
        ('`a`, "b" AS "my b"', (("a", 0), ("my b", 1))),
    ],
)
def test_output_columns_are_named_as_the_text_has_them(items: str, columns: Any) -> None:
    assert catalog().one(f"SELECT {items} FROM k").columns == columns


@pytest.mark.parametrize("source", ["k x", "k AS x", "k AS `X`"])
def test_a_table_may_have_another_name(source: str) -> None:
    statement = catalog().one(f"SELECT x.a, b FROM {source} WHERE x.a = 1 ORDER BY x.a")
    assert (statement.columns, statement.where) == ((("a", 0), ("b", 1)), points((1,)))


@pytest.mark.parametrize(
    ("rest", "descending"),
    [
        ("ORDER BY a", False),
        ("ORDER BY a ASC, b, c", False),
        ("ORDER BY a DESC", True),
        ("ORDER BY k.a DESC, B DESC, c DESC", True),
        ("ORDER BY a NULLS LAST", False),
        ("WHERE a = 1 ORDER BY b DESC", True),
        ("WHERE a = 1 ORDER BY a, b DESC", True),
        ("WHERE a = 1 ORDER BY b, a DESC", False),
        ("WHERE a = 1 AND b = 'x' ORDER BY a DESC", False),
        ("WHERE a = 1 AND b IN ('x', 'y') ORDER BY b DESC, c DESC", True),
    ],
)
def test_order_by_is_the_order_of_the_key_or_its_reverse(rest: str, descending: bool) -> None:
    assert catalog().one(f"SELECT * FROM k {rest}").descending is descending


def test_order_by_takes_an_output_name_before_a_column() -> None:
    assert catalog().one("SELECT a AS first, v AS b FROM k ORDER BY first DESC").descending is True


@pytest.mark.parametrize(("limit", "params"), [("10", None), ("(10)", None), (":n", {"n": 10}), ("?", [10])])
def test_a_limit_is_a_number_or_a_parameter(limit: str, params: Any) -> None:
    assert catalog().one(f"SELECT * FROM k LIMIT {limit}", params).limit == 10


def test_a_limit_of_zero_is_not_no_limit() -> None:
    assert catalog().one("SELECT * FROM k LIMIT 0").limit == 0


@pytest.mark.parametrize("value", [-1, 1.5, "5", None, True, [1]])
def test_a_limit_that_is_no_whole_number_is_a_bad_parameter(value: Any) -> None:
    with pytest.raises(BadParameter, match="parameter :n of LIMIT"):
        catalog().one("SELECT * FROM k LIMIT :n", {"n": value})


@pytest.mark.parametrize("limit", ["-1", "1.5", "'5'", "NULL", "a", "1 + 1"])
def test_a_limit_that_is_no_whole_number_is_a_syntax_error(limit: str) -> None:
    with pytest.raises(SqlSyntax, match=r"column 23: expected a whole number"):
        catalog().one(f"SELECT * FROM k LIMIT {limit}")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownColumn, match='column "d" is not in table "k"'):
        catalog().one("SELECT d FROM k")
    with pytest.raises(UnknownColumn, match='column "d" is not in table "k"'):
        catalog().one("SELECT * FROM k WHERE d = 1")
    with pytest.raises(UnknownTable, match="nowhere"):
        catalog().one("SELECT * FROM nowhere")
