"""Views inside a transaction: its own writes, not committed, are in them; what matters to them is validated."""

from __future__ import annotations

import pytest

import viewkeeper as vk
from tests.read.moving import move, put_orders, values

VIEWS = [
    "CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop",
    "CREATE MATERIALIZED VIEW Lazy MAINTAIN LAZY AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop",
    "CREATE MATERIALIZED VIEW Totals AS SELECT total, COUNT(*) AS n FROM Sums GROUP BY total",
]


@pytest.fixture
def shops(db: vk.Database) -> vk.Database:
    for text in VIEWS:
        db.execute(text)
    put_orders(db, (1, "a", 5), (2, "b", 6))
    move(db)
    return db


@pytest.mark.parametrize("moved", [False, True])
def test_a_transaction_sees_its_own_writes_in_views(shops: vk.Database, moved: bool) -> None:
    put_orders(shops, (3, "a", 1))
    with shops.transaction() as tx:
        put_orders(shops, (9, "z", 9))
        if moved:
            move(shops)
        assert tx.get("Sums", "a") == {"shop": "a", "total": 6}
        tx.put("Orders", {"id": 1, "cost": 10})
        tx.delete("Orders", 2)
        tx.insert("Orders", {"id": 4, "shop": "c", "cost": 11})
        tx.put("Orders", {"id": 5, "shop": "d", "cost": 11})
        tx.delete("Orders", 5)
        for name in ("Sums", "Lazy"):
            assert tx.get(name, "a") == {"shop": "a", "total": 11}
            assert tx.get(name, "b") is None
            assert values(tx.scan(name)) == [("a", 11), ("c", 11)]
            assert values(tx.scan(name, reverse=True, limit=1)) == [("c", 11)]
        assert tx.get("Totals", 11) == {"total": 11, "n": 2}
        # Nobody else sees them.
        assert shops.get("Sums", "c", consistency="latest") is None
        tx.rollback()
    assert shops.get("Sums", "a", consistency="latest") == {"shop": "a", "total": 6}


def test_a_change_that_matters_to_what_was_read_of_a_view_is_a_conflict(shops: vk.Database) -> None:
    with pytest.raises(vk.Conflict), shops.transaction() as tx:
        assert tx.get("Sums", "a") == {"shop": "a", "total": 5}
        put_orders(shops, (3, "a", 1))
        tx.put("Orders", {"id": 7, "shop": "x", "cost": 1})


def test_a_row_that_leaves_what_was_read_of_a_view_is_a_conflict(shops: vk.Database) -> None:
    with pytest.raises(vk.Conflict), shops.transaction() as tx:
        tx.get("Sums", "a")
        put_orders(shops, (1, "b", 5))
        tx.put("Orders", {"id": 7, "shop": "x", "cost": 1})


def test_a_change_elsewhere_is_no_conflict(shops: vk.Database) -> None:
    with shops.transaction() as tx:
        assert tx.get("Sums", "a") == {"shop": "a", "total": 5}
        put_orders(shops, (3, "b", 1))
        tx.put("Orders", {"id": 7, "shop": "x", "cost": 1})
    assert shops.head() == tx.position


def test_what_was_read_through_another_view_or_whole_conflicts_with_every_change(shops: vk.Database) -> None:
    for read in (lambda tx: tx.get("Totals", 5), lambda tx: tx.scan("Sums").all()):
        with pytest.raises(vk.Conflict), shops.transaction() as tx:
            read(tx)
            put_orders(shops, (3, "z", shops.head().offsets[0]))
            tx.put("Orders", {"id": 7, "shop": "x", "cost": 1})
