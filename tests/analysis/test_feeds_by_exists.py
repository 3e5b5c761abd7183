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
        # Of two that are asked of, rows are looked up by one.
        f"{IN} AND p.author IN (SELECT follower FROM follows WHERE followee = :me LIMIT 5)",
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
