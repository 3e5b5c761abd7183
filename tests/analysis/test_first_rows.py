"""The first rows of UNION, and of rows of which some that are named are left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

Rows = list[tuple[Any, ...]]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(
            "CREATE TABLE comments (id INT PRIMARY KEY, author INT, at INT, state STRING);"
            "CREATE TABLE issues (id BIGINT PRIMARY KEY, reporter INT, at INT);"
            "CREATE TABLE notes (room INT, id INT, kind INT, PRIMARY KEY (room, id))"
        )
        for number in range(60):
            db.put("comments", {"id": number, "author": number % 2, "at": number * 37 % 61, "state": "ab"[number % 2]})
            db.put("issues", {"id": number, "reporter": number % 3, "at": number * 23 % 59 if number % 7 else None})
            db.put("notes", {"room": number % 4, "id": number, "kind": number % 3})
        yield db


def answered(db: vk.Database, sql: str, **params: Any) -> tuple[vk.PreparedQuery, Rows]:
    """The query with what it needs, and its rows, of which those of a scan say which they are."""
    expected = [tuple(row.values()) for row in db.query(sql, allow_scan=True, **params)]
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    rows = prepared(**params)
    found = [tuple(row.values()) for row in rows]
    assert found == expected
    assert rows.meta.operations is not None
    assert prepared.verdict.operations_max is not None
    assert rows.meta.operations <= prepared.verdict.operations_max
    assert rows.meta.rows <= (prepared.verdict.rows_max or 0)
    return prepared, found


ONE = "SELECT id, at FROM comments WHERE author = :u"
STATE = "SELECT state FROM comments"
OTHER = "SELECT id, at FROM issues WHERE reporter = :u"


@pytest.mark.parametrize("union", ["UNION ALL", "UNION"])
@pytest.mark.parametrize(
    ("behind", "params", "count"),
    [
        ("ORDER BY at DESC, id LIMIT 7", {}, 7),
        ("ORDER BY at, id LIMIT 7", {}, 7),
        ("ORDER BY id DESC, at LIMIT :n MAX 9", {"n": 3}, 3),
        ("ORDER BY id, at LIMIT 4 OFFSET 5", {}, 4),
        ("ORDER BY at DESC, id LIMIT 100", {}, None),
    ],
)
def test_the_first_rows_of_a_union_are_among_the_first_of_each_side(
    db: vk.Database, union: str, behind: str, params: dict[str, Any], count: int | None
) -> None:
    for u in (0, 1, 2):
        prepared, found = answered(db, f"{ONE} {union} {OTHER} {behind}", u=u, **params)
        assert prepared.verdict.level == "SI-1"
        assert count is None or len(found) == count
    around = f"SELECT * FROM ({ONE} {union} {OTHER}) AS both {behind}"
    assert answered(db, around, u=1, **params)[0].verdict.level == "SI-1"


@pytest.mark.parametrize(
    "sql",
    [
        # Any number of rows may show the same state, so the first of them are not enough.
        f"{STATE} WHERE author = :u UNION {STATE} WHERE at = :u ORDER BY state LIMIT 2",
        # The first rows of a side are not those that are left.
        f"SELECT * FROM ({ONE} UNION ALL {OTHER}) AS both WHERE at - id > 3 ORDER BY at, id LIMIT 2",
        f"SELECT at, COUNT(*) AS n FROM ({ONE} UNION ALL {OTHER}) AS both GROUP BY at ORDER BY at LIMIT 2",
        f"{ONE} UNION ALL {OTHER} ORDER BY at + id LIMIT 2",
    ],
)
def test_where_the_first_rows_are_not_enough_there_is_no_bound(db: vk.Database, sql: str) -> None:
    try:
        found = db.explain(sql)
    except vk.ViewkeeperError as error:
        assert "ORDER BY" in str(error)  # noqa: PT017  an expression is no column of what is shown
        return
    assert found.level == "unbounded"


@pytest.mark.parametrize(
    ("where", "params", "rows"),
    [
        ("author = :u AND id <> :x", {"u": 1, "x": 55}, 4),
        ("author = :u AND :x <> id", {"u": 1, "x": 55}, 4),
        ("author = :u AND NOT id = :x", {"u": 1, "x": None}, 4),
        ("author = :u AND id NOT IN (55, 3) AND id <> :x", {"u": 1, "x": 7}, 6),
        ("author = :u AND id NOT IN :seen MAX 5", {"u": 0, "seen": [50, 48, 2]}, 8),
        ("author = :u AND id NOT IN :seen MAX 5", {"u": 0, "seen": []}, 8),
    ],
)
def test_one_more_row_is_read_for_each_that_is_left_out(
    db: vk.Database, where: str, params: dict[str, Any], rows: int
) -> None:
    for order in ("at DESC", "at"):
        sql = f"SELECT id, author FROM comments WHERE {where} ORDER BY {order} LIMIT 3"
        prepared, _ = answered(db, sql, **params)
        assert (prepared.verdict.level, prepared.verdict.rows_max) == ("SI-1", rows)


def test_others_like_one_leave_that_out(db: vk.Database) -> None:
    like = "SELECT q.id FROM comments p JOIN comments q ON q.author = p.author AND q.id <> p.id"
    prepared, found = answered(db, f"{like} WHERE p.id = :p ORDER BY q.id LIMIT 3", p=3)
    assert (prepared.verdict.level, found) == ("SI-1", [(1,), (5,), (7,)])
    prepared, _ = answered(db, f"{like} WHERE p.id IN :p MAX 3 ORDER BY q.id, p.id LIMIT 5", p=[1, 3, 4])
    assert prepared.verdict.level == "SI-1"


def test_a_part_of_a_key_leaves_out_any_number_of_rows(db: vk.Database) -> None:
    sql = "SELECT room, id FROM notes WHERE kind = :k AND id <> :x ORDER BY room LIMIT 3"
    assert db.explain(sql).level == "unbounded"
    sql = "SELECT id FROM notes WHERE room = :r AND id <> :x ORDER BY kind, id LIMIT 3"
    assert answered(db, sql, r=2, x=6)[1] == [(18,), (30,), (42,)]
