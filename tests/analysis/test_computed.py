"""Values that a query computes from its parameters alone: rows are found by them as by any parameter."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

USERS = "CREATE TABLE users (id BIGINT PRIMARY KEY, name STRING, age INT, score DECIMAL(8,2))"
ROWS = [(1, "ann", 30, "1.50"), (2, "bob", 31, "2.50"), (3, "cy", None, "1.50"), (4, None, 32, None)]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(USERS)
        for id, name, age, score in ROWS:
            db.put("users", {"id": id, "name": name, "age": age, "score": score and Decimal(score)})
        yield db


@pytest.mark.parametrize(
    ("where", "params", "level", "found"),
    [
        ("id = :a + 1", {"a": 2}, "SI-0", [3]),
        ("id = :a * :b", {"a": 2, "b": 2}, None, [4]),
        ("id = CAST(:a AS BIGINT) * :b", {"a": 2, "b": 2}, "SI-0", [4]),
        ("id = 7 DIV :a", {"a": 0}, "SI-0", []),
        ("id = 7 DIV :a", {"a": 3}, "SI-0", [2]),
        ("id IN (:a - 1, :a + 1, :a)", {"a": 2}, "SI-0", [1, 2, 3]),
        ("id >= :a - 1 AND id < :a + 1 ORDER BY id LIMIT 5", {"a": 2}, "SI-0", [1, 2]),
        ("id = LENGTH(CAST(:a AS STRING))", {"a": "xxx"}, "SI-0", [3]),
        ("id = CASE WHEN :a > 0 THEN 1 ELSE 2 END", {"a": 0}, "SI-0", [2]),
        ("name = LOWER(:a) LIMIT 5", {"a": "ANN"}, "SI-1", [1]),
        ("UPPER(name) = UPPER(:a) LIMIT 5", {"a": "aNN"}, "SI-1", [1]),
        ("name LIKE CONCAT(:a, '%') LIMIT 5", {"a": "b"}, "SI-1", [2]),
        ("name LIKE :a || '\\%%' LIMIT 5", {"a": "b"}, "SI-1", []),
        ("score = CAST(:a AS DECIMAL(8,2)) / 2 LIMIT 5", {"a": 3}, "SI-1", [1, 3]),
        ("score = CAST(:a AS DECIMAL(8,2)) + 0.5 AND age = :b - 1 LIMIT 5", {"a": 1, "b": 31}, "SI-1", [1]),
        ("id = :a AND age = :a + 29", {"a": 1}, "SI-0", [1]),
        ("id = :a AND age + :b = 31", {"a": 1, "b": 1}, "SI-0", [1]),
    ],
)
def test_rows_are_found_by_what_is_computed(
    db: vk.Database, where: str, params: dict[str, Any], level: str | None, found: list[int]
) -> None:
    sql = f"SELECT id FROM users WHERE {where}"
    if level is None:
        with pytest.raises(vk.WrongType, match="type of parameter"):
            db.explain(sql)
        return
    assert db.explain(sql).level == level
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    rows = prepared(**params)
    assert sorted(row["id"] for row in rows) == found
    assert rows.meta.operations <= prepared.verdict.operations_max  # type: ignore[operator]
    assert sorted(row["id"] for row in db.query(sql, allow_scan=True, **params)) == found
    with db.snapshot() as now:
        assert sorted(row["id"] for row in now.query(sql, **params)) == found


@pytest.mark.parametrize(
    "pattern", ["'%' || :a || '%'", "CONCAT('_', :a)", ":a || '_%'", ":a || '%' || :b", ":a || 'x'", "'\\' || :a"]
)
def test_a_pattern_that_cannot_say_how_a_text_begins_finds_no_rows(db: vk.Database, pattern: str) -> None:
    found = db.explain(f"SELECT id FROM users WHERE name LIKE {pattern} LIMIT 5")
    assert (found.level, found.needs) == ("unbounded", ())
    [suggestion] = found.suggestions
    assert suggestion.text == (
        "Ask for whole words: write TOKENS(name) = :word. And declare table users WITH CARDINALITY (TOKENS(name), n), "
        "n being the most words that there may be."
    )


def test_what_is_computed_from_parameters_is_in_no_view(db: vk.Database) -> None:
    found = db.explain("SELECT id FROM users WHERE LOWER(name) = LOWER(:a) AND age > :b - 5 ORDER BY age LIMIT 3")
    assert found.level == "SI-1"
    assert found.needs
    assert not any(":" in text for text in found.needs)
    assert "LOWER(:a)" in found.plan
    assert "age > :b - 5" in found.plan


def test_what_a_column_and_a_parameter_give_together_is_in_no_view(db: vk.Database) -> None:
    found = db.explain("SELECT id FROM users WHERE age + :a = 5 AND name = :b LIMIT 3")
    assert not any(":" in text for text in found.needs)


def test_a_count_is_kept_by_what_is_compared_with_something_computed(db: vk.Database) -> None:
    count = db.prepare("SELECT COUNT(*) AS n FROM users WHERE score = :a + 1.00", create=True, maintain="SYNC")
    assert count.verdict.level == "SI-2"
    assert [list(count(a=Decimal(one))) for one in ("0.50", "1.50", "9")] == [[{"n": 2}], [{"n": 1}], [{"n": 0}]]


def test_a_join_is_read_by_what_is_computed(db: vk.Database) -> None:
    db.execute("CREATE TABLE posts (user BIGINT, n INT, PRIMARY KEY (user, n)) WITH CARDINALITY (n, 9)")
    for n in range(3):
        db.put("posts", {"user": 2, "n": n})
    sql = "SELECT u.id, p.n FROM users u LEFT JOIN posts p ON p.user = u.id AND p.n = :n + 1 WHERE u.id = :a - 1"
    assert db.explain(sql).level == "SI-0"
    assert list(db.query(sql, a=3, n=0)) == [{"id": 2, "n": 1}]
    assert list(db.query(sql, a=3, n=7)) == [{"id": 2, "n": None}]
