"""The newest rows of those that EXISTS or IN asks for: what is asked of is read first, and rows are looked up by it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

START = datetime(2026, 1, 1, tzinfo=UTC)
IN = "p.author IN (SELECT followee FROM follows WHERE follower = :me)"
EXISTS = "EXISTS (SELECT 1 FROM follows f WHERE f.follower = :me AND f.followee = p.author)"
NEWEST = "ORDER BY p.at DESC, p.id LIMIT 3"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(
            "CREATE TABLE posts (id INT PRIMARY KEY, author INT, at TIMESTAMP, likes INT);"
            "CREATE TABLE follows (follower INT, followee INT, since TIMESTAMP, PRIMARY KEY (follower, followee))"
            " WITH CARDINALITY (followee, 5)"
        )
        for number in range(40):
            at = START + timedelta(minutes=number * 7 % 40)
            db.put("posts", {"id": number, "author": number % 5, "at": at, "likes": number % 3})
        for followee in (0, 2, 4, 9):
            since = START + timedelta(minutes=5 * followee)
            db.put("follows", {"follower": 1, "followee": followee, "since": since})
        yield db


def newest(db: vk.Database, keep: Any, count: int = 3) -> list[int]:
    rows = [row for row in db.scan("posts") if keep(row)]
    return [row["id"] for row in sorted(rows, key=lambda row: (-row["at"].timestamp(), row["id"]))][:count]


@pytest.mark.parametrize("which", [IN, EXISTS])
def test_a_timeline_reads_the_newest_of_each_that_is_followed(db: vk.Database, which: str) -> None:
    prepared = db.prepare(f"SELECT p.id FROM posts p WHERE {which} {NEWEST}", create=True, maintain="SYNC")
    found = prepared.verdict
    # Those that are followed, and three posts of each of these five.
    assert (found.level, found.operations_max, found.rows_max) == ("SI-1", 1 + 5, 5 + 15)
    rows = prepared(me=1)
    assert [row["id"] for row in rows] == newest(db, lambda row: row["author"] in (0, 2, 4))
    assert rows.meta.operations == 1 + 4
    assert list(prepared(me=7)) == []


def test_conditions_on_either_side_are_kept(db: vk.Database) -> None:
    since = "p.author IN (SELECT followee FROM follows WHERE follower = :me AND since > :since) AND p.likes = 1"
    prepared = db.prepare(f"SELECT p.id FROM posts p WHERE {since} {NEWEST}", create=True, maintain="SYNC")
    assert prepared.verdict.level == "SI-1"
    rows = prepared(me=1, since=START + timedelta(minutes=5))
    assert [row["id"] for row in rows] == newest(db, lambda row: row["author"] in (2, 4) and row["likes"] == 1)


@pytest.mark.parametrize(("author", "is_followed"), [(2, True), (3, False)])
@pytest.mark.parametrize("negated", ["", "NOT "])
def test_of_one_author_all_rows_have_a_partner_or_none(
    db: vk.Database, author: int, is_followed: bool, negated: str
) -> None:
    sql = f"SELECT p.id FROM posts p WHERE p.author = :author AND {negated}{EXISTS} {NEWEST}"
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert (prepared.verdict.level, prepared.verdict.operations_max) == ("SI-1", 1 + 1)
    rows = [row["id"] for row in prepared(author=author, me=1)]
    assert rows == (newest(db, lambda row: row["author"] == author) if is_followed is (not negated) else [])


@pytest.mark.parametrize(
    "where",
    [
        # Rows of one author differ in whether they have a partner.
        "EXISTS (SELECT 1 FROM follows f WHERE f.follower = :me AND f.followee = p.author AND f.since < p.at)",
        "EXISTS (SELECT 1 FROM follows f WHERE f.follower = :me AND f.followee = p.author AND f.followee < p.likes)",
        (
            "p.author = :a AND EXISTS (SELECT 1 FROM follows f"
            " WHERE f.follower = :me AND f.followee = p.author AND f.since < p.at)"
        ),
        f"NOT {EXISTS}",
    ],
)
def test_limit_stops_no_read_behind_which_rows_are_dropped(db: vk.Database, where: str) -> None:
    try:
        found = db.explain(f"SELECT p.id FROM posts p WHERE {where} {NEWEST}")
    except vk.Unsupported:
        return
    assert "first 3 of each key" not in found.plan
    assert found.level != "SI-1"


def test_of_two_that_ask_for_the_key_rows_are_looked_up_by_one(db: vk.Database) -> None:
    for followee in (2, 3, 4):
        db.put("follows", {"follower": 5, "followee": followee, "since": START})
    both = f"{IN} AND p.author IN (SELECT followee FROM follows WHERE follower = :other)"
    prepared = db.prepare(f"SELECT p.id FROM posts p WHERE {both} {NEWEST}", create=True, maintain="SYNC")
    assert prepared.verdict.level == "SI-1"
    assert [row["id"] for row in prepared(me=1, other=5)] == newest(db, lambda row: row["author"] in (2, 4))


def test_what_only_in_says_of_a_row_is_not_so_of_all_that_are_read(db: vk.Database) -> None:
    """A view has posts of any likes, and the first of them are not those that are wanted: it is stored by likes."""
    liked = "p.likes IN (SELECT followee FROM follows WHERE follower = :me AND followee = :likes)"
    asked = f"SELECT p.id FROM posts p WHERE p.author <> -1 AND {liked} LIMIT 3"
    prepared = db.prepare(asked, create=True, maintain="SYNC")
    assert prepared.verdict.uses == ("follows", "posts_rows")
    assert "posts_rows (likes = :likes), first 3" in prepared.verdict.plan
    assert [row["id"] for row in prepared(me=1, likes=2)] == [2, 5, 8]
    assert list(prepared(me=1, likes=1)) == []


@pytest.fixture
def busy(db: vk.Database) -> vk.Database:
    """Some have any number of tasks, and none is limited."""
    db.execute("CREATE TABLE tasks (owner INT, id INT, state STRING, due INT, PRIMARY KEY (owner, id))")
    for number in range(60):
        db.put("tasks", {"owner": number % 3, "id": number, "state": "open" if number % 3 else "done", "due": number})
    return db


FOLLOWED = "SELECT f.followee FROM follows f WHERE f.follower = :me AND"
TASK = "SELECT 1 FROM tasks t WHERE t.owner = f.followee"


@pytest.mark.parametrize(
    ("where", "level", "found"),
    [
        (f"EXISTS ({TASK})", "SI-0", [0, 2]),
        (f"NOT EXISTS ({TASK})", "SI-0", [4, 9]),
        (f"EXISTS ({TASK} AND t.state = 'open')", "SI-1", [2]),
        (f"NOT EXISTS ({TASK} AND t.state = 'open')", "SI-1", [0, 4, 9]),
        (f"EXISTS ({TASK} AND t.state IN ('open', 'done'))", "SI-1", [0, 2]),
        (f"EXISTS ({TASK} AND t.id > 40 AND t.id < 42)", "SI-0", [2]),
        (f"EXISTS ({TASK} AND t.due >= :due)", "SI-1", [2]),
        (f"EXISTS ({TASK} AND t.due > f.followee)", "SI-1", [0, 2]),
        (f"EXISTS ({TASK} AND (t.due, t.id) >= (:due, 0))", "SI-1", [2]),
        ("f.followee IN (SELECT owner FROM tasks)", "SI-0", [0, 2]),
        ("f.followee IN (SELECT owner FROM tasks WHERE state = 'open')", "SI-1", [2]),
        (f"EXISTS ({TASK}) AND NOT EXISTS ({TASK} AND t.state = 'open')", "SI-1", [0]),
    ],
)
def test_one_row_is_enough_for_exists(busy: vk.Database, where: str, level: str, found: list[int]) -> None:
    sql = f"{FOLLOWED} {where}"
    verdict = busy.explain(sql)
    assert verdict.level == level
    assert ", first 1 of each key: " in verdict.plan
    prepared = busy.prepare(sql, create=True, maintain="SYNC")
    rows = prepared(me=1, **({"due": 58} if ":due" in where else {}))
    assert sorted(row["followee"] for row in rows) == found
    assert rows.meta.operations <= verdict.operations_max  # type: ignore[operator]
    assert rows.meta.rows <= verdict.rows_max  # type: ignore[operator]


@pytest.mark.parametrize(
    "where",
    [
        # Which rows of an owner are meant differs from row to row, and not by a range of their key.
        f"EXISTS ({TASK} AND t.due % 7 = 6)",
        f"EXISTS ({TASK} AND t.due > f.followee AND t.due > f.follower)",
        f"EXISTS ({TASK} AND t.state LIKE '%n')",
        f"NOT EXISTS ({TASK} AND t.due <> :due)",
    ],
)
def test_one_row_is_not_enough_if_not_all_are_meant(busy: vk.Database, where: str) -> None:
    assert busy.explain(f"{FOLLOWED} {where}").level == "unbounded"
