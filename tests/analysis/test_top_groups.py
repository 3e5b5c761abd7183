"""The first groups by an aggregate: a view of the groups, and an index of it in that order."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest

import viewkeeper as vk
from tests.analysis.counting import cost_of_write

JOINED = "FROM users u JOIN sales s ON s.user = u.id GROUP BY u.town"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(
            "CREATE TABLE users (id INT PRIMARY KEY, town STRING);"
            "CREATE TABLE sales (id INT PRIMARY KEY, user INT, sku INT, price DECIMAL(8,2), weight DOUBLE)"
        )
        yield db


def change(db: vk.Database, rng: Random) -> None:
    if rng.random() < 0.3:
        db.put("users", {"id": rng.randrange(6), "town": rng.choice(["north", "south", "east", None])})
    elif rng.random() < 0.2:
        db.delete("sales", rng.randrange(40))
    else:
        price = rng.choice([None, Decimal(rng.randrange(500)) / 4])
        row = {"id": rng.randrange(40), "user": rng.randrange(8), "sku": rng.randrange(5), "price": price}
        db.put("sales", {**row, "weight": 0.1})


@pytest.mark.parametrize(
    ("sql", "index"),
    [
        ("SELECT sku, COUNT(*) AS n FROM sales GROUP BY sku ORDER BY n DESC, sku LIMIT 3", "(n DESC, sku)"),
        (
            "SELECT sku, COUNT(*) AS n, SUM(price) AS p FROM sales GROUP BY sku ORDER BY p DESC, sku LIMIT 3",
            "(p DESC, sku) INCLUDE (n)",
        ),
        (
            "SELECT sku, MAX(price) AS m FROM sales GROUP BY sku ORDER BY COUNT(*) DESC, sku LIMIT 3",
            '("order" DESC, sku) INCLUDE (m)',
        ),
        (
            "SELECT sku, SUM(price) / COUNT(*) AS mean FROM sales GROUP BY sku ORDER BY mean DESC, sku LIMIT 3",
            "(mean DESC, sku)",
        ),
        (
            (
                "SELECT sku, user, SUM(price) - MIN(price) AS rest FROM sales WHERE user = 3 GROUP BY sku, user"
                " ORDER BY rest, sku LIMIT 2"
            ),
            "(rest, sku)",
        ),
        # The sum of a pre-aggregated DECIMAL has more digits than that of the query.
        (f"SELECT u.town, SUM(s.price) AS p {JOINED} ORDER BY p DESC, u.town LIMIT 2", "(p DESC, town)"),
        (f"SELECT u.town, COUNT(*) AS n {JOINED} ORDER BY n DESC, u.town LIMIT 2", "(n DESC, town)"),
    ],
)
def test_the_first_groups_are_read_from_an_index_of_the_view(db: vk.Database, sql: str, index: str) -> None:
    rng = Random(7)
    for _ in range(30):
        change(db, rng)
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert (prepared.verdict.level, prepared.verdict.operations_max) == ("SI-2", 1)
    made = [view.text for view in db.views() if view.kind == "index"]
    assert len(made) == 1
    assert index in made[0]
    for _ in range(30):
        most = db.explain(sql).maintenance
        for table in ("users", "sales"):
            cost = cost_of_write(db, lambda: change(db, rng))
            bound = most.get("sales"), most.get("users")
            reads = max(one[0] for one in bound if one is not None)
            writes = max(one[1] for one in bound if one is not None)
            assert cost.reads <= reads, table
            assert cost.writes <= writes, table
        rows = prepared()
        assert rows.all() == db.query(sql, allow_scan=True).all()
        assert rows.meta.operations == 1


def test_what_is_computed_from_counts_of_nothing_is_not_null(db: vk.Database) -> None:
    db.execute(
        "CREATE MATERIALIZED VIEW twice MAINTAIN SYNC AS SELECT sku, COUNT(*) AS n, COUNT(*) * 2 AS m"
        " FROM sales GROUP BY sku"
    )
    db.put("sales", {"id": 1, "sku": 1})
    sql = "SELECT COUNT(*) * 2 AS m FROM sales WHERE sku = :sku ORDER BY m LIMIT 1"
    assert "twice" in db.explain(sql).uses
    assert [list(db.query(sql, sku=sku)) for sku in (1, 2)] == [[{"m": 2}], [{"m": 0}]]
    grouped = "SELECT sku, COUNT(*) * 2 AS m FROM sales WHERE sku = :sku GROUP BY sku"
    assert [list(db.query(grouped, sku=sku)) for sku in (1, 2)] == [[{"sku": 1, "m": 2}], []]


@pytest.mark.parametrize("ranked", ["SUM(weight) AS w", "AVG(weight) AS w", "SUM(weight) * 2 AS w"])
def test_sums_of_double_are_no_order_of_an_index(db: vk.Database, ranked: str) -> None:
    found = db.explain(f"SELECT sku, {ranked} FROM sales GROUP BY sku ORDER BY w DESC LIMIT 3")
    assert found.level == "unbounded"
    assert "the last digits of that depend on the order of additions" in found.reason
    exact = ranked.replace("weight", "CAST(weight AS DECIMAL(20,6))")
    sql = f"SELECT sku, {exact} FROM sales GROUP BY sku ORDER BY w DESC LIMIT 3"
    assert db.prepare(sql, create=True, maintain="SYNC").verdict.level == "SI-2"


def test_no_index_by_a_sum_of_double_is_made_of_a_view_that_is_there(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW weights AS SELECT sku, SUM(weight) AS w FROM sales GROUP BY sku")
    found = db.explain("SELECT sku FROM weights ORDER BY w LIMIT 3")
    assert (found.level, found.needs) == ("unbounded", ())
    assert "stored by a sum of DOUBLE" in found.reason
