"""Aggregates of a join whose changed rows match any number of others: one side is grouped before it is joined."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

QUERY = (
    "SELECT u.town, COUNT(*) AS n, SUM(p.likes) AS l, MAX(p.likes) AS m, MIN(u.age) AS y FROM Users u "
    "JOIN Posts p ON p.author = u.uid WHERE u.town = :town GROUP BY u.town"
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(
            "CREATE TABLE Users (uid BIGINT PRIMARY KEY, town STRING, age INT);"
            "CREATE TABLE Posts (pid BIGINT PRIMARY KEY, author BIGINT, likes INT)"
        )
        yield db


def test_a_view_of_groups_stands_on_one_of_the_side_that_is_matched_many_times(db: vk.Database) -> None:
    verdict = db.explain(QUERY, name="perTown")
    assert (verdict.level, verdict.operations_max, verdict.storage) == ("SI-2", 1, (1, "(Posts + Users)"))
    first, second = verdict.needs
    assert first == (
        'CREATE MATERIALIZED VIEW perTownPostsCounts KEY (author) AS SELECT p.author, COUNT(*) AS "rows", '
        "SUM(p.likes) AS sum, MAX(p.likes) AS max FROM Posts AS p GROUP BY p.author"
    )
    assert 'SUM(p."rows") AS n' in second
    assert "FROM Users AS u, perTownPostsCounts AS p" in second
    # A group as it was, and as it is.
    assert all(query.rows == 2 for query in verdict.delta_queries)


def test_where_an_aggregate_does_not_follow_from_those_of_the_side_it_stays_unbounded(db: vk.Database) -> None:
    """A user's age counts once for each post."""
    sql = QUERY.replace("MIN(u.age)", "SUM(u.age)")
    assert db.explain(sql).level == "unbounded"


@pytest.mark.parametrize("mode", ["SYNC", "DEFERRED"])
def test_answers_are_those_of_the_join(db: vk.Database, mode: str) -> None:
    prepared = db.prepare(QUERY, create=True, maintain=mode, name="perTown")
    assert prepared.verdict.needs == ()
    chance = random.Random(5)
    for turn in range(300):
        db.put("Users", {"uid": chance.randrange(20), "town": chance.choice("abc"), "age": chance.randrange(9)})
        likes = None if chance.random() < 0.1 else chance.randrange(10)
        db.put("Posts", {"pid": chance.randrange(100), "author": chance.randrange(25), "likes": likes})
        db.delete("Posts", chance.randrange(200))
        db.delete("Users", chance.randrange(100))
        if turn % 20 == 0:
            for town in "abc":
                found = list(prepared(town=town, consistency="latest"))
                assert found == _joined(db, town), (turn, town)


KEPT: dict[str, Any] = {
    "p.likes <> 3": lambda p: p["likes"] is not None and p["likes"] != 3,
    "p.likes IS NULL": lambda p: p["likes"] is None,
    "p.likes IN (1, 2, 5)": lambda p: p["likes"] in (1, 2, 5),
    "(p.likes > 7 OR p.pid = 1)": lambda p: p["pid"] == 1 or (p["likes"] or 0) > 7,
}


@pytest.mark.parametrize("where", KEPT)
def test_what_only_the_side_is_asked_is_kept_where_it_is_counted(db: vk.Database, where: str) -> None:
    """Else the counts would be by what is compared, and one user would have any number of them."""
    joined = "FROM Users u JOIN Posts p ON p.author = u.uid"
    sql = f"SELECT COUNT(*) AS n, SUM(p.likes) AS l {joined} WHERE u.town = :t AND {where}"
    prepared = db.prepare(sql, create=True, maintain="SYNC", name="some")
    assert (prepared.verdict.level, prepared.verdict.operations_max) == ("SI-2", 1)
    definitions = [view.text for view in db.views() if view.name == "somePostsCounts"]
    assert "WHERE" in definitions[0]
    chance = random.Random(7)
    for turn in range(200):
        db.put("Users", {"uid": chance.randrange(8), "town": chance.choice("ab"), "age": 1})
        likes = None if chance.random() < 0.2 else chance.randrange(10)
        db.put("Posts", {"pid": chance.randrange(30), "author": chance.randrange(9), "likes": likes})
        db.delete("Posts", chance.randrange(60))
        if turn % 20 == 0:
            for town in "ab":
                assert list(prepared(t=town)) == list(db.query(sql, t=town, allow_scan=True)) == _kept(db, town, where)


def _kept(db: vk.Database, town: str, where: str) -> list[dict[str, Any]]:
    users = {row["uid"] for row in db.scan("Users") if row["town"] == town}
    posts = [row for row in db.scan("Posts") if row["author"] in users and KEPT[where](row)]
    likes = [row["likes"] for row in posts if row["likes"] is not None]
    return [{"n": len(posts), "l": sum(likes) if likes else None}]


def _joined(db: vk.Database, town: str) -> list[dict[str, Any]]:
    users = {row["uid"]: row["age"] for row in db.scan("Users") if row["town"] == town}
    posts = [row for row in db.scan("Posts") if row["author"] in users]
    likes = [row["likes"] for row in posts if row["likes"] is not None]
    if not posts:
        return []
    summed = {"l": sum(likes), "m": max(likes)} if likes else {"l": None, "m": None}
    return [{"town": town, "n": len(posts), **summed, "y": min(users[row["author"]] for row in posts)}]


@pytest.mark.parametrize(
    "other",
    [
        "SELECT author, COUNT(*) AS n FROM Posts WHERE likes > 5 GROUP BY author",
        "SELECT author, COUNT(*) AS n FROM Posts GROUP BY author HAVING COUNT(*) > 1",
        "SELECT DISTINCT author, COUNT(*) AS n FROM Posts GROUP BY author, likes",
    ],
)
def test_a_view_that_lacks_some_of_the_rows_does_not_stand_for_them(db: vk.Database, other: str) -> None:
    db.execute(f"CREATE MATERIALIZED VIEW lacking MAINTAIN SYNC AS {other}")
    sql = "SELECT u.town, COUNT(*) AS n FROM Users u JOIN Posts p ON p.author = u.uid WHERE u.town = :t GROUP BY u.town"
    prepared = db.prepare(sql, create=True, maintain="SYNC", name="counted")
    assert "FROM Posts" in next(view.text for view in db.views() if view.name == "countedPostsCounts")
    db.execute("INSERT INTO Users (uid, town) VALUES (1, 'a'), (2, 'a')")
    db.execute("INSERT INTO Posts (pid, author, likes) VALUES (1, 1, 1), (2, 1, 1), (3, 1, 9), (4, 2, 0), (5, 2, 3)")
    assert list(prepared(t="a")) == [{"town": "a", "n": 5}]


def test_a_view_that_counts_all_of_the_rows_does(db: vk.Database) -> None:
    db.execute(
        "CREATE MATERIALIZED VIEW all_of_them MAINTAIN SYNC AS SELECT author, COUNT(*) FROM Posts GROUP BY author"
    )
    sql = "SELECT u.town, COUNT(*) AS n FROM Users u JOIN Posts p ON p.author = u.uid WHERE u.town = :t GROUP BY u.town"
    [made] = db.explain(sql).needs
    assert "FROM Users AS u, all_of_them AS" in made
