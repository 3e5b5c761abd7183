"""LOCAL views: kept apart for each partition in the transaction of the write, put together when read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from viewkeeper.errors import Unsupported

PARTS = 5
TABLES = f"""
CREATE TABLE Items (ItemID BIGINT PRIMARY KEY, Category STRING, Price BIGINT) PARTITIONED BY HASH (ItemID) INTO {PARTS};
CREATE TABLE Reviews (ReviewID BIGINT PRIMARY KEY, ItemID BIGINT, Rating INT) PARTITIONED BY HASH (ReviewID) INTO 3
"""
AGGREGATES = "COUNT(*) AS n, SUM(Price) AS total, AVG(Price) AS mean, MIN(Price) AS least, MAX(Price) AS most"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        for number in range(60):
            db.put("Items", {"ItemID": number, "Category": f"c{number % 6}", "Price": number * 7 % 50})
        yield db


def both(db: vk.Database, select: str, key: str = "") -> None:
    """The same view twice: LOCAL, and SYNC to compare it with."""
    for mode in ("LOCAL", "SYNC"):
        db.execute(f"CREATE MATERIALIZED VIEW {mode.title()} {key} MAINTAIN {mode} AS {select}")


def same(db: vk.Database, **options: Any) -> list[dict[str, Any]]:
    found = list(db.scan("Local", **options))
    assert found == list(db.scan("Sync", **options))
    return found


def test_groups_are_put_together_from_all_partitions(db: vk.Database) -> None:
    both(db, f"SELECT Category, {AGGREGATES} FROM Items GROUP BY Category")
    assert len(same(db)) == 6
    for number in range(0, 60, 3):
        db.delete("Items", number)
    db.put("Items", {"ItemID": 1, "Category": "new", "Price": -3})
    assert len(same(db)) == 5
    assert db.get("Local", "new") == db.get("Sync", "new") == {
        "Category": "new", "n": 1, "total": -3, "mean": -3.0, "least": -3, "most": -3
    }  # fmt: skip
    assert same(db, limit=2, reverse=True) == same(db)[:-3:-1]
    assert same(db, lower="c2", upper="c5") == same(db)[1:3]
    rows = db.query("SELECT n, most FROM Local WHERE Category = :c", c="c1")
    assert list(rows) == [{key: db.get("Sync", "c1")[key] for key in ("n", "most")}]  # type: ignore[index]


def test_the_greatest_value_that_goes_costs_no_scan_of_the_partition(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    both(db, f"SELECT Category, {AGGREGATES} FROM Items GROUP BY Category")
    reads: list[int] = []
    from viewkeeper.store import viewreading

    real = viewreading.read_slice

    def counted(*args: Any, **options: Any) -> Any:
        found = real(*args, **options)
        reads.append(len(found))
        return found

    top = max(db.scan("Items"), key=lambda row: (row["Category"] == "c1", row["Price"]))
    for number in range(1000, 1400):
        db.put("Items", {"ItemID": number, "Category": "c1", "Price": -number})
    monkeypatch.setattr(viewreading, "read_slice", counted)
    db.delete("Items", top["ItemID"])
    assert sum(reads) < 40
    assert same(db)


def test_the_one_row_of_a_global_aggregate_is_one(db: vk.Database) -> None:
    both(db, f"SELECT {AGGREGATES} FROM Items")
    assert same(db)[0]["n"] == 60
    db.execute("DELETE FROM Items WHERE ItemID >= 0")
    assert same(db) == [{"n": 0, "total": None, "mean": None, "least": None, "most": None}]


def test_rows_come_in_order_from_all_partitions(db: vk.Database) -> None:
    both(db, "SELECT Price, Category FROM Items WHERE Price > 10", "KEY (Price DESC)")
    db.execute("CREATE INDEX ByPrice ON Items (Price) INCLUDE (Category) MAINTAIN LOCAL")
    for number in range(0, 60, 2):
        db.put("Items", {"ItemID": number, "Price": 100 - number})
    same(db)
    same(db, limit=7)
    same(db, limit=7, reverse=True)
    scanned = db.scan("ByPrice", limit=5)
    prices = [row["Price"] for row in scanned]
    assert prices == sorted(row["Price"] for row in db.scan("Items"))[:5]
    assert scanned.meta.operations == PARTS


def test_rows_that_repeat_are_counted_over_all_partitions(db: vk.Database) -> None:
    both(db, "SELECT Category FROM Items")
    assert len(same(db)) == 60
    assert same(db, limit=15) == same(db)[:15]
    db.delete("Items", 0)
    assert len(same(db)) == 59


def test_a_snapshot_has_all_partitions_of_one_moment(db: vk.Database) -> None:
    both(db, f"SELECT Category, {AGGREGATES} FROM Items GROUP BY Category")
    before = same(db)
    with db.snapshot() as snapshot:
        for number in range(60):
            db.put("Items", {"ItemID": number, "Category": "moved"})
        assert list(snapshot.scan("Local")) == before
        assert snapshot.get("Local", "c1") == before[1]
    assert len(same(db)) == 1


@pytest.mark.parametrize("mode", ["DEFERRED", "SYNC", "LAZY"])
def test_over_an_index_one_part_is_read(db: vk.Database, mode: str) -> None:
    db.execute(f"CREATE INDEX ByCategory ON Items (Category) INCLUDE (Price) MAINTAIN {mode}")
    db.execute(
        f"CREATE VIEW OfCategory MAINTAIN LOCAL AS SELECT Category, {AGGREGATES} FROM ByCategory GROUP BY Category"
    )
    db.execute(f"CREATE VIEW Wanted MAINTAIN SYNC AS SELECT Category, {AGGREGATES} FROM Items GROUP BY Category")
    db.put("Items", {"ItemID": 1, "Category": "c2", "Price": 1000})
    row, meta = db.get("OfCategory", "c2", consistency="latest", with_meta=True)
    assert row == db.get("Wanted", "c2")
    assert meta.operations == 1
    db.maintain()
    assert list(db.scan("OfCategory")) == list(db.scan("Wanted"))
    # It moves with the index: never is one ahead of the other.
    index, view = (status for status in db.status() if status.view in ("ByCategory", "OfCategory"))
    assert index.watermark == view.watermark


@pytest.mark.parametrize("mode", ["DEFERRED", "SYNC"])
def test_over_one_side_of_a_join_index(db: vk.Database, mode: str) -> None:
    db.execute(
        f"CREATE JOIN INDEX Sides ON Items (ItemID) INCLUDE (Price), Reviews (ItemID) INCLUDE (Rating) MAINTAIN {mode}"
    )
    db.execute(
        "CREATE VIEW AverageRatings MAINTAIN LOCAL AS SELECT ItemID, AVG(Rating) AS average, COUNT(*) AS n "
        "FROM Sides WHERE \"table\" = 'Reviews' GROUP BY ItemID"
    )
    for number in range(40):
        db.put("Reviews", {"ReviewID": number, "ItemID": number % 7, "Rating": number % 5})
    row, meta = db.get("AverageRatings", 3, consistency="latest", with_meta=True)
    ratings = [row["Rating"] for row in db.scan("Reviews") if row["ItemID"] == 3]
    assert row == {"ItemID": 3, "average": sum(ratings) / len(ratings), "n": len(ratings)}
    assert meta.operations == 1


@pytest.mark.parametrize(
    ("select", "why"),
    [
        ("SELECT Price, Rating FROM Items JOIN Reviews ON Items.ItemID = Reviews.ItemID", "no common partitioning"),
        ("SELECT Category FROM Items UNION ALL SELECT Category FROM Items", "no common partitioning"),
        ("SELECT Category, COUNT(*) AS n FROM Items GROUP BY Category HAVING COUNT(*) > 3", "known only when"),
        ("SELECT Category, COUNT(DISTINCT Price) AS n FROM Items GROUP BY Category", "in several partitions"),
        (
            "SELECT n, COUNT(*) AS c FROM (SELECT Category, COUNT(*) AS n FROM Items GROUP BY Category) x GROUP BY n",
            "known",
        ),
    ],
)
def test_what_cannot_be_put_together_is_refused(db: vk.Database, select: str, why: str) -> None:
    with pytest.raises(Unsupported) as refused:
        db.execute(f"CREATE VIEW Refused MAINTAIN LOCAL AS {select}")
    assert refused.value.message.startswith('view "Refused" cannot be LOCAL ')
    assert why in (refused.value.detail or "")
    assert "SYNC" in (refused.value.hint or "")
    assert db.views() == []


def test_nothing_stands_on_parts(db: vk.Database) -> None:
    both(db, f"SELECT Category, {AGGREGATES} FROM Items GROUP BY Category")
    with pytest.raises(Unsupported, match="which is LOCAL"):
        db.execute("CREATE VIEW Above AS SELECT n, COUNT(*) AS c FROM Local GROUP BY n")
    with pytest.raises(Unsupported, match="no change feed"):
        db.changes("Local", since=db.head())


def test_partitions_stay_as_they_are_while_views_are_kept_by_them(tmp_path: Path) -> None:
    with vk.open(tmp_path / "ranges", durability="os") as db:
        db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, v BIGINT) PARTITIONED BY RANGE (id) INTO 4")
        db.execute("CREATE VIEW Local MAINTAIN LOCAL AS SELECT COUNT(*) AS n, MAX(v) AS most FROM T")
        before = db._shared.catalog().table("T")
        db.load("T", [{"id": number, "v": number} for number in range(200)])
        assert db._shared.repartition("T") == before == db._shared.catalog().table("T")
        assert list(db.scan("Local")) == [{"n": 200, "most": 199}]


def test_a_table_of_one_partition_has_local_views_too(tmp_path: Path) -> None:
    with vk.open(tmp_path / "one", durability="os") as db:
        db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, v BIGINT)")
        db.execute("CREATE VIEW Local MAINTAIN LOCAL AS SELECT v, COUNT(DISTINCT id) AS n FROM T GROUP BY v")
        db.put("T", {"id": 1, "v": 3})
        db.put("T", {"id": 2, "v": 3})
        assert list(db.scan("Local")) == [{"v": 3, "n": 2}]
