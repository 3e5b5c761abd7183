"""How fresh an answer has to be: any, at least a position, latest; and waiting for a view to be there."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import viewkeeper as vk
from tests.read.moving import fill, move, put_orders, store_of, unfilled, values
from viewkeeper.read import pending


@pytest.fixture
def shops(db: vk.Database) -> vk.Database:
    db.execute("CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop")
    return db


READS: list[Any] = [
    lambda db, **asked: [db.get("Sums", "a", **asked)],
    lambda db, **asked: db.scan("Sums", **asked).all(),
    lambda db, **asked: db.query("SELECT * FROM Sums WHERE shop = :shop", shop="a", **asked).all(),
]
each_read = pytest.mark.parametrize("read", READS, ids=["get", "scan", "query"])


def later(action: Any) -> threading.Timer:
    timer = threading.Timer(0.1, action)
    timer.start()
    return timer


@each_read
def test_a_read_waits_until_the_view_covers_a_position(shops: vk.Database, read: Any) -> None:
    position = put_orders(shops, (1, "a", 5))
    assert read(shops, consistency="any") in ([None], [])
    timer = later(lambda: move(shops, position))
    assert read(shops, consistency=vk.at_least(position)) == [{"shop": "a", "total": 5}]
    timer.join()


@each_read
def test_latest_covers_all_that_was_committed_before(shops: vk.Database, read: Any) -> None:
    put_orders(shops, (1, "a", 5))
    timer = later(lambda: move(shops))
    assert read(shops, consistency="latest") == [{"shop": "a", "total": 5}]
    timer.join()


def test_a_view_that_is_far_enough_is_not_waited_for(shops: vk.Database) -> None:
    first = put_orders(shops, (1, "a", 5))
    move(shops)
    second = put_orders(shops, (1, "a", 6))
    assert shops.get("Sums", "a", consistency=vk.at_least(first), timeout=0) == {"shop": "a", "total": 5}
    assert shops.get("Sums", "a", consistency=vk.at_least(first, second), timeout=0) == {"shop": "a", "total": 6}


def test_a_view_that_moves_too_slowly_is_told_so(shops: vk.Database) -> None:
    store_of(shops).view_tables.beat("somebody", 60)
    first = put_orders(shops, (1, "a", 5))
    second = put_orders(shops, (1, "a", 6), (2, "a", 6))
    timer = later(lambda: move(shops, first))
    with patch.object(pending, "LOOK", 1), pytest.raises(vk.ViewBehind) as caught:
        shops.get("Sums", "a", consistency=vk.at_least(second), timeout=1)
    timer.join()
    assert "moved on by 1 changes" in caught.value.detail
    assert "timeout" in caught.value.hint


def test_a_table_has_every_consistency_but_not_the_future(shops: vk.Database) -> None:
    position = put_orders(shops, (1, "a", 5))
    for consistency in ("any", "latest", vk.at_least(position), None):
        assert shops.get("Orders", 1, consistency=consistency)["cost"] == 5  # type: ignore[index]
        assert len(shops.scan("Orders", consistency=consistency).all()) == 1
        assert len(shops.query("SELECT id FROM Orders LIMIT 9", consistency=consistency).all()) == 1


@pytest.mark.parametrize("name", ["Orders", "Sums"])
def test_positions_of_the_future_and_of_other_databases_are_refused(
    shops: vk.Database, tmp_path: Path, name: str
) -> None:
    ahead = vk.Position.parse(str(shops.head()).replace("@0", "@7"))
    with vk.open(tmp_path / "other") as other:
        foreign = other.head()
    for position, error in ((ahead, vk.FuturePosition), (foreign, vk.ForeignPosition)):
        with pytest.raises(error):
            shops.get(name, 1 if name == "Orders" else "a", consistency=vk.at_least(position))
        with pytest.raises(error):
            shops.scan(name, consistency=vk.at_least(position))
    with pytest.raises(vk.BadPosition):
        vk.at_least("7")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "asked", [{"consistency": "newest"}, {"consistency": 5}, {"wait": -1}, {"wait": "long"}, {"timeout": None}]
)
def test_what_is_no_consistency_is_refused(shops: vk.Database, asked: dict[str, Any]) -> None:
    with pytest.raises(vk.WrongType):
        shops.scan("Sums", **asked)


@each_read
def test_a_view_that_is_not_filled_is_told_by_name(shops: vk.Database, read: Any) -> None:
    put_orders(shops, (1, "a", 5), (2, "b", 6), (3, "c", 7))
    shops.execute("DROP VIEW Sums")
    with unfilled():
        shops.execute("CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop")
    with pytest.raises(vk.ViewNotReady) as caught:
        read(shops)
    assert caught.value.message == 'view "Sums" has not been filled yet'
    assert caught.value.detail == "It waits for a maintainer to begin."
    assert "wait=True" in caught.value.hint
    fill(shops, "Sums", steps=1)
    for asked in ({}, {"wait": 0.02}):
        with pytest.raises(vk.ViewNotReady) as caught:
            read(shops, **asked)
    assert caught.value.detail == f"It is being filled as of position {shops.head()}; it has 2 rows so far."


@each_read
@pytest.mark.parametrize("wait", [True, 20.0])
def test_a_read_waits_for_a_view_to_be_filled(shops: vk.Database, read: Any, wait: bool | float) -> None:
    put_orders(shops, (1, "a", 5))
    shops.execute("DROP VIEW Sums")
    with unfilled():
        shops.execute("CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop")
    timer = later(lambda: fill(shops, "Sums"))
    assert read(shops, wait=wait) == [{"shop": "a", "total": 5}]
    timer.join()


def test_a_view_dropped_while_it_is_waited_for_is_unknown(shops: vk.Database) -> None:
    shops.execute("DROP VIEW Sums")
    with unfilled():
        shops.execute("CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop")
    timer = later(lambda: shops.execute("DROP VIEW Sums"))
    with pytest.raises(vk.UnknownTable):
        shops.get("Sums", "a", wait=True)
    timer.join()


def test_an_execute_reads_the_view_as_it_is(shops: vk.Database) -> None:
    put_orders(shops, (1, "a", 5))
    assert values(shops.execute("SELECT * FROM Sums")) == []
    move(shops)
    assert values(shops.execute("SELECT total FROM Sums WHERE shop = ?", ["a"])) == [(5,)]
