"""Aggregates of the partners of single rows: LEFT JOIN and GROUP BY the row, as object-relational mappers write it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import viewkeeper as vk
from tests.analysis.copied import in_sqlite, plain

OF_AUTHOR = "WHERE p.author = :a GROUP BY p.id, p.title ORDER BY p.id DESC LIMIT 5"
NAMED = "FROM posts p JOIN users u ON u.id = p.author LEFT JOIN comments c ON c.post = p.id"
MARKED = "FROM marks f LEFT JOIN comments c ON c.post = f.post"
BOTH = "FROM marks f JOIN users u ON u.id = f.post LEFT JOIN comments c ON c.post = u.id AND c.stars = f.usr"
JOINED = "FROM posts p LEFT JOIN comments c ON c.post = p.id"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(
            "CREATE TABLE users (id INT PRIMARY KEY, name STRING);"
            "CREATE TABLE posts (id INT PRIMARY KEY, author INT, title STRING);"
            "CREATE TABLE comments (post INT, id INT, stars INT, PRIMARY KEY (post, id))"
        )
        for number in range(3):
            db.put("users", {"id": number, "name": f"u{number}"})
        yield db


def fill(db: vk.Database, rng: Random, count: int) -> None:
    for _ in range(count):
        if rng.random() < 0.3:
            number = rng.randrange(12)
            db.put("posts", {"id": number, "author": rng.randrange(4), "title": rng.choice(["a", "b", None])})
        elif rng.random() < 0.3:
            db.delete("comments", rng.randrange(12), rng.randrange(6))
        else:
            stars = rng.choice([None, 1, 2, 3])
            db.put("comments", {"post": rng.randrange(12), "id": rng.randrange(6), "stars": stars})


@pytest.mark.parametrize(
    ("sql", "operations"),
    [
        (f"SELECT p.id, p.title, COUNT(c.id) AS n {JOINED} {OF_AUTHOR}", 11),
        (f"SELECT p.id, COUNT(c.stars) AS n, COUNT(*) AS m, MAX(c.id) AS x {JOINED} {OF_AUTHOR}", 6),
        (f"SELECT p.id, AVG(c.stars) AS v, COUNT(DISTINCT c.stars) AS d {JOINED} AND c.stars > 1 {OF_AUTHOR}", 6),
        (
            f"SELECT p.id, u.name, COUNT(c.id) AS n {NAMED} WHERE p.id IN (1, 2, :a) GROUP BY p.id, u.name ORDER BY 1",
            9,
        ),
        (
            f"SELECT UPPER(p.title) AS t, SUM(c.stars) AS n {JOINED} WHERE p.id = :a GROUP BY p.id, UPPER(p.title)",
            2,
        ),
    ],
)
def test_partners_are_looked_up_in_a_view_of_their_groups(db: vk.Database, sql: str, operations: int) -> None:
    rng = Random(11)
    fill(db, rng, 40)
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert prepared.verdict.level == "SI-2"
    assert prepared.verdict.operations_max == operations
    for _ in range(15):
        fill(db, rng, 10)
        for author in range(4):
            rows = prepared(a=author)
            assert [plain(row) for row in rows] == in_sqlite(db, sql, {"a": author})
            assert (rows.meta.operations or 0) <= operations


@pytest.mark.parametrize(
    "sql",
    [
        # Any number of posts are one group.
        f"SELECT p.author, COUNT(c.id) AS n {JOINED} WHERE p.author = :a GROUP BY p.author",
        f"SELECT p.title, COUNT(c.id) AS n {JOINED} WHERE p.author = :a GROUP BY p.title LIMIT 5",
        # Of a post without comments, this is of a row of NULLs.
        f"SELECT p.id, SUM(COALESCE(c.stars, 7)) AS s {JOINED} {OF_AUTHOR}",
        # What is aggregated, or asked for, is of both sides.
        f"SELECT p.id, MAX(c.stars + p.author) AS s {JOINED} {OF_AUTHOR}",
        f"SELECT p.id, COUNT(c.id) AS n {JOINED} AND c.stars > p.author {OF_AUTHOR}",
        f"SELECT p.id, COUNT(c.id) AS n {JOINED} {OF_AUTHOR.replace('GROUP', 'AND c.stars IS NULL GROUP')}",
    ],
)
def test_groups_that_are_no_single_rows_or_of_both_sides_stay_together(db: vk.Database, sql: str) -> None:
    assert db.explain(sql).level == "unbounded"


@pytest.mark.parametrize(
    ("sql", "operations"),
    [
        (
            f"SELECT f.post, MAX(c.id) AS last {MARKED} WHERE f.usr = :a GROUP BY f.post ORDER BY f.post",
            5,
        ),
        (
            f"SELECT u.id, u.name, COUNT(c.id) AS n {BOTH} WHERE f.usr = :a GROUP BY u.id, u.name ORDER BY n DESC, 1",
            9,
        ),
    ],
)
def test_what_a_parameter_says_of_a_row_makes_it_single(db: vk.Database, sql: str, operations: int) -> None:
    db.execute("CREATE TABLE marks (usr INT, post INT, PRIMARY KEY (usr, post)) WITH CARDINALITY (post, 4)")
    rng = Random(12)
    for number in range(16):
        db.put("marks", {"usr": number % 4, "post": number // 4 + number % 3})
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert (prepared.verdict.level, prepared.verdict.operations_max) == ("SI-2", operations)
    for _ in range(10):
        fill(db, rng, 20)
        for user in range(4):
            assert [plain(row) for row in prepared(a=user)] == in_sqlite(db, sql, {"a": user})


def test_comments_that_a_limit_bounds_need_no_view(db: vk.Database) -> None:
    db.execute("CREATE TABLE tags (post INT, tag STRING, PRIMARY KEY (post, tag)) WITH CARDINALITY (tag, 4)")
    sql = "SELECT p.id, COUNT(t.tag) AS n FROM posts p LEFT JOIN tags t ON t.post = p.id WHERE p.id = :a GROUP BY p.id"
    assert (db.explain(sql).level, db.explain(sql).operations_max) == ("SI-0", 2)
