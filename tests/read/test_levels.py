"""Levels besides those of test_consistency.py: lag, the mode's own, the record timeline of a handle, snapshots."""

from __future__ import annotations

import time
from typing import Any

import pytest

import viewkeeper as vk
from tests.read.moving import fill, move, put_orders, unfilled, values
from viewkeeper.read import freeride

SUMS = "CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop"
LAZY = "CREATE MATERIALIZED VIEW Lazy MAINTAIN LAZY AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop"


@pytest.fixture
def shops(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> vk.Database:
    """Reads that commit no fold."""
    monkeypatch.setattr(freeride, "LATER", -1)
    db.execute(SUMS)
    put_orders(db, (1, "a", 5), (2, "b", 6))
    move(db)
    return db


READS: list[Any] = [
    lambda db, **asked: [db.get("Sums", "a", **asked)],
    lambda db, **asked: db.scan("Sums", prefix=("a",), **asked).all(),
    lambda db, **asked: db.query("SELECT * FROM Sums WHERE shop = :shop", shop="a", **asked).all(),
]
each_read = pytest.mark.parametrize("read", READS, ids=["get", "scan", "query"])
OLD, NEW = [{"shop": "a", "total": 5}], [{"shop": "a", "total": 9}]


@each_read
def test_a_view_within_the_lag_is_read_as_it_is_and_brought_up_beyond_it(shops: vk.Database, read: Any) -> None:
    put_orders(shops, (1, "a", 9))
    assert read(shops, consistency=vk.max_lag("1h")) == OLD
    time.sleep(0.03)
    assert read(shops, consistency=vk.max_lag("20 ms")) == NEW


@each_read
def test_a_view_beyond_the_lag_fails_if_so_asked(shops: vk.Database, read: Any) -> None:
    assert read(shops, consistency=vk.max_lag("0ms", or_fail=True)) == OLD
    put_orders(shops, (1, "a", 9))
    assert read(shops, consistency=vk.max_lag("1h", or_fail=True)) == OLD
    time.sleep(0.03)
    with pytest.raises(vk.ViewBehind) as caught:
        read(shops, consistency=vk.max_lag("10ms", or_fail=True))
    assert "lags behind by" in caught.value.message
    assert "1 change before the head" in caught.value.detail


@pytest.mark.parametrize("duration", ["soon", "", 5, None, "-1s"])
def test_what_is_no_duration_is_refused(duration: Any) -> None:
    with pytest.raises(vk.WrongType):
        vk.max_lag(duration)


def test_the_default_is_that_of_the_mode(shops: vk.Database) -> None:
    shops.execute(LAZY)
    put_orders(shops, (1, "a", 9))
    assert shops.get("Sums", "a") == OLD[0]
    assert shops.get("Lazy", "a") == NEW[0]
    assert shops.scan("Lazy", prefix=("a",)).all() == NEW
    assert shops.query("SELECT * FROM Lazy WHERE shop = 'a'").all() == NEW
    row, meta = shops.get("Lazy", "b", with_meta=True)
    assert (row, meta.path) == ({"shop": "b", "total": 6}, "unaffected")


def test_a_periodic_view_is_not_folded_but_left_to_the_pipeline(shops: vk.Database) -> None:
    shops.execute(LAZY.replace("Lazy MAINTAIN LAZY", "Hourly MAINTAIN PERIODIC 1 HOUR"))
    put_orders(shops, (1, "a", 9))
    assert shops.get("Hourly", "a") == OLD[0]
    with pytest.raises(vk.ViewBehind, match="no maintainer runs") as caught:
        shops.get("Hourly", "a", consistency="latest")
    assert "computed anew" in caught.value.detail
    with shops.transaction() as tx:
        tx.put("Orders", {"id": 1, "cost": 50})
        assert tx.get("Hourly", "a") == OLD[0]


def test_a_lazy_view_is_read_as_it_is_if_so_asked(shops: vk.Database) -> None:
    shops.execute(LAZY)
    put_orders(shops, (1, "a", 9))
    assert shops.get("Lazy", "a", consistency="any") == OLD[0]


@pytest.mark.parametrize("later", READS, ids=["get", "scan", "query"])
@each_read
def test_what_was_seen_ahead_of_the_view_is_seen_from_then_on(shops: vk.Database, read: Any, later: Any) -> None:
    put_orders(shops, (1, "a", 9))
    assert later(shops, consistency="any") == OLD
    assert read(shops, consistency="latest") == NEW
    for level in ("any", None, vk.max_lag("1h")):
        assert later(shops, consistency=level) == NEW
    with shops.snapshot() as snapshot:
        assert snapshot.get("Sums", "a") == NEW[0]


def test_the_timeline_of_a_handle_ends_where_the_view_has_come(shops: vk.Database) -> None:
    put_orders(shops, (1, "a", 9))
    assert shops.get("Sums", "a", consistency="latest") == NEW[0]
    assert shops._reads.floors
    move(shops)
    put_orders(shops, (1, "a", 12))
    row, meta = shops.get("Sums", "a", with_meta=True)
    assert (row, meta.path) == (NEW[0], "view")
    assert not shops._reads.floors


def test_the_timeline_of_a_handle_goes_on_in_what_takes_the_place_of_a_view(shops: vk.Database) -> None:
    stood = shops.head()
    put_orders(shops, (1, "a", 9))
    with unfilled():
        shops.execute(SUMS.replace("CREATE", "CREATE OR REPLACE").replace("SUM(cost)", "MAX(cost)"))
    assert shops.get("Sums", "a", consistency="latest") == NEW[0]
    before = shops._store.catalog().known_view("Sums").id
    fill(shops, "Sums")
    move(shops)
    assert shops._store.catalog().known_view("Sums").id != before
    assert shops.get("Sums", "a") == NEW[0]
    assert shops.head().covers(stood)


def test_another_handle_has_a_timeline_of_its_own(shops: vk.Database, tmp_path: Any) -> None:
    put_orders(shops, (1, "a", 9))
    with vk.open(tmp_path / "db") as other:
        assert other.get("Sums", "a", consistency="latest") == NEW[0]
        assert shops.get("Sums", "a") == OLD[0]
        assert other.get("Sums", "a") == NEW[0]


def test_what_was_unaffected_because_nothing_was_pending_leaves_no_trace(shops: vk.Database) -> None:
    shops.execute("CREATE TABLE Others (id BIGINT PRIMARY KEY)")
    position = shops.put("Others", {"id": 1})
    row, meta = shops.get("Sums", "a", consistency="latest", with_meta=True)
    assert (row, meta.path, meta.position) == (OLD[0], "unaffected", position)
    assert not shops._reads.floors


def test_every_read_tells_its_position(shops: vk.Database) -> None:
    stood = shops.head()
    position = put_orders(shops, (1, "a", 9))
    assert shops.get("Orders", 1, with_meta=True)[1].position == position
    assert shops.get("Sums", "a", with_meta=True)[1].position == stood
    row, meta = shops.get("Sums", "none", consistency="latest", with_meta=True)
    assert (row, meta.position, meta.rows) == (None, position, 0)


def test_a_snapshot_folds_to_its_position_and_no_further(shops: vk.Database) -> None:
    shops.execute(LAZY)
    position = put_orders(shops, (1, "a", 9))
    with shops.snapshot() as snapshot:
        put_orders(shops, (1, "a", 30), (3, "c", 1))
        # Once it was read further, it is read there: time does not go back inside a snapshot either.
        for seen in (OLD[0], NEW[0]):
            assert snapshot.get("Sums", "a") == seen
            assert snapshot.get("Lazy", "a") == NEW[0]
            row, meta = snapshot.get("Sums", "a", consistency="latest", with_meta=True)
            assert (row, meta.position, meta.path) == (NEW[0], position, "folded")
            assert snapshot.get("Sums", "a", consistency=vk.at_least(position)) == NEW[0]
            assert values(snapshot.scan("Sums", consistency="latest")) == [("a", 9), ("b", 6)]
            assert values(snapshot.query("SELECT total FROM Lazy WHERE shop = 'a'")) == [(9,)]
            # The second time the views have gone past the snapshot, and are folded backwards.
            move(shops)
        assert shops.get("Sums", "a") == {"shop": "a", "total": 30}


def test_a_snapshot_does_not_reach_beyond_itself(shops: vk.Database) -> None:
    with shops.snapshot() as snapshot:
        position = put_orders(shops, (1, "a", 9))
        with pytest.raises(vk.ViewBehind, match="does not cover"):
            snapshot.get("Sums", "a", consistency=vk.at_least(position))
        with pytest.raises(vk.WrongType):
            snapshot.get("Sums", "a", consistency=vk.max_lag("1s"))


def test_a_snapshot_of_the_past_has_views_at_its_position_if_so_asked(shops: vk.Database) -> None:
    position = put_orders(shops, (1, "a", 9))
    put_orders(shops, (1, "a", 30))
    with shops.snapshot(position) as snapshot:
        assert snapshot.get("Sums", "a", consistency="latest") == NEW[0]


def test_a_view_that_is_computed_anew_is_read_where_nothing_touches_it(shops: vk.Database) -> None:
    shops.execute(
        "CREATE VIEW Whole MAINTAIN PERIODIC 1 HOUR AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop"
    )
    shops.execute("CREATE VIEW Over AS SELECT total, COUNT(*) AS n FROM Whole GROUP BY total")
    shops.execute("CREATE TABLE Unread (id BIGINT PRIMARY KEY)")
    shops.maintain()
    rows = list(shops.scan("Over"))
    with shops.transaction() as transaction:
        assert list(transaction.scan("Over")) == rows
    shops.put("Unread", {"id": 1})
    for name in ("Whole", "Over"):
        found = shops.scan(name, consistency="latest")
        assert list(found) == list(shops.scan(name))
        assert found.meta.path == "unaffected"
    shops.put("Orders", {"id": 70, "shop": "q", "cost": 1})
    for name in ("Whole", "Over"):
        with pytest.raises(vk.ViewBehind):
            shops.scan(name, consistency="latest")
