"""What queries need, in a mode that not all of it can have: the rest is in the default one, and all can be made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk

TABLES = """
CREATE TABLE Documents (docId BIGINT PRIMARY KEY, timestamp TIMESTAMP TEMPORAL);
CREATE TABLE Tags (docId BIGINT, tag STRING, timestamp TIMESTAMP TEMPORAL, PRIMARY KEY (docId, tag))
  WITH CARDINALITY (tag, 10) PARTITIONED BY HASH (docId) INTO 4;
CREATE TABLE Texts (docId BIGINT PRIMARY KEY, author STRING);
CREATE TABLE Marks (docId BIGINT, reader STRING, PRIMARY KEY (docId, reader));
CREATE MATERIALIZED VIEW perTag AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag;
"""
QUERIES = {
    "newest": "SELECT docId FROM Tags WHERE tag = :tag ORDER BY timestamp DESC LIMIT 10",
    "both": "SELECT t1.docId FROM Tags t1, Tags t2 WHERE t1.docId = t2.docId AND t1.tag = :a AND t2.tag = :b LIMIT 5",
    "top": "SELECT tag, n FROM perTag ORDER BY n DESC LIMIT 3",
    "recent": "SELECT tag, COUNT(*) AS n FROM (SELECT * FROM Tags ORDER BY timestamp DESC LIMIT 500) AS r GROUP BY tag",
    "marks": "SELECT COUNT(*) AS n FROM Texts t JOIN Marks m ON m.docId = t.docId WHERE t.author = :author",
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        yield db


@pytest.mark.parametrize("mode", ["SYNC", "LOCAL", "LAZY", "EVERY 1 MINUTE", "DEFERRED"])
def test_all_that_is_needed_can_be_made_in_any_mode(db: vk.Database, mode: str) -> None:
    advice = db.advise(QUERIES, maintain=mode)
    assert advice.is_good
    for text in advice.ddl:
        db.execute(text)
    again = db.advise(QUERIES)
    assert again.ddl == ()
    assert [one.level for one in again.queries] == [one.level for one in advice.queries]
    assert any(view.mode == mode.split(maxsplit=1)[0] for view in db.views())


def test_a_view_over_one_that_comes_later_is_not_sync(db: vk.Database) -> None:
    advice = db.advise(QUERIES, maintain="SYNC")
    [over, periodic] = advice.notes
    assert over == 'index "perTag_by_n" cannot be SYNC over view "perTag", which is DEFERRED'
    assert periodic == 'view "recentView" can only be PERIODIC'
    others = [text for text in advice.ddl if " MAINTAIN SYNC" not in text]
    assert [text.split()[1:4] for text in others] == [
        ["INDEX", "perTag_by_n", "ON"],
        ["MATERIALIZED", "VIEW", "recentView"],
    ]
    assert "not in the mode that was asked for:\n  index" in str(advice)


def test_what_others_read_is_not_local(db: vk.Database) -> None:
    """Nor is a view over a join; what can be LOCAL is."""
    found = db.advise({"marks": QUERIES["marks"], "newest": QUERIES["newest"]}, maintain="LOCAL")
    assert found.notes == (
        'view "marksView" cannot read view "marksMarksCounts", which is LOCAL',
        'view "marksView" cannot be LOCAL over a join or a union',
    )
    assert [text.split()[2] for text in found.ddl if " MAINTAIN LOCAL" in text] == ["Tags_by_tag_timestamp"]


def test_there_are_no_notes_without_a_mode(db: vk.Database) -> None:
    assert db.advise(QUERIES).notes == ()
