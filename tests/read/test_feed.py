"""The change feed of a view: each batch once, whole, as readers see it."""

from __future__ import annotations

import threading
import time
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

import viewkeeper as vk
from tests.read.moving import fill, move, put_orders, store_of, unfilled, values
from viewkeeper.store.viewrepair import Repair


@pytest.fixture
def shops(db: vk.Database) -> vk.Database:
    db.execute("CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop")
    return db


def pairs(db: vk.Database, name: str, since: vk.Position) -> list[tuple[Any, Any]]:
    def shown(row: dict[str, Any] | None) -> Any:
        return None if row is None else tuple(row.values())

    return [(shown(change.before), shown(change.after)) for change in db.changes(name, since=since)]


def test_a_change_has_the_row_before_and_after(shops: vk.Database) -> None:
    start = shops.head()
    put_orders(shops, (1, "a", 5))
    move(shops)
    put_orders(shops, (2, "a", 6))
    move(shops)
    shops.delete("Orders", 1)
    shops.delete("Orders", 2)
    move(shops)
    assert pairs(shops, "Sums", start) == [(None, ("a", 5)), (("a", 5), ("a", 11)), (("a", 11), None)]


def test_a_change_tells_view_key_batch_and_time(shops: vk.Database) -> None:
    start, begun = shops.head(), datetime.now(UTC)
    put_orders(shops, (1, "a", 5))
    reached = put_orders(shops, (2, "b", 6))
    move(shops)
    found = list(shops.changes("sums", since=start))
    assert [(change.table, change.key, change.position) for change in found] == [
        ("Sums", ("a",), reached),
        ("Sums", ("b",), reached),
    ]
    assert {change.committed_at for change in found} == {
        change.committed_at for change in shops.changes("Orders", since=start) if change.position == reached
    }
    assert found[0].committed_at >= begun.replace(microsecond=0)


def test_the_feed_goes_on_behind_any_batch(shops: vk.Database) -> None:
    start = shops.head()
    reached = []
    for number in range(100):
        reached.append(put_orders(shops, (number, f"s{number}", 1), (1000 + number, f"t{number}", 1)))
        move(shops)
    whole = list(shops.changes("Sums", since=start))
    assert len(whole) == 200
    for number, position in enumerate(reached):
        assert list(shops.changes("Sums", since=position)) == whole[2 * number + 2 :]


def test_what_hides_from_readers_is_no_change(shops: vk.Database) -> None:
    """SUM is kept with a hidden count, which moves where the sum does not."""
    put_orders(shops, (1, "a", 5))
    move(shops)
    start = shops.head()
    put_orders(shops, (2, "a", 0))
    move(shops)
    assert pairs(shops, "Sums", start) == []
    put_orders(shops, (2, "a", 1))
    move(shops)
    assert pairs(shops, "Sums", start) == [(("a", 5), ("a", 6))]


def test_nan_that_stays_is_no_change(db: vk.Database) -> None:
    db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, g INT, x DOUBLE)")
    db.execute("CREATE MATERIALIZED VIEW Maxima AS SELECT g, MAX(x) AS x FROM T GROUP BY g")
    db.put("T", {"id": 1, "g": 1, "x": float("nan")})
    move(db)
    start = db.head()
    db.put("T", {"id": 2, "g": 1, "x": 3.0})
    move(db)
    assert pairs(db, "Maxima", start) == []


def test_an_index_entry_that_moves_leaves_and_comes(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByCost ON Orders (cost DESC) INCLUDE (shop)")
    put_orders(db, (1, "a", 5))
    move(db)
    start = db.head()
    put_orders(db, (1, "a", 6))
    move(db)
    assert set(pairs(db, "ByCost", start)) == {((5, "a"), None), (None, (6, "a"))}
    put_orders(db, (1, "b", 6))
    move(db)
    (last,) = [change for change in db.changes("ByCost", since=start) if change.before and change.after]
    assert (last.key, last.before, last.after) == ((6,), {"cost": 6, "shop": "a"}, {"cost": 6, "shop": "b"})


def test_a_row_that_weighs_more_comes_as_often(db: vk.Database, weighted_views: None) -> None:
    db.execute("CREATE MATERIALIZED VIEW Bag AS SELECT shop FROM Orders")
    start = db.head()
    put_orders(db, (1, "a", 1), (2, "a", 1), (3, "b", 1))
    move(db)
    assert Counter(pairs(db, "Bag", start)) == {(None, ("a",)): 2, (None, ("b",)): 1}
    middle = db.head()
    with db.transaction() as tx:
        tx.delete("Orders", 1)
        tx.delete("Orders", 2)
        tx.put("Orders", {"id": 4, "shop": "b"})
    move(db)
    assert Counter(pairs(db, "Bag", middle)) == {(("a",), None): 2, (None, ("b",)): 1}


def test_following_gives_what_is_applied_later(shops: vk.Database) -> None:
    feed = shops.changes("Sums", since=shops.head(), follow=True)
    for number in range(3):
        timer = threading.Timer(0.05, lambda number=number: (put_orders(shops, (number, "a", 1)), move(shops)))
        timer.start()
        change = next(feed)
        timer.join()
        assert change.after == {"shop": "a", "total": number + 1}
    shops.execute("DROP VIEW Sums")
    with pytest.raises(vk.TableDropped, match='view "Sums" was dropped, replaced or moved'):
        next(feed)


def test_following_goes_on_where_the_view_has_stood_still_while_the_log_was_truncated(shops: vk.Database) -> None:
    shops.execute("CREATE TABLE Other (id BIGINT PRIMARY KEY)")
    feed = shops.changes("Sums", since=shops.head(), follow=True)
    found: list[vk.Change] = []
    reader = threading.Thread(target=lambda: found.append(next(feed)))
    reader.start()
    for number in range(3):
        shops.put("Other", {"id": number})
    move(shops)
    time.sleep(0.2)
    shops.configure(log_retention="0s")
    store: Any = store_of(shops)
    store.clean()
    put_orders(shops, (1, "a", 5))
    move(shops)
    reader.join(timeout=20)
    assert [change.after for change in found] == [{"shop": "a", "total": 5}]


def test_a_view_that_stood_still_at_first_has_its_feed_from_where_it_was_filled(shops: vk.Database) -> None:
    start = shops.head()
    shops.execute("CREATE TABLE Other (id BIGINT PRIMARY KEY)")
    shops.put("Other", {"id": 1})
    move(shops)
    put_orders(shops, (1, "a", 5))
    move(shops)
    assert pairs(shops, "Sums", start) == [(None, ("a", 5))]


def test_following_tells_of_a_repair_once_and_in_its_place(shops: vk.Database) -> None:
    start = shops.head()
    put_orders(shops, (1, "a", 5))
    move(shops)
    feed = shops.changes("Sums", since=start, follow=True)
    assert next(feed).after == {"shop": "a", "total": 5}
    for total in (6, 7):
        repair(shops, total - 1, total)
        mended = next(feed)
        assert (mended.before, mended.after) == ({"shop": "a", "total": total - 1}, {"shop": "a", "total": total})
        assert mended.position == shops.head()
    put_orders(shops, (2, "b", 1))
    move(shops)
    assert next(feed).after == {"shop": "b", "total": 1}
    assert [change.after for change in shops.changes("Sums", since=start)] == [
        *({"shop": "a", "total": total} for total in (5, 6, 7)),
        {"shop": "b", "total": 1},
    ]


def repair(db: vk.Database, told: int, total: int) -> None:
    """Say that the sum of shop a, of which the feed told one thing, is another."""
    views: Any = store_of(db).view_tables
    (view,) = db.views()
    codec = store_of(db).catalog().view_codecs[view.id]
    value = views.get_row(view.id, codec.key.encode_key(("a",)))
    row = codec.decode(value)
    ((group, state),) = views.groups().items()
    views.claim(group, "me", 30)
    changes = [(codec.encode((row[0], told, *row[2:])), codec.encode((row[0], total, *row[2:])))]
    mended = Repair(
        group=group,
        generation=state.generation,
        watermark=state.watermark,
        holder="me",
        rows=[],
        told={view.id: (codec, changes)},
    )
    views.repair(mended)
    views.release(group, "me")


def test_a_copy_that_follows_the_feed_equals_the_view(shops: vk.Database) -> None:
    put_orders(shops, (1, "a", 5), (2, "b", 6))
    move(shops)
    rows = shops.scan("Sums")
    copy = {row["shop"]: row["total"] for row in rows}
    for step in range(30):
        put_orders(shops, (step % 5, "abc"[step % 3], step))
        if step % 4 == 0:
            shops.delete("Orders", (step + 1) % 5)
        if step % 3 == 0:
            move(shops)
    for change in shops.changes("Sums", since=rows.meta.position):
        assert copy.pop(change.key[0], None) == (change.before and change.before["total"])
        if change.after:
            copy[change.key[0]] = change.after["total"]
    assert sorted(copy.items()) == values(shops.scan("Sums"))


def test_the_feed_begins_where_the_view_was_filled(db: vk.Database) -> None:
    before = put_orders(db, (1, "a", 5))
    filled = put_orders(db, (2, "b", 6))
    db.execute("CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop")
    assert db.oldest("Sums") == filled
    with pytest.raises(vk.NotRetained) as caught:
        db.changes("Sums", since=before)
    assert caught.value.detail == f"Its feed begins at {filled}."
    assert list(db.changes("Sums", since=filled)) == []
    put_orders(db, (3, "a", 1))
    move(db)
    assert pairs(db, "Sums", filled) == [(("a", 5), ("a", 6))]
    with pytest.raises(vk.NotRetained):
        db.changes("Sums", since=before)


def test_what_is_truncated_is_not_retained(shops: vk.Database) -> None:
    start = shops.head()
    first = put_orders(shops, (1, "a", 5))
    move(shops)
    second = put_orders(shops, (1, "a", 6))
    move(shops)
    put_orders(shops, (1, "a", 7))
    move(shops)
    shops.configure(log_retention="0s")
    store: Any = store_of(shops)
    store.clean()
    store.view_tables.truncate_feeds(store.offset(second), 1 << 62, 100)
    assert shops.oldest("Sums") == second
    for position in (start, first):
        with pytest.raises(vk.NotRetained):
            shops.changes("Sums", since=position)
    assert pairs(shops, "Sums", second) == [(("a", 6), ("a", 7))]


def test_a_slow_reader_that_was_overtaken_is_told(shops: vk.Database) -> None:
    feed = shops.changes("Sums", since=shops.head())
    for number in range(200):
        put_orders(shops, (1, "a", number))
        move(shops)
    next(feed)
    shops.configure(log_retention="0s")
    store: Any = store_of(shops)
    store.clean()
    store.view_tables.truncate_feeds(store.offset(shops.head()), 1 << 62, 1000)
    with pytest.raises(vk.NotRetained):
        list(feed)


def test_a_view_that_is_not_filled_has_no_feed(shops: vk.Database) -> None:
    with unfilled():
        shops.execute("CREATE INDEX ByCost ON Orders (cost)")
    with pytest.raises(vk.ViewNotReady, match='view "ByCost"'):
        shops.changes("ByCost", since=shops.head())
    fill(shops, "ByCost")
    assert list(shops.changes("ByCost", since=shops.head())) == []


def test_positions_that_cannot_be_are_refused(shops: vk.Database) -> None:
    with pytest.raises(vk.FuturePosition):
        shops.changes("Sums", since=vk.Position.parse(str(shops.head()).replace("@0", "@9")))
    with pytest.raises(vk.ForeignPosition):
        shops.changes("Sums", since=vk.Position.parse("0123456789ab@0"))
