"""Views with conditions that have no parameter: what they leave out need not be read again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

PRODUCTS = "CREATE TABLE products (id BIGINT PRIMARY KEY, name STRING, category STRING, stock INT, price INT)"
WHERE = "SELECT id, name FROM products WHERE category = :c AND {} ORDER BY price, id LIMIT 3"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(PRODUCTS)
        db.load("products", [_product(number) for number in range(60)])
        yield db


def _product(number: int) -> dict[str, Any]:
    stock = None if number % 7 == 0 else number % 3
    return {"id": number, "name": f"n{number}", "category": "ab"[number % 2], "stock": stock, "price": number % 11}


def _right(keep: str) -> list[dict[str, Any]]:
    """The answer for category a, by Python over the same rows."""
    rows = [row for row in map(_product, range(60)) if row["category"] == "a"]
    tests = {
        "stock > 0": lambda row: row["stock"] is not None and row["stock"] > 0,
        "stock <> 1": lambda row: row["stock"] is not None and row["stock"] != 1,
        "stock IS NOT NULL": lambda row: row["stock"] is not None,
        "stock IS NULL": lambda row: row["stock"] is None,
        "price < stock": lambda row: row["stock"] is not None and row["price"] < row["stock"],
        "(stock = 1 OR price > 8)": lambda row: row["stock"] == 1 or row["price"] > 8,
        "name LIKE '%4%'": lambda row: "4" in row["name"],
    }
    kept = sorted((row for row in rows if tests[keep](row)), key=lambda row: (row["price"], row["id"]))
    return [{"id": row["id"], "name": row["name"]} for row in kept[:3]]


@pytest.mark.parametrize(
    "keep",
    [
        "stock > 0",
        "stock <> 1",
        "stock IS NOT NULL",
        "price < stock",
        "(stock = 1 OR price > 8)",
        "name LIKE '%4%'",
    ],
)
def test_a_view_keeps_conditions_without_parameters(db: vk.Database, keep: str) -> None:
    found = db.prepare(WHERE.format(keep), create=True, maintain="SYNC")
    assert found.verdict.level == "SI-2"
    assert db.explain(WHERE.format(keep)).needs == ()
    for number in range(60, 75):
        db.put("products", _product(number) | {"category": "b"})
    rows = found(c="a")
    assert list(rows) == _right(keep)
    assert found.verdict.operations_max is not None
    assert rows.meta.operations <= found.verdict.operations_max == 4


def test_a_view_that_a_user_made_with_such_a_condition_answers(db: vk.Database) -> None:
    db.execute(
        "CREATE MATERIALIZED VIEW in_stock KEY (category, price, id) MAINTAIN SYNC AS "
        "SELECT category, price, id, name, stock FROM products WHERE stock > 0"
    )
    found = db.explain(WHERE.format("stock > 0"))
    assert (found.level, found.operations_max, found.rows_max, found.uses) == ("SI-2", 1, 3, ("in_stock",))
    assert list(db.query(WHERE.format("stock > 0"), c="a")) == _right("stock > 0")


def test_a_view_with_another_condition_does_not_answer(db: vk.Database) -> None:
    db.execute(
        "CREATE MATERIALIZED VIEW in_stock KEY (category, price, id) MAINTAIN SYNC AS "
        "SELECT category, price, id, name, stock FROM products WHERE stock > 1"
    )
    found = db.explain(WHERE.format("stock > 0"))
    assert found.uses != ("in_stock",)
    assert found.needs


def test_a_word_that_is_not_asked_for_is_kept_as_any_condition(db: vk.Database) -> None:
    """Which no index of words is needed for, and no limit on how many a text has."""
    sql = "SELECT COUNT(*) AS n, MIN(id) AS first FROM products WHERE TOKENS(name) = 'n4' AND category = :c"
    asked = db.prepare(sql, create=True, maintain="SYNC")
    assert (asked.verdict.level, asked.verdict.operations_max) == ("SI-2", 1)
    db.put("products", {"id": 70, "name": "an N4 more", "category": "a"})
    db.put("products", {"id": 71, "name": "n44", "category": "a"})
    assert list(asked(c="a")) == [{"n": 2, "first": 4}]
    refused = db.explain(sql.replace("'n4'", ":word"))
    assert refused.level == "unbounded"
    assert "none is stored by the words of a text" in refused.reason
