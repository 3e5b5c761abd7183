"""Several reads at one moment: tables at a position, views at the watermarks that they had then."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.read.moving import fill, move, put_orders, unfilled, values


@pytest.fixture
def shops(db: vk.Database) -> vk.Database:
    put_orders(db, (1, "a", 5), (2, "b", 7))
    db.execute("CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop")
    return db


def test_every_read_is_as_of_when_it_was_made(shops: vk.Database) -> None:
    with shops.snapshot() as then:
        put_orders(shops, (1, "a", 50), (3, "c", 1))
        shops.delete("Orders", 2)
        move(shops)
        assert then.get("Sums", "a") == {"shop": "a", "total": 5}
        assert then.get("Sums", "c") is None
        assert values(then.scan("Sums")) == [("a", 5), ("b", 7)]
        assert values(then.scan("Sums", reverse=True, limit=1)) == [("b", 7)]
        assert values(then.query("SELECT total FROM Sums WHERE shop = :shop", shop="b")) == [(7,)]
        assert [row["cost"] for row in then.scan("Orders")] == [5, 7]
        assert then.scan("Sums").meta.position == then.position
    assert values(shops.scan("Sums")) == [("a", 50), ("c", 1)]


def test_a_view_may_stand_before_its_snapshot(shops: vk.Database) -> None:
    stood = shops.head()
    put_orders(shops, (1, "a", 50))
    then = shops.snapshot()
    move(shops)
    assert (then.position, then.scan("Sums").meta.position) == (shops.head(), stood)
    assert then.get("Sums", "a") == {"shop": "a", "total": 5}
    assert then.get("Orders", 1)["cost"] == 50  # type: ignore[index]


def test_views_of_one_group_stand_together(shops: vk.Database) -> None:
    shops.execute("CREATE MATERIALIZED VIEW Large AS SELECT shop FROM Sums WHERE total > 10")
    then = shops.snapshot()
    put_orders(shops, (1, "a", 50))
    move(shops)
    assert (values(then.scan("Large")), values(then.scan("Sums"))) == ([], [("a", 5), ("b", 7)])
    assert values(shops.snapshot().scan("Large")) == [("a",)]


def test_a_view_that_was_not_filled_is_not_there(shops: vk.Database) -> None:
    with unfilled():
        shops.execute("CREATE INDEX ByCost ON Orders (cost)")
    then = shops.snapshot()
    with pytest.raises(vk.ViewNotReady, match='view "ByCost" has not been filled yet'):
        then.scan("ByCost")
    fill(shops, "ByCost")
    with pytest.raises(vk.ViewNotReady, match="when the snapshot was made") as caught:
        then.scan("ByCost")
    assert caught.value.hint == "Make another snapshot."
    assert values(shops.snapshot().scan("ByCost")) == [(5,), (7,)]


def test_a_view_made_after_the_snapshot_is_not_in_it(shops: vk.Database) -> None:
    then = shops.snapshot()
    shops.execute("CREATE INDEX ByCost ON Orders (cost)")
    with pytest.raises(vk.ViewNotReady, match="when the snapshot was made"):
        then.scan("ByCost")


def test_a_snapshot_of_the_past_has_no_view_that_is_past_it(shops: vk.Database) -> None:
    start = shops.head()
    put_orders(shops, (1, "a", 50))
    assert shops.snapshot(start).get("Sums", "a") == {"shop": "a", "total": 5}
    move(shops)
    past = shops.snapshot(start)
    assert past.get("Orders", 1)["cost"] == 5  # type: ignore[index]
    with pytest.raises(vk.NotRetained, match=f'view "Sums" is past position {start} already'):
        past.get("Sums", "a")
    assert shops.snapshot(shops.head()).get("Sums", "a") == {"shop": "a", "total": 50}


def test_a_view_dropped_since_is_unknown(shops: vk.Database) -> None:
    then = shops.snapshot()
    shops.execute("DROP VIEW Sums")
    with pytest.raises(vk.UnknownTable):
        then.get("Sums", "a")


def test_a_view_of_one_row_is_seen_once_when_it_has_moved_on(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW Everything AS SELECT COUNT(*) AS n FROM Orders")
    with db.snapshot() as snapshot:
        put_orders(db, (1, "a", 5))
        move(db)
        assert values(snapshot.scan("Everything")) == [(0,)]
        assert values(snapshot.scan("Everything", reverse=True, limit=1)) == [(0,)]
