"""When the first rows are enough: the rules by which LIMIT bounds a read, each with rows that show why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

TABLES = """
CREATE TABLE A (k INT PRIMARY KEY, x INT, y INT, s STRING);
CREATE TABLE B (k INT, y INT, z INT, PRIMARY KEY (k, y)) WITH CARDINALITY (y, 3);
CREATE TABLE C (g INT, ts INT, id INT, v INT, PRIMARY KEY (g, ts, id));
"""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        db.load("A", [{"k": k, "x": k % 5, "y": k, "s": f"s{k}"} for k in range(20)])
        db.load("B", [{"k": 1, "y": y, "z": y} for y in (8, 18, 19)])
        db.load("C", [{"g": g, "ts": ts, "id": n, "v": n % 2} for g in range(3) for ts in range(5) for n in range(3)])
        yield db


def level(db: vk.Database, sql: str) -> str:
    """The level over what there is; to be made counts as none."""
    found = db.explain(sql)
    return found.level if not found.needs else f"{found.level} new"


def answer(db: vk.Database, sql: str, **params: Any) -> list[tuple[Any, ...]]:
    """Checked against the bounds."""
    verdict, rows = db.explain(sql), db.query(sql, **params)
    found = [tuple(row.values()) for row in rows]
    assert verdict.operations_max is not None
    assert verdict.rows_max is not None
    assert rows.meta.operations <= verdict.operations_max
    assert rows.meta.rows <= verdict.rows_max
    return found


# What is dropped later on


def test_the_first_rows_in_stored_order_are_enough(db: vk.Database) -> None:
    assert answer(db, "SELECT k FROM A ORDER BY k LIMIT 3") == [(0,), (1,), (2,)]
    assert db.explain("SELECT k FROM A ORDER BY k LIMIT 3").rows_max == 3


@pytest.mark.parametrize("down", ["", " DESC"])
def test_rows_in_whose_order_null_comes_first_are_read_behind_it(db: vk.Database, down: str) -> None:
    db.execute(f"CREATE INDEX by_x ON A (x{down}) MAINTAIN SYNC")
    db.load("A", [{"k": k, "x": None} for k in range(30, 50)])
    for order, first in (("x", 0), ("x DESC", 4)):
        sql = f"SELECT x FROM A WHERE x IS NOT NULL ORDER BY {order} LIMIT 2"
        assert level(db, sql) == "SI-1"
        assert answer(db, sql) == [(first,), (first,)]
        assert "by_x (x IS NOT NULL), first 2" in db.explain(sql).plan
    assert level(db, "SELECT x FROM A WHERE y IS NOT NULL ORDER BY x LIMIT 2") != "SI-1"


def test_an_inner_join_behind_the_limit_may_drop_rows(db: vk.Database) -> None:
    assert level(db, "SELECT A.k FROM A JOIN A o ON o.k = A.y ORDER BY A.k LIMIT 3") != "SI-0"


def test_a_left_join_behind_the_limit_keeps_every_row(db: vk.Database) -> None:
    sql = "SELECT A.k, o.s FROM A LEFT JOIN A o ON o.k = A.x ORDER BY A.k LIMIT 3"
    assert answer(db, sql) == [(0, "s0"), (1, "s1"), (2, "s2")]
    found = db.explain(sql)
    assert (found.operations_max, found.rows_max) == (1 + 3, 3 + 3)


def test_a_left_join_that_finds_several_partners_gives_more_than_enough(db: vk.Database) -> None:
    sql = "SELECT A.k, B.y FROM A LEFT JOIN B ON B.k = A.k ORDER BY A.k LIMIT 3"
    first, *rest = answer(db, sql)
    assert first == (0, None)
    assert {k for k, _ in rest} == {1}
    assert {y for _, y in rest} < {8, 18, 19}
    assert db.explain(sql).rows_max == 3 + 3 * 3


@pytest.mark.parametrize("condition", ["x = y", "x <> :p", "x IS NOT NULL", "x > :p OR y > :p"])
def test_a_condition_that_the_read_does_not_apply_may_drop_rows(db: vk.Database, condition: str) -> None:
    found = db.explain(f"SELECT k FROM A WHERE {condition} ORDER BY k LIMIT 3")
    assert found.level == "unbounded" or found.needs


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT k FROM A WHERE EXISTS (SELECT 1 FROM B WHERE B.k = :p AND B.y = A.y AND z < x) ORDER BY k LIMIT 5",
        "SELECT A.k FROM A WHERE NOT EXISTS (SELECT 1 FROM B WHERE B.k = :p AND B.y = A.y) ORDER BY A.k DESC LIMIT 3",
        "SELECT A.k FROM A LEFT JOIN B ON B.k = :p AND B.y = A.y WHERE B.z = 8 ORDER BY A.k LIMIT 5",
        "SELECT A.k, B.z FROM A LEFT JOIN B ON B.k = :p AND B.y = A.y ORDER BY B.z DESC, A.k LIMIT 5",
    ],
    ids=["exists", "not exists", "where on a partner", "order by a partner"],
)
def test_what_was_read_before_may_still_drop_or_reorder_rows(db: vk.Database, sql: str) -> None:
    """B can be read first, but which rows of A have a partner in it is known only with A."""
    assert db.explain(sql).level == "unbounded"
    with pytest.raises(vk.Unbounded):
        db.query(sql, p=1)


def test_rows_that_are_looked_up_by_what_exists_asks_for_are_not_dropped(db: vk.Database) -> None:
    sql = "SELECT A.k FROM A WHERE EXISTS (SELECT 1 FROM B WHERE B.k = :p AND B.y = A.y) ORDER BY A.k LIMIT 5"
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert prepared.verdict.level == "SI-1"
    for p in range(4):
        assert prepared(p=p).all() == db.query(sql, p=p, allow_scan=True).all()


def test_a_partner_that_is_read_before_and_not_compared_with_the_limited_source_does_no_harm(db: vk.Database) -> None:
    sql = "SELECT C.id FROM A JOIN C ON C.g = A.x WHERE A.k = :k AND EXISTS (SELECT 1 FROM B WHERE B.k = A.k)"
    assert answer(db, f"{sql} ORDER BY C.ts, C.id LIMIT 2", k=1) == [(0,), (1,)]
    assert answer(db, f"{sql} ORDER BY C.ts, C.id LIMIT 2", k=2) == []


# Order


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("ts, id", [(0, 0), (0, 1)]),
        ("ts DESC, id DESC", [(4, 2), (4, 1)]),
        ("g, ts, id", [(0, 0), (0, 1)]),
        ("g DESC, ts, id", [(0, 0), (0, 1)]),
        ("ts", None),
        ("ts, id, v DESC", [(0, 0), (0, 1)]),
    ],
)
def test_the_order_has_to_be_that_of_the_key_behind_what_is_fixed(
    db: vk.Database, order: str, expected: list[tuple[int, int]] | None
) -> None:
    sql = f"SELECT ts, id FROM C WHERE g = :g ORDER BY {order} LIMIT 2"
    found = answer(db, sql, g=1)
    assert found == expected if expected is not None else [ts for ts, _ in found] == [0, 0]
    assert level(db, sql) == "SI-0"


@pytest.mark.parametrize("order", ["ts DESC, id", "ts, id DESC", "id", "v", "ts, v", "ts + 1"])
def test_any_other_order_needs_something_else(db: vk.Database, order: str) -> None:
    assert level(db, f"SELECT ts, id FROM C WHERE g = :g ORDER BY {order} LIMIT 2") != "SI-0"


def test_an_index_that_descends_is_read_forwards_and_backwards(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByX ON A (x DESC, y) MAINTAIN SYNC")
    assert answer(db, "SELECT x, y FROM A ORDER BY x DESC, y LIMIT 2") == [(4, 4), (4, 9)]
    assert answer(db, "SELECT x, y FROM A ORDER BY x, y DESC LIMIT 2") == [(0, 15), (0, 10)]
    assert level(db, "SELECT x, y FROM A ORDER BY x, y LIMIT 2") == "SI-1 new"


def test_rows_that_tie_are_as_many_as_asked_for(db: vk.Database) -> None:
    found = answer(db, "SELECT ts, id FROM C WHERE g = :g ORDER BY ts LIMIT 4", g=1)
    assert [ts for ts, _ in found] == [0, 0, 0, 1]


# Several keys


def test_each_value_of_a_list_has_its_own_first_rows(db: vk.Database) -> None:
    sql = "SELECT g, ts, id FROM C WHERE g IN :gs MAX 3 ORDER BY ts, id, g LIMIT 4"
    assert answer(db, sql, gs=[2, 0]) == [(0, 0, 0), (2, 0, 0), (0, 0, 1), (2, 0, 1)]
    found = db.explain(sql)
    assert (found.operations_max, found.rows_max) == (3, 12)


def test_a_key_that_equals_a_parameter_is_read_once(db: vk.Database) -> None:
    sql = "SELECT B.y, C.ts, C.id FROM B JOIN C ON C.g = B.k WHERE B.k = :k ORDER BY C.ts DESC, C.id DESC LIMIT 2"
    assert "index scan C (g = :k), first 2 backwards" in db.explain(sql).plan
    found = answer(db, sql, k=1)
    assert [row[1:] for row in found] == [(4, 2), (4, 2)]


def test_a_sorted_index_join_is_by_columns_of_rows_found(db: vk.Database) -> None:
    db.load("B", [{"k": 5, "y": y, "z": z} for y, z in ((0, 0), (1, 2))])
    sql = "SELECT C.g, C.ts, C.id FROM B JOIN C ON C.g = B.z WHERE B.k = :k ORDER BY C.ts DESC, C.id DESC, C.g LIMIT 3"
    assert "sorted index join C (g = B.z), first 3 backwards of each key: 3 operations, 9 rows" in db.explain(sql).plan
    assert answer(db, sql, k=5) == [(0, 4, 2), (2, 4, 2), (0, 4, 1)]


# How many


def test_an_offset_is_read_too(db: vk.Database) -> None:
    sql = "SELECT k FROM A ORDER BY k LIMIT 2 OFFSET 3"
    assert answer(db, sql) == [(3,), (4,)]
    assert db.explain(sql).rows_max == 5


def test_a_parameter_of_limit_counts_with_its_maximum(db: vk.Database) -> None:
    sql = "SELECT k FROM A ORDER BY k LIMIT :n MAX 4"
    assert db.explain(sql).rows_max == 4
    assert answer(db, sql, n=2) == [(0,), (1,)]
    assert answer(db, sql, n=0) == []
    with pytest.raises(vk.BadParameter):
        db.query(sql, n=5)


def test_a_parameter_of_limit_without_a_maximum_is_no_bound(db: vk.Database) -> None:
    assert db.explain("SELECT k FROM A ORDER BY k LIMIT :n").level == "unbounded"


def test_a_list_without_a_maximum_is_no_bound(db: vk.Database) -> None:
    assert db.explain("SELECT k, s FROM A WHERE k IN :ks").level == "unbounded"


# What has to see all rows


@pytest.mark.parametrize(
    "sql", ["SELECT DISTINCT g FROM C LIMIT 2", "SELECT g, COUNT(*) AS n FROM C GROUP BY g LIMIT 2"]
)
def test_groups_are_not_made_of_the_first_rows(db: vk.Database, sql: str) -> None:
    assert level(db, sql) != "SI-0"


# Intervals


def test_an_interval_is_read_from_its_end(db: vk.Database) -> None:
    sql = "SELECT ts, id FROM C WHERE g = :g AND ts > :low AND ts <= :high ORDER BY ts DESC, id DESC LIMIT 2"
    assert answer(db, sql, g=1, low=0, high=3) == [(3, 2), (3, 1)]
    assert db.explain(sql).rows_max == 2


def test_two_lower_bounds_are_not_both_applied_by_the_read(db: vk.Database) -> None:
    assert level(db, "SELECT ts FROM C WHERE g = :g AND ts > :a AND ts > :b ORDER BY ts LIMIT 2") == "unbounded"


def test_a_column_behind_an_interval_is_not_applied_by_the_read(db: vk.Database) -> None:
    assert level(db, "SELECT ts FROM C WHERE g = :g AND ts > :a AND id = :b ORDER BY ts LIMIT 2") == "SI-1 new"


def test_a_bound_of_another_type_is_the_nearest_one(db: vk.Database) -> None:
    assert answer(db, "SELECT k FROM A WHERE k > 2.5 ORDER BY k LIMIT 2") == [(3,), (4,)]
    assert answer(db, "SELECT k FROM A WHERE k < 2.5 AND k >= 0.5 ORDER BY k DESC LIMIT 5") == [(2,), (1,)]


def test_a_beginning_is_an_interval(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByS ON A (s) MAINTAIN SYNC")
    assert answer(db, "SELECT s FROM A WHERE s LIKE 's1%' ORDER BY s LIMIT 3") == [("s1",), ("s10",), ("s11",)]
    assert answer(db, "SELECT s FROM A WHERE s LIKE :p ORDER BY s DESC LIMIT 2", p="s1%") == [("s19",), ("s18",)]
