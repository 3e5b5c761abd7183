"""Groups in FROM that are answered from a view of them, and columns that a view of joined rows lacks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

TABLES = """
CREATE TABLE posts (id INT PRIMARY KEY, author INT, at INT, text STRING);
CREATE TABLE likes (post INT, liker INT, PRIMARY KEY (post, liker));
CREATE TABLE documents (docId INT PRIMARY KEY, at TIMESTAMP TEMPORAL, text STRING);
CREATE TABLE tags (docId INT, tag STRING, PRIMARY KEY (docId, tag)) WITH CARDINALITY (tag, 10);
"""
GROUPS = "(SELECT post, COUNT(*) AS n FROM likes GROUP BY post)"
FEED = (
    "SELECT p.id, p.text, l.n FROM posts p {} " + GROUPS + " AS l ON l.post = p.id WHERE p.author = :a "
    "ORDER BY p.at DESC LIMIT 3"
)
TWO_TAGS = (
    "SELECT d.docId, d.text FROM tags x JOIN tags y ON y.docId = x.docId JOIN documents d ON d.docId = x.docId "
    "WHERE x.tag = :x AND y.tag = :y ORDER BY d.at DESC LIMIT 3"
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        for number in range(12):
            db.put("posts", {"id": number, "author": number % 2, "at": number * 7 % 12, "text": f"t{number}"})
            for liker in range(number % 4):
                db.put("likes", {"post": number, "liker": liker})
            at = datetime(2026, 1, 1, number, tzinfo=UTC)
            db.put("documents", {"docId": number, "at": at, "text": f"d{number}"})
            for tag in "abc"[: 1 + number % 3]:
                db.put("tags", {"docId": number, "tag": tag})
        yield db


def _checked(found: vk.PreparedQuery, **params: Any) -> list[tuple[Any, ...]]:
    rows = found(**params)
    shown = [tuple(row.values()) for row in rows]
    assert found.verdict.operations_max is not None
    assert rows.meta.operations <= found.verdict.operations_max
    return shown


def _feed(join: str) -> list[tuple[int, str, int | None]]:
    """By Python over the same rows, for author 1."""
    posts = sorted((n for n in range(12) if n % 2 == 1), key=lambda n: -(n * 7 % 12))
    counted = [(n, f"t{n}", n % 4 or None) for n in posts]
    return [row for row in counted if join == "LEFT JOIN" or row[2]][:3]


@pytest.mark.parametrize("mode", ["SYNC", "DEFERRED"])
def test_counts_beside_rows_are_looked_up_in_a_view_of_them(db: vk.Database, mode: str) -> None:
    found = db.prepare(FEED.format("LEFT JOIN"), create=True, maintain=mode, name="feed")
    assert (found.verdict.level, found.verdict.needs) == ("SI-2", ())
    assert {view.name for view in db.views()} == {"feedLikesGroups", "posts_by_author_at"}
    assert found.verdict.operations_max == 1 + 3 + 3
    assert _checked(found, a=1) == _feed("LEFT JOIN")
    db.put("likes", {"post": 5, "liker": 99})
    db.maintain()
    assert (5, "t5", 2) in _checked(found, a=1)


def test_a_view_of_the_same_groups_that_exists_is_used(db: vk.Database) -> None:
    db.execute("CREATE INDEX by_author ON posts (author, at DESC) MAINTAIN SYNC")
    db.execute(
        "CREATE MATERIALIZED VIEW counted MAINTAIN SYNC AS SELECT COUNT(*) AS many, post FROM likes GROUP BY post"
    )
    found = db.prepare(FEED.format("LEFT JOIN"))
    assert set(found.verdict.uses) == {"by_author", "posts", "counted"}
    assert _checked(found, a=1) == _feed("LEFT JOIN")


def test_an_inner_join_drops_rows_behind_the_limit_and_gets_a_view(db: vk.Database) -> None:
    """Over the view of the groups: a post has one, and a group one post."""
    found = db.prepare(FEED.format("JOIN"), create=True, maintain="SYNC", name="feed")
    assert (found.verdict.level, found.verdict.needs) == ("SI-2", ())
    assert _checked(found, a=1) == _feed("JOIN")
    db.delete("likes", 5, 0)
    assert (5, "t5", 1) not in _checked(found, a=1)


@pytest.mark.parametrize(
    "groups",
    [
        "(SELECT post, COUNT(*) AS n FROM likes WHERE liker > :low GROUP BY post)",
        "(SELECT post, COUNT(*) AS n FROM likes GROUP BY post ORDER BY n LIMIT 2)",
        "(SELECT post, COUNT(*) + 1 AS n FROM likes GROUP BY post)",
    ],
)
def test_what_is_not_all_groups_is_no_view(db: vk.Database, groups: str) -> None:
    db.execute("CREATE MATERIALIZED VIEW counted AS SELECT post, COUNT(*) AS n FROM likes GROUP BY post")
    assert "counted" not in db.explain(FEED.format("LEFT JOIN").replace(GROUPS, groups)).uses


def test_having_is_asked_of_the_group_that_is_looked_up(db: vk.Database) -> None:
    groups = GROUPS.replace("post)", "post HAVING COUNT(*) > 1)")
    found = db.prepare(FEED.format("LEFT JOIN").replace(GROUPS, groups), create=True, maintain="SYNC")
    assert found.verdict.operations_max == 1 + 3 + 3
    right = [(number, text, n if n is not None and n > 1 else None) for number, text, n in _feed("LEFT JOIN")]
    assert _checked(found, a=1) == right


def test_what_they_are_joined_with_may_need_a_view_as_well(db: vk.Database) -> None:
    sql = FEED.format("LEFT JOIN").replace("WHERE", "WHERE p.text <> 't5' AND")
    found = db.prepare(sql, create=True, maintain="SYNC", name="feed")
    assert (found.verdict.level, found.verdict.needs) == ("SI-2", ())
    assert {view.name for view in db.views()} == {"feedView", "feedLikesGroups"}
    assert _checked(found, a=1) == [(3, "t3", 3), (1, "t1", 1), (11, "t11", 3)]


def test_groups_of_groups_in_from_are_found_again(db: vk.Database) -> None:
    """Its views stand on one of the groups in FROM and on a pre-aggregated one."""
    sql = (
        "SELECT DISTINCT g.post AS p FROM likes l JOIN (SELECT post, COUNT(*) AS n FROM likes GROUP BY post) AS g "
        "ON g.post = l.liker WHERE g.post IN :posts MAX 3 ORDER BY p LIMIT 3"
    )
    found = db.prepare(sql, create=True, maintain="SYNC")
    assert (found.verdict.level, found.verdict.needs) == ("SI-2", ())
    assert _checked(found, posts=[0, 1, 2]) == [(1,), (2,)]


def test_groups_that_cannot_be_put_in_another_place_stay(db: vk.Database) -> None:
    """The inner join is of the groups alone, which come behind it once they are a view."""
    sql = (
        "SELECT p.id FROM posts p LEFT JOIN (SELECT DISTINCT post, liker FROM likes) AS l ON l.post = p.id "
        "JOIN posts o ON o.id = l.liker WHERE p.author = :a ORDER BY p.at LIMIT 3"
    )
    assert db.explain(sql).level in ("SI-2", "unbounded")


def test_a_view_with_a_condition_is_not_that_of_all_groups(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW some AS SELECT post, COUNT(*) AS n FROM likes WHERE liker > 1 GROUP BY post")
    assert "some" not in db.explain(FEED.format("LEFT JOIN")).uses


# Columns that a view lacks


def _two_tags() -> list[tuple[int, str]]:
    return [(n, f"d{n}") for n in range(11, -1, -1) if n % 3 >= 1][:3]


def test_what_a_view_of_joined_rows_lacks_is_looked_up_behind_its_limit(db: vk.Database) -> None:
    """Each row of the view has its document at the same position, so that no row is dropped."""
    found = db.prepare(TWO_TAGS, create=True, maintain="SYNC", name="twoTags")
    assert "text" not in str(db.views()[0])
    assert (found.verdict.level, found.verdict.operations_max, found.verdict.rows_max) == ("SI-2", 4, 6)
    assert _checked(found, x="a", y="b") == _two_tags()


def test_a_condition_on_what_the_view_lacks_may_drop_rows(db: vk.Database) -> None:
    db.prepare(TWO_TAGS, create=True, maintain="SYNC", name="twoTags")
    found = db.explain(TWO_TAGS.replace("WHERE", "WHERE d.text <> 'd11' AND"))
    assert found.uses != ("twoTagsView", "documents")


def test_columns_are_in_the_view_where_looking_them_up_is_predicted_to_be_slower(db: vk.Database) -> None:
    narrow = db.explain(TWO_TAGS)
    assert len(narrow.needs) == 1
    assert "text" not in narrow.needs[0]
    for slo, meets in (("10s", True), ("0.0001ms", False)):
        wide = db.explain(TWO_TAGS, slo=slo)
        assert (wide.meets_slo, wide.operations_max) == (meets, 1)
        assert '"text"' in wide.needs[0]


def test_a_narrow_view_that_exists_and_is_too_slow_is_not_the_end(db: vk.Database) -> None:
    db.prepare(TWO_TAGS, create=True, maintain="SYNC", name="twoTags")
    assert db.explain(TWO_TAGS, slo="10s").needs == ()
    wide = db.explain(TWO_TAGS, slo="0.0001ms")
    assert wide.operations_max == 1
    assert '"text"' in wide.needs[0]
    db.execute("CREATE INDEX narrow ON posts (author)")
    posts = "SELECT text FROM posts WHERE author = :a LIMIT 9"
    assert db.explain(posts, slo="10s").needs == ()
    assert "INCLUDE" in db.explain(posts, slo="0.0001ms").needs[0]


def test_groups_on_either_side_of_what_in_asks_for(db: vk.Database) -> None:
    sql = (
        f"SELECT p.id, l.n FROM posts p JOIN {GROUPS} AS l ON l.post = p.id "
        "JOIN (SELECT DISTINCT docId, text FROM documents) AS d ON d.docId = p.author "
        "WHERE p.id = :id AND l.n IN (SELECT x.docId FROM tags x WHERE x.docId = :doc)"
    )
    db.put("tags", {"docId": 2, "tag": "t"})
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert prepared.verdict.level == "SI-2"
    assert [prepared(id=number, doc=2).all() for number in (2, 3)] == [[{"id": 2, "n": 2}], []]
