"""Steps of a plan: what is done in memory is told only if it can change anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk

TABLES = """
CREATE TABLE Tags (docId BIGINT, tag STRING, votes INT, at TIMESTAMP, PRIMARY KEY (docId, tag))
  WITH CARDINALITY (tag, 10);
CREATE INDEX byTag ON Tags (tag, votes DESC);
CREATE TABLE Notes (a BIGINT, b INT, c INT, text STRING, PRIMARY KEY (a, b, c)) WITH CARDINALITY (b, c, 9);
CREATE VIEW Kept KEY (a, b DESC, c) AS SELECT a, b, c FROM Notes;
"""


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[vk.Database]:
    path: Path = tmp_path_factory.mktemp("steps") / "db"
    with vk.open(path, durability="os") as opened:
        opened.execute(TABLES)
        yield opened


def local(db: vk.Database, sql: str) -> list[str]:
    """The steps behind the reads, without their numbers."""
    found = db.explain(sql)
    assert not found.needs
    assert found.is_bounded
    return [step for line in found.plan.splitlines() if ":" not in (step := line.split(". ", 1)[1])]


@pytest.mark.parametrize(
    ("sql", "steps"),
    [
        ("SELECT tag FROM Tags WHERE docId = :d", []),
        ("SELECT votes FROM Tags WHERE docId = 5 AND tag = 'a'", []),
        ("SELECT tag FROM Tags WHERE docId = :d AND tag > 'b'", []),
        ("SELECT tag FROM Tags WHERE docId = :d AND tag IN ('a', 'b')", []),
        ("SELECT docId FROM Tags WHERE tag = :t LIMIT 3", ["stop at 3"]),
        ("SELECT docId, at FROM Tags WHERE tag = :t LIMIT 3", ["stop at 3"]),
        ("SELECT tag FROM Tags WHERE docId = :d AND votes = :v", ["local filter"]),
        ("SELECT tag FROM Tags WHERE docId = :d AND votes > 3", ["local filter"]),
        ("SELECT tag FROM Tags WHERE docId = :d AND docId = :e", ["local filter"]),
        ("SELECT docId FROM Tags WHERE docId = :d AND docId = votes", ["local filter"]),
    ],
)
def test_a_filter_is_told_where_keys_do_not_see_to_it(db: vk.Database, sql: str, steps: list[str]) -> None:
    assert local(db, sql) == steps


@pytest.mark.parametrize(
    ("sql", "steps"),
    [
        ("SELECT docId FROM Tags WHERE tag = :t ORDER BY votes DESC LIMIT 3", ["stop at 3"]),
        ("SELECT docId FROM Tags WHERE tag = :t ORDER BY votes LIMIT 3", ["stop at 3"]),
        ("SELECT docId, at FROM Tags WHERE tag = :t ORDER BY votes DESC LIMIT 3", ["stop at 3"]),
        ("SELECT tag FROM Tags WHERE docId = :d ORDER BY tag", []),
        ("SELECT tag FROM Tags WHERE docId = :d ORDER BY docId DESC, tag", []),
        ("SELECT tag FROM Tags WHERE docId = :d ORDER BY tag, votes", []),
        ("SELECT tag FROM Tags WHERE docId = :d ORDER BY tag DESC", ["local sort"]),
        ("SELECT tag FROM Tags WHERE docId = :d ORDER BY votes", ["local sort"]),
        ("SELECT tag FROM Tags WHERE docId IN (1, 2) ORDER BY tag", ["local sort"]),
        ("SELECT docId FROM Tags WHERE tag IN ('a', 'b') ORDER BY votes DESC LIMIT 3", ["local sort", "stop at 3"]),
        ("SELECT c FROM Kept WHERE a = 1 ORDER BY b DESC, c", []),
        ("SELECT c FROM Kept WHERE a = 1 ORDER BY b DESC", []),
        ("SELECT c FROM Kept WHERE a = 1 AND b < 3 ORDER BY b DESC", []),
        ("SELECT c FROM Kept WHERE a = 1 ORDER BY b", ["local sort"]),
        ("SELECT c FROM Kept WHERE a = 1 ORDER BY c", ["local sort"]),
        ("SELECT c FROM Kept WHERE a = 1 ORDER BY -b", ["local sort"]),
        ("SELECT DISTINCT b FROM Kept WHERE a = 1 ORDER BY b DESC", ["local aggregate", "local sort"]),
        ("SELECT b, COUNT(*) AS n FROM Kept WHERE a = 1 GROUP BY b ORDER BY b DESC", ["local aggregate", "local sort"]),
    ],
)
def test_a_sort_is_told_where_rows_are_not_read_in_the_order_wanted(
    db: vk.Database, sql: str, steps: list[str]
) -> None:
    assert local(db, sql) == steps


def test_rows_are_in_the_order_wanted_where_no_sort_is_told(db: vk.Database) -> None:
    for b in range(3):
        for c in range(3):
            db.put("Notes", {"a": 1, "b": b, "c": c})
    db.maintain()
    rows = [(row["b"], row["c"]) for row in db.query("SELECT b, c FROM Kept WHERE a = 1 ORDER BY b DESC, c")]
    assert rows == [(b, c) for b in (2, 1, 0) for c in range(3)]
