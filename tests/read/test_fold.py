"""A lagging view that is asked for more: unaffected, folded, committed for the next reader, or left to the pipeline."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import viewkeeper as vk
from tests.read.moving import move, put_orders, store_of, values
from viewkeeper.read import exactly, folding, freeride, pending, readnotes, serving
from viewkeeper.read.background import background
from viewkeeper.store.interface import Store
from viewkeeper.views.bound import BoundViews, bound_views

SUMS = "CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total, COUNT(*) AS n FROM Orders GROUP BY shop"
BIG = "CREATE MATERIALIZED VIEW Big KEY (shop, cost DESC) AS SELECT id, shop, cost FROM Orders WHERE cost >= 10"


@pytest.fixture
def shops(db: vk.Database) -> vk.Database:
    put_orders(db, (1, "a", 5), (2, "b", 20), (3, "c", 30))
    db.execute(SUMS)
    db.execute(BIG)
    return db


@pytest.fixture
def uncommitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No fold is committed."""
    monkeypatch.setattr(freeride, "LATER", -1)


def watermarks(db: vk.Database) -> dict[str, vk.Position | None]:
    return {one.view: one.watermark for one in db.status()}


def test_latest_folds_what_is_pending(shops: vk.Database) -> None:
    position = put_orders(shops, (4, "a", 7))
    row, meta = shops.get("Sums", "a", consistency="latest", with_meta=True)
    assert row == {"shop": "a", "total": 12, "n": 2}
    assert (meta.path, meta.position, meta.operations) == ("folded", position, 1)
    assert meta.folded_changes == 1
    assert meta.fold_ms > 0


def test_a_cheap_fold_is_committed_and_the_next_read_is_free(shops: vk.Database) -> None:
    position = put_orders(shops, (4, "a", 7))
    meta = shops.get("Sums", "a", consistency="latest", with_meta=True)[1]
    assert meta.moved == ("Sums",)
    assert watermarks(shops)["Sums"] == position
    row, meta = shops.get("Sums", "a", consistency="latest", with_meta=True)
    assert (row, meta.path, meta.moved) == ({"shop": "a", "total": 12, "n": 2}, "view", ())


def test_pending_changes_elsewhere_leave_a_read_unaffected(shops: vk.Database) -> None:
    stood = watermarks(shops)["Sums"]
    position = put_orders(shops, (4, "a", 7))
    row, meta = shops.get("Sums", "b", consistency="latest", with_meta=True)
    assert row == {"shop": "b", "total": 20, "n": 1}
    assert (meta.path, meta.position, meta.moved) == ("unaffected", position, ())
    rows = shops.scan("Big", prefix=("c",), consistency="latest")
    assert (values(rows), rows.meta.path) == ([(3, "c", 30)], "unaffected")
    assert watermarks(shops)["Sums"] == stood


def test_a_row_that_moves_out_of_or_into_a_range_affects_it(shops: vk.Database) -> None:
    put_orders(shops, (2, "c", 40))
    assert values(shops.scan("Big", prefix=("b",), consistency="latest")) == []
    assert values(shops.scan("Big", prefix=("c",), consistency="latest")) == [(2, "c", 40), (3, "c", 30)]


@pytest.mark.usefixtures("uncommitted")
def test_a_folded_scan_has_bounds_limit_and_both_directions(shops: vk.Database) -> None:
    put_orders(shops, (4, "b", 25), (5, "b", 15), (6, "b", 10), (3, "c", 1), (7, "d", 50))
    whole = [(4, "b", 25), (2, "b", 20), (5, "b", 15), (6, "b", 10), (7, "d", 50)]

    def scan(**bounds: Any) -> list[tuple[Any, ...]]:
        return values(shops.scan("Big", consistency="latest", **bounds))

    assert scan() == whole
    assert scan(reverse=True) == whole[::-1]
    for limit in range(6):
        assert scan(limit=limit) == whole[:limit]
        assert scan(limit=limit, reverse=True) == whole[::-1][:limit]
    assert scan(prefix=("b",), lower=20, upper=10) == [(2, "b", 20), (5, "b", 15)]
    assert scan(prefix=("b",), reverse=True, limit=2) == [(6, "b", 10), (5, "b", 15)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.usefixtures("uncommitted")
def test_a_long_folded_scan_is_in_order(shops: vk.Database, reverse: bool) -> None:
    put_orders(shops, *((number, "d", 1000 - number) for number in range(100, 800, 2)))
    move(shops)
    put_orders(shops, *((number, "d", 1000 - number) for number in range(101, 800, 50)), (400, "d", 1), (600, "e", 1))
    rows = values(shops.scan("Big", prefix=("d",), reverse=reverse, consistency="latest"))
    ids = sorted({*range(100, 800, 2), *range(101, 800, 50)} - {400, 600}, reverse=reverse)
    assert [row[0] for row in rows] == ids


@pytest.mark.usefixtures("uncommitted")
def test_a_limit_is_filled_from_behind_what_a_fold_takes_away(shops: vk.Database) -> None:
    put_orders(shops, *((number, "b", 100 - number) for number in range(10, 20)))
    move(shops)
    with shops.transaction() as tx:
        for number in range(10, 15):
            tx.delete("Orders", number)
    rows = shops.scan("Big", prefix=("b",), limit=2, consistency="latest")
    assert (values(rows), rows.meta.path) == ([(15, "b", 85), (16, "b", 84)], "folded")


@pytest.mark.usefixtures("uncommitted", "weighted_views")
def test_a_folded_row_is_there_as_often_as_it_weighs(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW Shops AS SELECT shop FROM Orders")
    put_orders(db, (1, "a", 1), (2, "a", 1), (3, "b", 1))
    move(db)
    put_orders(db, (4, "a", 1), (3, "c", 1))
    assert values(db.scan("Shops", consistency="latest")) == [("a",), ("a",), ("a",), ("c",)]
    assert values(db.scan("Shops", consistency="latest", limit=2)) == [("a",), ("a",)]
    assert values(db.scan("Shops", consistency="latest", limit=2, reverse=True)) == [("c",), ("a",)]


@pytest.mark.usefixtures("uncommitted")
def test_a_query_by_several_keys_folds_them_all(shops: vk.Database) -> None:
    put_orders(shops, (4, "a", 7), (5, "c", 1), (6, "b", 2))
    rows = shops.query("SELECT shop, total FROM Sums WHERE shop IN ('a', 'b')", consistency="latest")
    assert (values(rows), rows.meta.path, rows.meta.folded_changes) == ([("a", 12), ("b", 22)], "folded", 2)
    assert rows.meta.operations == 2


def test_readers_do_not_commit_into_a_claimed_group(shops: vk.Database) -> None:
    stood = watermarks(shops)
    store = store_of(shops)
    group = store.view_tables.group_of(shops._store.catalog().known_view("Sums").id)
    assert group is not None
    assert store.view_tables.claim(group, "somebody", 60)
    put_orders(shops, (4, "a", 7))
    row, meta = shops.get("Sums", "a", consistency="latest", with_meta=True)
    assert (row, meta.path, meta.moved) == ({"shop": "a", "total": 12, "n": 2}, "folded", ())
    assert watermarks(shops) == stood


def test_a_group_that_moves_while_a_read_folds_it_counts_every_change_once(
    shops: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def moved_before(*given: Any) -> Any:
        move(shops)
        put_orders(shops, (5, "a", 100))
        return freeride.free_ride(*given)

    put_orders(shops, (4, "a", 7))
    with monkeypatch.context() as patched:
        patched.setattr(serving, "free_ride", moved_before)
        row, meta = shops.get("Sums", "a", consistency="latest", with_meta=True)
    assert (row, meta.moved) == ({"shop": "a", "total": 12, "n": 2}, ())
    move(shops)
    assert shops.get("Sums", "a") == {"shop": "a", "total": 112, "n": 3}


def test_readers_just_above_the_watermark_do_not_outrun_a_long_batch(
    shops: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "AHEAD", 0)
    monkeypatch.setattr(freeride, "LATER", 4)
    stood = watermarks(shops)
    first = put_orders(shops, (4, "a", 7))
    put_orders(shops, *((number, "d", 1) for number in range(10, 20)))
    row, meta = shops.get("Sums", "a", consistency=vk.at_least(first), with_meta=True)
    assert (row, meta.position, meta.moved) == ({"shop": "a", "total": 12, "n": 2}, first, ())
    assert watermarks(shops) == stood


def test_a_reader_does_not_wait_for_the_lock_of_an_apply(shops: vk.Database) -> None:
    put_orders(shops, (4, "a", 7))
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with shops._shared.views.begin(write=True):
            held.set()
            done.wait(20)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(20)
    try:
        for _ in range(3):
            row, meta = shops.get("Sums", "a", consistency="latest", with_meta=True)
            assert (row, meta.path, meta.moved) == ({"shop": "a", "total": 12, "n": 2}, "folded", ())
            assert meta.fold_ms < 5000
    finally:
        done.set()
        holder.join()
    background(shops._shared).drain()
    assert shops.get("Sums", "a") == {"shop": "a", "total": 12, "n": 2}


def test_a_view_that_is_replaced_just_before_a_fold_was_dropped(
    shops: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_orders(shops, (4, "a", 7))

    def replaced_before(store: Store) -> BoundViews:
        monkeypatch.undo()
        shops.execute(SUMS.replace("CREATE", "CREATE OR REPLACE"))
        return bound_views(store)

    with shops.snapshot() as snapshot:
        monkeypatch.setattr(exactly, "bound_views", replaced_before)
        with pytest.raises(vk.TableDropped, match='view "Sums" was dropped, replaced or moved while it was read'):
            snapshot.get("Sums", "a", consistency="latest")


def test_a_read_only_handle_folds_and_commits_nothing(shops: vk.Database, tmp_path: Path) -> None:
    stood = watermarks(shops)
    put_orders(shops, (4, "a", 7))
    with vk.open(tmp_path / "db", read_only=True) as reader:
        row, meta = reader.get("Sums", "a", consistency="latest", with_meta=True)
        assert (row, meta.path, meta.moved) == ({"shop": "a", "total": 12, "n": 2}, "folded", ())
        assert reader.get("Sums", "a") == {"shop": "a", "total": 12, "n": 2}
    assert watermarks(shops) == stood


@pytest.mark.usefixtures("uncommitted")
def test_views_on_views_of_other_groups_are_folded_together(db: vk.Database) -> None:
    db.execute(SUMS)
    db.execute(
        "CREATE MATERIALIZED VIEW Sizes MAINTAIN EVERY 1 HOUR AS SELECT n, COUNT(*) AS shops FROM Sums GROUP BY n"
    )
    put_orders(db, (1, "a", 5), (2, "b", 5), (3, "b", 5))
    move(db, settle=False)
    assert len(db._shared.view_tables.groups()) == 2
    put_orders(db, (4, "a", 7), (5, "c", 1))
    lower = min(db._shared.view_tables.groups())
    rows = db.scan("Sizes", consistency="latest")
    assert (values(rows), rows.meta.path) == ([(1, 1), (2, 2)], "folded")
    # The lower one alone has moved on.
    from viewkeeper.views.batch import Timing, batch_by_rows
    from viewkeeper.views.bound import bound_views

    store = store_of(db)
    state = store.view_tables.groups()[lower]
    head = store.offset(db.head())
    store.view_tables.apply(batch_by_rows(store, bound_views(store), lower, state, head, Timing()))
    position = put_orders(db, (6, "c", 1))
    rows = db.scan("Sizes", consistency="latest")
    assert (values(rows), rows.meta.path, rows.meta.position) == ([(2, 3)], "folded", position)


def test_a_join_is_unaffected_by_changes_of_rows_with_other_keys(db: vk.Database) -> None:
    db.execute("CREATE TABLE Shops (shop STRING PRIMARY KEY, town STRING)")
    db.execute(
        "CREATE MATERIALIZED VIEW Towns KEY (shop) AS "
        "SELECT o.shop, o.id, s.town FROM Orders o JOIN Shops s ON o.shop = s.shop"
    )
    db.put("Shops", {"shop": "a", "town": "Ulm"})
    db.put("Shops", {"shop": "b", "town": "Bonn"})
    put_orders(db, (1, "a", 5), (2, "b", 5))
    move(db)
    db.put("Shops", {"shop": "a", "town": "Kiel"})
    put_orders(db, (3, "a", 5))
    rows = db.scan("Towns", prefix=("b",), consistency="latest")
    assert (values(rows), rows.meta.path) == ([("b", 2, "Bonn")], "unaffected")
    rows = db.scan("Towns", prefix=("a",), consistency="latest")
    assert (values(rows), rows.meta.path) == ([("a", 1, "Kiel"), ("a", 3, "Kiel")], "folded")


@pytest.mark.parametrize(
    ("table", "change", "shown"),
    [
        ("Orders", {"id": 2, "shop": "a"}, [("b", 4, "Bonn")]),
        ("Orders", {"id": 1, "shop": "b"}, [("b", 1, "Bonn"), ("b", 2, "Bonn"), ("b", 4, "Bonn")]),
        ("Shops", {"shop": "b", "town": "Kiel"}, [("b", 2, "Kiel"), ("b", 4, "Kiel")]),
    ],
    ids=["leaves", "comes", "other side"],
)
@pytest.mark.usefixtures("uncommitted")
def test_a_join_is_affected_by_rows_of_any_side_that_leave_come_or_change(
    db: vk.Database, table: str, change: dict[str, Any], shown: list[Any]
) -> None:
    db.execute("CREATE TABLE Shops (shop STRING PRIMARY KEY, town STRING)")
    db.execute(
        "CREATE MATERIALIZED VIEW Towns KEY (shop) AS "
        "SELECT o.shop, o.id, s.town FROM Orders o JOIN Shops s ON o.shop = s.shop"
    )
    db.put("Shops", {"shop": "a", "town": "Ulm"})
    db.put("Shops", {"shop": "b", "town": "Bonn"})
    put_orders(db, (1, "a", 5), (2, "b", 5), (4, "b", 5))
    move(db)
    db.put(table, change)
    rows = db.scan("Towns", prefix=("b",), consistency="latest")
    assert (values(rows), rows.meta.path) == (shown, "folded")


@pytest.mark.usefixtures("uncommitted")
def test_a_change_between_that_is_undone_again_is_no_change(shops: vk.Database) -> None:
    put_orders(shops, (1, "a", 6))
    put_orders(shops, (1, "a", 5))
    row, meta = shops.get("Sums", "a", consistency="latest", with_meta=True)
    assert (row, meta.path) == ({"shop": "a", "total": 5, "n": 1}, "unaffected")
    # A view that takes in the first of both alone would go back in time.
    move(shops, vk.Position.parse(str(meta.position).replace(f"@{meta.position.offsets[0]}", "@4")))
    assert shops.get("Sums", "a", consistency="any") == {"shop": "a", "total": 5, "n": 1}


@pytest.mark.usefixtures("uncommitted")
def test_a_view_with_epochs_is_folded_by_the_clock_of_the_log(db: vk.Database) -> None:
    db.execute("CREATE TABLE Clicks (id BIGINT PRIMARY KEY, at TIMESTAMP)")
    db.execute(
        "CREATE MATERIALIZED VIEW Hours AS SELECT WINDOW(at, '1 hour') AS began, COUNT(*) AS n FROM Clicks "
        "GROUP BY WINDOW(at, '1 hour') RETAIN '2 hours'"
    )
    import datetime as dt

    now = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    db.put("Clicks", {"id": 1, "at": now})
    db.put("Clicks", {"id": 2, "at": now - dt.timedelta(hours=9)})
    rows = db.scan("Hours", consistency="latest").all()
    assert [row["n"] for row in rows] == [1]


def test_folds_are_noted(shops: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readnotes, "EVERY", 0.0)
    view = shops._store.catalog().known_view("Sums")
    for number in range(3):
        put_orders(shops, (10 + number, "a", 1))
        shops.get("Sums", "a", consistency="latest")
    readnotes.finish_notes(shops._shared)
    note = shops._shared.view_tables.notes()[view.id]
    assert (note.folds, note.folded_at > 0, note.fold_ms > 0) == (3, True, True)


def test_more_than_a_read_takes_upon_itself_is_refused_at_once_without_a_maintainer(shops: vk.Database) -> None:
    position = put_orders(shops, (4, "a", 7), (5, "a", 8))
    for limit in (patch.object(pending, "LOOK", 1), patch.object(folding, "MATTER", 0)):
        with limit, pytest.raises(vk.ViewBehind) as caught:
            shops.get("Sums", "a", consistency="latest")
        assert caught.value.message == f'view "Sums" is 2 changes behind position {position}, and no maintainer runs'
        for way in ("db.maintain()", "viewkeeper maintain", "bring_up=True"):
            assert way in caught.value.hint


def test_a_reader_that_may_brings_the_view_up_itself(shops: vk.Database) -> None:
    position = put_orders(shops, (4, "a", 7), (5, "a", 8))
    with patch.object(pending, "LOOK", 1):
        row, meta = shops.get("Sums", "a", consistency="latest", bring_up=True, with_meta=True)
    assert (row, meta.path, meta.position) == ({"shop": "a", "total": 20, "n": 3}, "pipeline", position)
    assert meta.waited_ms > 0


def test_a_maintainer_that_runs_is_asked_and_waited_for(shops: vk.Database) -> None:
    store = store_of(shops)
    position = put_orders(shops, (4, "a", 7), (5, "a", 8))
    store.view_tables.beat("somebody", 60)
    view = shops._store.catalog().known_view("Sums")
    asked: list[Any] = []

    def maintain() -> None:
        while not asked:
            asked.extend(request for number, request in store.view_tables.asked().items() if number == view.id)
        move(shops)

    with patch.object(pending, "LOOK", 1):
        maintainer = threading.Thread(target=maintain)
        maintainer.start()
        row, meta = shops.get("Sums", "a", consistency="latest", with_meta=True)
        maintainer.join()
    assert (row, meta.path, meta.position) == ({"shop": "a", "total": 20, "n": 3}, "pipeline", position)
    assert asked[0].upto == store.offset(position)
    assert asked[0].priority > 0


def test_a_maintainer_that_does_not_come_so_far_in_time_is_told(shops: vk.Database) -> None:
    stood = watermarks(shops)["Sums"]
    store_of(shops).view_tables.beat("somebody", 60)
    position = put_orders(shops, (4, "a", 7), (5, "a", 8))
    with patch.object(pending, "LOOK", 1), pytest.raises(vk.ViewBehind) as caught:
        shops.get("Sums", "a", consistency=vk.at_least(position), timeout=0.05)
    assert caught.value.message == f'view "Sums" did not reach position {position} within 0.05 s'
    assert caught.value.detail == f"It stands at {stood}, 2 changes before that, and has not moved meanwhile."
