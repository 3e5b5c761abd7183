"""What a changed row costs: the number that is said, against rows that cost just as much, or nearly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.analysis.counting import Cost, cost_of_write
from tests.views.kept import finish, maintainer

TABLES = """
CREATE TABLE A (k INT PRIMARY KEY, x INT, z INT, s STRING) WITH CARDINALITY (TOKENS(s), 3);
CREATE TABLE B (y INT, z INT, w INT, PRIMARY KEY (y, z)) WITH CARDINALITY (z, 5);
CREATE TABLE C (y INT, k INT, v INT, PRIMARY KEY (y, k)) WITH CARDINALITY (k, 5);
"""


@pytest.fixture(params=["SYNC", "DEFERRED"])
def db(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        db.mode = request.param  # type: ignore[attr-defined]
        yield db


def create(db: vk.Database, select: str, key: str = "") -> None:
    db.execute(f"CREATE MATERIALIZED VIEW V {key} MAINTAIN {db.mode} AS {select}")  # type: ignore[attr-defined]


def said(db: vk.Database, table: str) -> tuple[int, int]:
    key = {"A": "k = :k", "B": "y = :y AND z = :z", "C": "y = :y AND k = :k"}[table]
    return db.explain(f"SELECT * FROM {table} WHERE {key}").maintenance[table]


def put(db: vk.Database, table: str, **row: Any) -> Cost:
    finish(maintainer(db._shared))
    return cost_of_write(db, lambda: db.put(table, row), table)


def test_an_index_is_read_and_written_once_for_a_row(db: vk.Database) -> None:
    db.execute(f"CREATE INDEX V ON A (x) MAINTAIN {db.mode}")  # type: ignore[attr-defined]
    assert said(db, "A") == (2, 2)
    assert put(db, "A", k=1, x=1) == Cost(1, 1)
    # The entry goes and another one comes.
    assert put(db, "A", k=1, x=2) == Cost(2, 2)


def test_an_index_by_words_has_an_entry_for_each(db: vk.Database) -> None:
    db.execute(f"CREATE INDEX V ON A (TOKENS(s)) MAINTAIN {db.mode}")  # type: ignore[attr-defined]
    assert said(db, "A") == (6, 6)
    put(db, "A", k=1, s="a b c")
    assert put(db, "A", k=1, s="d e f") == Cost(6, 6)


def test_a_group_is_read_and_written_for_the_row_that_goes_and_the_one_that_comes(db: vk.Database) -> None:
    create(db, "SELECT x, COUNT(*) AS n FROM A GROUP BY x")
    assert said(db, "A") == (2, 2)
    put(db, "A", k=1, x=1)
    assert put(db, "A", k=1, x=2) == Cost(2, 2)


def test_values_that_are_kept_for_min_and_max_count(db: vk.Database) -> None:
    create(db, "SELECT x, MIN(z) AS l, MAX(z) AS h, COUNT(DISTINCT k) AS d FROM A GROUP BY x")
    reads, writes = said(db, "A")
    # A group, a value of z and one of k; the next value is looked for at both ends of z.
    assert (reads, writes) == (2 * (1 + 2 + 2), 2 * (1 + 2))
    for k in range(3):
        put(db, "A", k=k, x=1, z=k)
    moved = put(db, "A", k=0, x=2, z=9)
    assert moved.writes == writes
    assert moved.reads <= reads


def test_groups_that_are_shown_under_another_key_are_written_twice(db: vk.Database) -> None:
    create(db, "SELECT x, COUNT(*) AS n FROM A GROUP BY x", "KEY (n DESC, x)")
    reads, writes = said(db, "A")
    for k in range(4):
        put(db, "A", k=k, x=k % 2)
    moved = put(db, "A", k=0, x=1)
    # Two groups, of each of which the old row goes and the new one comes.
    assert moved.writes == 6 == writes
    assert moved.reads == reads == 6


def test_a_join_keeps_the_row_and_writes_its_pairs(db: vk.Database) -> None:
    create(db, "SELECT A.k, B.z, B.w FROM A JOIN B ON B.y = A.k")
    for z in range(5):
        put(db, "B", y=1, z=z)
    first = put(db, "A", k=1)
    assert said(db, "A")[1] == 2 * (1 + 5)
    assert first.writes == 1 + 5
    # Five partners take a second read: four are read first. And each row of the view is read before it is written.
    assert first.reads == 2 + 5 == said(db, "A")[0] // 2
    assert said(db, "B") == (2 * (1 + 1), 2 * (1 + 1))
    assert put(db, "B", y=1, z=1, w=7).writes <= 4


def test_a_left_join_writes_the_row_without_a_partner_too(db: vk.Database) -> None:
    create(db, "SELECT B.y, B.z, C.k, C.v FROM B LEFT JOIN C ON C.y = B.y")
    for z in range(5):
        put(db, "B", y=1, z=z)
    first = put(db, "C", y=1, k=1)
    # Five pairs come, and five rows without a partner go; one row is kept.
    assert first.writes == 11
    assert said(db, "C")[1] == 2 * 11
    assert first.reads <= said(db, "C")[0] // 2


def test_partners_are_counted_where_a_condition_decides(db: vk.Database) -> None:
    create(db, "SELECT B.y, B.z, C.k, C.v FROM B LEFT JOIN C ON C.y = B.y AND C.v > B.w")
    for z in range(5):
        put(db, "B", y=1, z=z, w=0)
    first = put(db, "C", y=1, k=1, v=5)
    assert first.writes == 11 + 5
    assert first.writes <= said(db, "C")[1] // 2
    assert first.reads <= said(db, "C")[0] // 2


def test_the_first_partner_of_exists_brings_all_rows(db: vk.Database) -> None:
    create(db, "SELECT B.y, B.z FROM B WHERE EXISTS (SELECT 1 FROM C WHERE C.y = B.y)")
    for z in range(5):
        put(db, "B", y=1, z=z)
    first = put(db, "C", y=1, k=1)
    assert first.writes == 1 + 5 == said(db, "C")[1] // 2
    assert first.reads <= said(db, "C")[0] // 2
    second = put(db, "C", y=1, k=2)
    assert second.writes == 1


def test_a_row_that_exists_asks_for_needs_no_limit_on_what_it_looks_for(db: vk.Database) -> None:
    """One partner is enough, however many there are; but the first one brings any number of rows of the other side."""
    db.execute("CREATE TABLE M (id INT PRIMARY KEY, g INT)")
    create(db, "SELECT A.k FROM A WHERE EXISTS (SELECT 1 FROM M WHERE M.g = A.k)")
    assert said(db, "A") == (4, 4)
    assert db.status()[0].level == "SI-2"


def test_what_an_outer_join_gives_is_kept_for_the_next_join(db: vk.Database) -> None:
    create(
        db,
        "SELECT A.k, B.z, C.k AS ck FROM A LEFT JOIN B ON B.y = A.k LEFT JOIN C ON C.y = A.x",
    )
    for n in range(5):
        put(db, "B", y=1, z=n)
        put(db, "C", y=1, k=n)
    first = put(db, "A", k=1, x=1)
    # The row itself, its five pairs kept for the second join, and five times five rows.
    assert first.writes == 1 + 5 + 25
    assert said(db, "A")[1] == 2 * 31
    assert first.reads <= said(db, "A")[0] // 2


def test_a_view_above_a_view_follows_each_row_of_it(db: vk.Database) -> None:
    create(db, "SELECT A.k, B.z, B.w FROM A JOIN B ON B.y = A.k")
    db.execute(f"CREATE MATERIALIZED VIEW W KEY (z) MAINTAIN {db.mode} AS SELECT z, COUNT(*) AS n FROM V GROUP BY z")  # type: ignore[attr-defined]
    for z in range(5):
        put(db, "B", y=1, z=z)
    first = put(db, "A", k=1)
    assert first.writes == 1 + 5 + 5 == said(db, "A")[1] // 2
    assert first.reads == said(db, "A")[0] // 2


def test_a_lookup_that_nothing_limits_is_named(db: vk.Database) -> None:
    create(db, "SELECT l.k, r.k AS rk FROM A l JOIN A r ON l.x = r.x")
    found = db.explain("SELECT rk FROM V WHERE k = :k AND rk = :r")
    assert found.level == "unbounded"
    assert 'One changed row of "A" may match any number of rows of "A" by x.' in found.reason
