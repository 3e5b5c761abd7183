"""A row of a view by its key."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.read.moving import move, put_orders

BY_SHOP = "CREATE MATERIALIZED VIEW ByShop AS SELECT shop, COUNT(*) AS n, SUM(cost) AS total FROM Orders GROUP BY shop"


def test_a_view_is_read_by_its_key_and_shows_only_its_columns(db: vk.Database) -> None:
    put_orders(db, (1, "a", 5), (2, "a", 7), (3, "b", 1))
    db.execute(BY_SHOP)
    assert db.get("ByShop", "a") == {"shop": "a", "n": 2, "total": 12}
    assert db.get("byshop", "a") == db.get("ByShop", "a")
    assert db.get("ByShop", "c") is None


def test_a_view_is_read_as_it_is_and_not_as_its_table_is(db: vk.Database) -> None:
    db.execute(BY_SHOP)
    put_orders(db, (1, "a", 5))
    assert db.get("ByShop", "a") is None
    move(db)
    assert db.get("ByShop", "a") == {"shop": "a", "n": 1, "total": 5}
    db.delete("Orders", 1)
    assert db.get("ByShop", "a") is not None
    move(db)
    assert db.get("ByShop", "a") is None


def test_null_is_a_key_like_any_other(db: vk.Database) -> None:
    db.execute(BY_SHOP)
    put_orders(db, (1, None, 5), (2, None, None))
    move(db)
    assert db.get("ByShop", None) == {"shop": None, "n": 2, "total": 5}


def test_key_columns_are_given_in_stored_order(db: vk.Database) -> None:
    db.execute(
        "CREATE MATERIALIZED VIEW Pairs KEY (cost DESC, shop) AS SELECT shop, cost, COUNT(*) AS n FROM Orders "
        "GROUP BY shop, cost"
    )
    put_orders(db, (1, "a", 5), (2, "a", None))
    move(db)
    assert db.get("Pairs", 5, "a") == {"shop": "a", "cost": 5, "n": 1}
    assert db.get("Pairs", None, "a") == {"shop": "a", "cost": None, "n": 1}
    with pytest.raises(vk.WrongType, match=r'view "Pairs" has a key of 2 columns, \(cost DESC, shop\), found 1 value'):
        db.get("Pairs", 5)
    with pytest.raises(vk.WrongType, match="cost"):
        db.get("Pairs", "a", 5)


def test_a_view_of_one_row_has_an_empty_key(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW Total AS SELECT COUNT(*) AS n FROM Orders")
    assert db.get("Total") == {"n": 0}
    put_orders(db, (1, "a", 5))
    move(db)
    assert db.get("Total") == {"n": 1}
    with pytest.raises(vk.WrongType, match="found 1 value"):
        db.get("Total", 1)


def test_rows_without_a_visible_key_are_scanned(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByCost ON Orders (cost DESC) INCLUDE (shop)")
    with pytest.raises(vk.NotUnique) as caught:
        db.get("ByCost", 5)
    assert caught.value.message == 'rows of index "ByCost" have no key of their own'
    assert "cost, shop" in caught.value.detail
    assert 'db.scan("ByCost", prefix=…)' in caught.value.hint
    assert "(cost DESC)" in caught.value.hint


def test_rows_that_repeat_are_scanned(db: vk.Database, weighted_views: None) -> None:
    db.execute("CREATE MATERIALIZED VIEW Bag AS SELECT shop FROM Orders")
    with pytest.raises(vk.NotUnique, match="no key of their own") as caught:
        db.get("Bag", "a")
    assert caught.value.detail == "Several may have the same shop."


def test_rows_that_are_told_apart_by_hidden_columns_alone_are_scanned_whole(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW Shops AS SELECT shop FROM Orders")
    with pytest.raises(vk.NotUnique) as caught:
        db.get("Shops", "a")
    assert caught.value.hint == 'Read its rows with db.scan("Shops").'


def test_a_row_longer_than_a_stored_key_is_found(db: vk.Database) -> None:
    db.execute(BY_SHOP)
    shop = "x" * 2000
    put_orders(db, (1, shop, 5), (2, shop + "y", 6))
    move(db)
    found = db.get("ByShop", shop)
    assert found is not None
    assert found["total"] == 5


def test_nothing_of_that_name(db: vk.Database) -> None:
    db.execute(BY_SHOP)
    with pytest.raises(vk.UnknownTable, match='table "Byshops" does not exist') as caught:
        db.get("Byshops", 1)
    assert "Views: ByShop" in caught.value.detail


def test_a_dropped_view_is_gone_at_once(db: vk.Database) -> None:
    db.execute(BY_SHOP)
    assert db.get("ByShop", "a") is None
    db.execute("DROP VIEW ByShop")
    with pytest.raises(vk.UnknownTable):
        db.get("ByShop", "a")


def test_threads_that_read_a_view_for_the_first_time_at_once(db: vk.Database, tmp_path: Path) -> None:
    put_orders(db, (1, "a", 5))
    for number in range(20):
        db.execute(f"CREATE MATERIALIZED VIEW V{number} AS SELECT shop, COUNT(*) AS n FROM Orders GROUP BY shop")
    db.close()
    for _ in range(5):
        with vk.open(tmp_path / "db") as again, ThreadPoolExecutor(8) as pool:
            names = [f"V{number}" for number in range(20) for _ in range(4)]
            assert list(pool.map(lambda name: again.get(name, "a"), names)) == [{"shop": "a", "n": 1}] * 80


def test_reading_a_view_by_key_loads_no_heavy_package(db: vk.Database, tmp_path: Path) -> None:
    put_orders(db, (1, "a", 5))
    db.execute(BY_SHOP)
    program = (
        "import sys, viewkeeper as vk\n"
        f"db = vk.open({str(tmp_path / 'db')!r})\n"
        "assert db.get('ByShop', 'a')['n'] == 1 and db.scan('ByShop').all() and db.status()\n"
        "heavy = ('sqlglot', 'pyarrow', 'pyspark', 'viewkeeper.views', 'viewkeeper.execute')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
