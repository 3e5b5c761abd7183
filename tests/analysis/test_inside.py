"""Queries in FROM, and sides of UNION, that need a view of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import viewkeeper as vk
from tests.analysis.copied import in_sqlite, plain

BADGE = "SELECT COUNT(*) AS n FROM (SELECT id FROM notes WHERE usr = :u AND seen IS NULL LIMIT 4) x"
MINE = "SELECT id, at FROM posts WHERE author = :u AND NOT gone"
FIRST = "ORDER BY at DESC, id LIMIT 4"
NEWEST = "(SELECT id, k FROM notes WHERE usr = :u AND seen IS NULL ORDER BY id DESC LIMIT 3)"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(
            "CREATE TABLE notes (usr INT, id INT, seen INT, k INT, PRIMARY KEY (usr, id));"
            "CREATE TABLE posts (id INT PRIMARY KEY, author INT, at INT, gone BOOLEAN);"
            "CREATE TABLE books (id INT PRIMARY KEY, owner INT, at INT, gone BOOLEAN)"
        )
        yield db


def change(db: vk.Database, rng: Random) -> None:
    number, owner, gone = rng.randrange(30), rng.randrange(3), rng.choice([True, False, None])
    db.put("notes", {"usr": owner, "id": number % 12, "seen": rng.choice([None, 1]), "k": rng.randrange(5)})
    db.put("posts", {"id": number, "author": owner, "at": number * 7 % 31, "gone": gone})
    db.put("books", {"id": 100 + number, "owner": owner, "at": number * 11 % 37, "gone": gone})
    db.delete(rng.choice(["posts", "books"]), rng.randrange(140))


@pytest.mark.parametrize(
    ("sql", "made", "operations"),
    [
        (BADGE, 1, 1),
        (f"SELECT AVG(k) AS a FROM {NEWEST} x", 1, 1),
        (f"SELECT x.id, p.at FROM {NEWEST} x JOIN posts p ON p.id = x.id ORDER BY x.id", 1, 4),
        (f"SELECT x.id, p.at FROM {NEWEST} x LEFT JOIN posts p ON p.id = x.id ORDER BY x.id", 1, 4),
        (
            f"{MINE} UNION ALL SELECT id, at FROM books WHERE owner = :u AND gone IS NOT NULL {FIRST}",
            2,
            2,
        ),
        (
            f"{MINE} UNION ALL SELECT id, at FROM books WHERE owner = :u {FIRST}",
            2,
            2,
        ),
    ],
)
def test_what_is_inside_is_answered_from_a_view_of_its_own(
    db: vk.Database, sql: str, made: int, operations: int
) -> None:
    rng = Random(9)
    verdict = db.explain(sql)
    assert (verdict.level, verdict.operations_max, len(verdict.needs)) == ("SI-2", operations, made)
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert prepared.verdict.needs == ()
    for _ in range(30):
        for _ in range(4):
            change(db, rng)
        for owner in range(4):
            rows = prepared(u=owner)
            assert [plain(row) for row in rows] == in_sqlite(db, sql, {"u": owner})
            assert (rows.meta.operations or 0) <= operations


def test_where_one_side_has_no_bound_there_is_none(db: vk.Database) -> None:
    whole = "SELECT author, MEDIAN(at) AS at FROM posts WHERE gone GROUP BY author"
    found = db.explain(f"{MINE} UNION ALL {whole}")
    assert (found.level, found.needs) == ("unbounded", ())
