"""Views of some rows of one table: what conditions without parameters keep, in the order in which it is read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

import viewkeeper as vk
from tests.analysis.copied import in_sqlite

START = datetime(2026, 1, 1, tzinfo=UTC)
FEED = "SELECT p.id FROM follows f JOIN posts p ON p.author = f.followee WHERE f.follower = :me AND"
NEWEST = "ORDER BY p.at DESC, p.id LIMIT 3"
SOME = "text IN ('a 1', 'a 2', 'a 7')"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(
            "CREATE TABLE posts (id INT PRIMARY KEY, author INT, at TIMESTAMP, hidden BOOLEAN, gone TIMESTAMP,"
            " text STRING) WITH CARDINALITY (TOKENS(text), 5);"
            "CREATE TABLE follows (follower INT, followee INT, PRIMARY KEY (follower, followee))"
            " WITH CARDINALITY (followee, 5);"
            "CREATE TABLE tags (post INT, tag STRING, PRIMARY KEY (post, tag))"
        )
        for number in range(40):
            row = {"id": number, "author": number % 5, "at": START + timedelta(minutes=number * 7 % 40)}
            hidden = (None, True, False)[number % 3]
            db.put("posts", {**row, "hidden": hidden, "gone": START if number % 4 else None, "text": f"a {number}"})
            db.put("tags", {"post": number, "tag": "even" if number % 2 == 0 else "odd"})
        for followee in (0, 2, 4):
            db.put("follows", {"follower": 1, "followee": followee})
        yield db


def newest(db: vk.Database, keep: Any) -> list[int]:
    rows = [row for row in db.scan("posts") if row["author"] in (0, 2, 4) and keep(row)]
    return [row["id"] for row in sorted(rows, key=lambda row: (-row["at"].timestamp(), row["id"]))][:3]


@pytest.mark.parametrize(
    ("where", "keep"),
    [
        ("NOT p.hidden", lambda row: row["hidden"] is False),
        ("p.hidden", lambda row: row["hidden"]),
        ("p.gone IS NULL", lambda row: row["gone"] is None),
        ("p.gone IS NOT NULL AND p.hidden IS NULL", lambda row: row["gone"] and row["hidden"] is None),
        ("p.author <> 4", lambda row: row["author"] != 4),
        ("p.text LIKE '%9'", lambda row: row["text"].endswith("9")),
    ],
)
@pytest.mark.parametrize("shown", ["p.id", "p.id, p.text, p.gone"])
def test_a_feed_of_some_posts_has_a_view_of_these(db: vk.Database, where: str, keep: Any, shown: str) -> None:
    feed = f"{FEED.replace('p.id', shown)} {where} {NEWEST}"
    assert [row["id"] for row in db.query(feed, me=1, allow_scan=True)] == newest(db, keep)
    prepared = db.prepare(feed, create=True, maintain="SYNC", name="feed")
    assert prepared.verdict.level == "SI-2"
    assert (prepared.verdict.uses, prepared.verdict.storage) == (("follows", "feedPostsRows"), (1, "posts"))
    rows = prepared(me=1)
    assert [row["id"] for row in rows] == newest(db, keep)
    assert rows.meta.operations is not None
    assert prepared.verdict.operations_max == 6
    assert rows.meta.operations <= 6


def test_its_key_is_that_of_the_table_where_that_is_the_order_wanted(db: vk.Database) -> None:
    db.execute("CREATE TABLE notes (room INT, id INT, hidden BOOLEAN, PRIMARY KEY (room, id))")
    notes = "SELECT n.id FROM follows f JOIN notes n ON n.room = f.followee WHERE f.follower = :me AND n.hidden"
    [made] = db.explain(f"{notes} ORDER BY n.id LIMIT 2").needs
    assert "KEY (room, id) AS" in made


def test_a_view_that_keeps_a_condition_is_not_asked_it_again(db: vk.Database) -> None:
    """Not even where it does not show the column."""
    db.execute(
        "CREATE MATERIALIZED VIEW live KEY (author, at DESC, id) MAINTAIN SYNC AS"
        " SELECT author, at, id FROM posts WHERE gone IS NOT NULL"
    )
    alone = "SELECT id FROM posts WHERE author = :a AND gone IS NOT NULL ORDER BY at DESC LIMIT 3"
    assert (db.explain(alone).operations_max, db.explain(alone).uses) == (1, ("live",))
    mine = newest(db, lambda row: row["author"] == 2 and row["gone"])
    assert [row["id"] for row in db.query(alone, a=2)] == mine
    feed = f"{FEED} p.gone IS NOT NULL {NEWEST}"
    assert db.explain(feed).operations_max == 6
    assert [row["id"] for row in db.query(feed, me=1)] == newest(db, lambda row: row["gone"])


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            f"SELECT author, COUNT(*) AS n FROM posts WHERE {SOME} GROUP BY author ORDER BY n DESC LIMIT 1",
            [(2, 2)],
        ),
        ("SELECT COUNT(DISTINCT author) AS n FROM posts WHERE text IN ('a 1', 'a 2', 'a 7')", [(2,)]),
        ("SELECT COUNT(DISTINCT author) AS n FROM posts WHERE (text = 'a 1' OR text = 'a 2') AND hidden = :h", [(1,)]),
        ("SELECT DISTINCT author FROM posts WHERE text IN ('a 1', 'a 2', 'a 7') ORDER BY author LIMIT 1", [(1,)]),
    ],
)
def test_groups_of_what_is_in_a_list_of_constants(db: vk.Database, sql: str, expected: Any) -> None:
    params = {"h": True} if ":h" in sql else {}
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert prepared.verdict.level == "SI-2"
    assert prepared.verdict.operations_max == 1
    assert [tuple(row.values()) for row in prepared(**params)] == expected


@pytest.mark.parametrize("first", ["count", "top"])
def test_one_view_of_groups_does_for_one_of_them_and_for_the_first(db: vk.Database, first: str) -> None:
    queries = {
        "count": "SELECT COUNT(*) AS n FROM tags WHERE tag = :tag",
        "top": "SELECT tag, COUNT(*) AS n FROM tags GROUP BY tag ORDER BY n DESC, tag LIMIT 5",
    }
    order = [first, *(name for name in queries if name != first)]
    advice = db.advise({name: queries[name] for name in order})
    assert [text.split()[1] for text in advice.ddl] == ["MATERIALIZED", "INDEX"]
    assert {query.level for query in advice.queries} == {"SI-2"}


BARE = "NOT EXISTS (SELECT 1 FROM tags t WHERE t.post = p.id)"
ODD = "EXISTS (SELECT 1 FROM tags t WHERE t.post = p.id AND t.tag = 'odd')"


@pytest.mark.parametrize("test", [BARE, ODD, "p.id IN (SELECT post FROM tags)", f"{ODD} AND NOT p.hidden"])
@pytest.mark.parametrize(
    ("select", "behind", "operations"),
    [
        ("SELECT p.id FROM posts p WHERE p.author = :a AND", "ORDER BY p.id LIMIT 3", 1),
        ("SELECT p.id, p.text FROM posts p WHERE p.author = :a AND", "ORDER BY p.at DESC, p.id LIMIT 3", 4),
        ("SELECT COUNT(*) AS n FROM posts p WHERE p.author = :a AND", "", 1),
        ("SELECT p.author, COUNT(*) AS n FROM posts p WHERE", "GROUP BY p.author ORDER BY n DESC, p.author LIMIT 2", 1),
        (FEED.replace(":me AND", "1 AND f.followee = :a AND"), NEWEST, 2),
    ],
)
def test_rows_that_exists_keeps_are_in_a_view(
    db: vk.Database, test: str, select: str, behind: str, operations: int
) -> None:
    rng = Random(4)
    sql = f"{select} {test} {behind}"
    prepared = db.prepare(sql, create=True, maintain="SYNC", name="q")
    assert (prepared.verdict.level, prepared.verdict.operations_max) == ("SI-2", operations)
    for _ in range(12):
        for _ in range(8):
            number = rng.randrange(40)
            if rng.random() < 0.5:
                db.delete("tags", number, rng.choice(["even", "odd"]))
            else:
                db.put("tags", {"post": number, "tag": rng.choice(["even", "odd"])})
            db.put("posts", {"id": rng.randrange(45), "author": rng.randrange(5), "hidden": rng.random() < 0.5})
        for author in range(5):
            params = {"a": author} if ":a" in sql else {}
            rows = prepared(**params)
            assert list(rows) == in_sqlite(db, sql, params)
            assert (rows.meta.operations or 0) <= operations


@pytest.mark.parametrize(
    ("select", "where", "operations"),
    [
        ("SELECT p.id, t.tag", "p.author = :a AND t.post IS NULL ORDER BY p.id LIMIT 3", 1),
        ("SELECT COUNT(*) AS n", "p.author = :a AND t.tag IS NULL AND t.post IS NULL", 1),
        ("SELECT p.id", "p.author = :a AND t.tag IS NULL AND COALESCE(t.tag, 'x') = 'x' ORDER BY p.id LIMIT 3", 1),
    ],
)
def test_left_join_and_is_null_is_not_exists(db: vk.Database, select: str, where: str, operations: int) -> None:
    sql = f"{select} FROM posts p LEFT JOIN tags t ON t.post = p.id AND t.tag = 'odd' WHERE {where}"
    prepared = db.prepare(sql, create=True, maintain="SYNC", name="q")
    assert (prepared.verdict.level, prepared.verdict.operations_max) == ("SI-2", operations)
    for author in range(5):
        assert list(prepared(a=author)) == in_sqlite(db, sql, {"a": author})


def test_a_column_that_may_be_null_by_itself_says_nothing_of_partners(db: vk.Database) -> None:
    sql = "SELECT t.post FROM tags t LEFT JOIN posts p ON p.id = t.post WHERE t.tag = :t AND p.gone IS NULL LIMIT 3"
    assert "NOT EXISTS" not in " ".join(db.explain(sql).needs)
    assert [row["post"] for row in db.query(sql, t="even", allow_scan=True)] == [0, 4, 8]


def test_other_tests_than_those_of_a_view_are_not_answered_from_it(db: vk.Database) -> None:
    select = "SELECT p.id FROM posts p WHERE p.author = :a AND"
    db.prepare(f"{select} {BARE} ORDER BY p.id LIMIT 3", create=True, maintain="SYNC", name="bare")
    assert db.explain(f"{select} {BARE} ORDER BY p.id LIMIT 2").uses == ("bareView",)
    for other in (ODD, BARE.replace("NOT ", ""), BARE.replace("p.id", "p.author"), ODD.replace("odd", "even")):
        assert "bareView" not in db.explain(f"{select} {other} ORDER BY p.id LIMIT 2").uses
    both = db.explain(f"{select} {BARE} AND {ODD} ORDER BY p.id LIMIT 2")
    assert both.level == "SI-2"
    assert "bareView" not in both.uses


@pytest.mark.parametrize(
    "test",
    [
        "p.id IN (SELECT post FROM marks WHERE mark = :t)",
        "EXISTS (SELECT 1 FROM marks m WHERE m.post = p.id AND m.mark = :t)",
    ],
)
def test_exists_of_one_row_that_a_parameter_chooses_is_a_join(db: vk.Database, test: str) -> None:
    db.execute("CREATE TABLE marks (mark STRING, post INT, PRIMARY KEY (post, mark)) WITH CARDINALITY (mark, 2)")
    for number in range(40):
        db.put("marks", {"post": number, "mark": "even" if number % 2 == 0 else "odd"})
    sql = f"SELECT p.id FROM posts p WHERE p.author = :a AND {test} ORDER BY p.at DESC, p.id LIMIT 3"
    prepared = db.prepare(sql, create=True, maintain="SYNC", name="tagged")
    assert (prepared.verdict.level, prepared.verdict.operations_max) == ("SI-2", 1)
    assert prepared.verdict.uses == ("taggedView",)
    for author in range(5):
        for tag in ("even", "odd", "none"):
            params = {"a": author, "t": tag}
            assert list(prepared(**params)) == in_sqlite(db, sql, params)


def test_exists_as_a_join_of_what_is_counted_first(db: vk.Database) -> None:
    db.execute("CREATE TABLE users (id BIGINT PRIMARY KEY)")
    db.execute("CREATE TABLE likes (post BIGINT, usr BIGINT, PRIMARY KEY (post, usr))")
    for number in range(12):
        db.put("likes", {"post": number % 4, "usr": number % 3})
        db.put("users", {"id": number % 2})
    asked = "EXISTS (SELECT 1 FROM users e WHERE e.id = u.id AND e.id = :other)"
    sql = f"SELECT COUNT(*) AS n FROM users u JOIN likes l ON l.usr = u.id WHERE u.id = :me AND {asked}"
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert (prepared.verdict.level, prepared.verdict.needs) == ("SI-2", ())
    for me, other in ((0, 0), (0, 1), (1, 1), (2, 2)):
        params = {"me": me, "other": other}
        assert list(prepared(**params)) == in_sqlite(db, sql, params)
