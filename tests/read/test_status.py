"""What db.views() and db.status() tell of views."""

from __future__ import annotations

import time
from dataclasses import fields
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.read.moving import fill, move, put_orders, store_of, unfilled

SUMS = "MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop"


def only(db: vk.Database) -> vk.ViewStatus:
    (status,) = db.status()
    return status


def test_views_come_by_name_with_their_shape(db: vk.Database) -> None:
    assert (db.views(), db.status()) == ([], [])
    db.execute(f"CREATE {SUMS}")
    db.execute("CREATE INDEX byCost ON Orders (cost)")
    assert [view.name for view in db.views()] == ["byCost", "Sums"]
    assert [status.view for status in db.status()] == ["byCost", "Sums"]
    assert [status.kind for status in db.status()] == ["index", "view"]
    assert db.views()[1].column_names == ("shop", "total")


def test_the_fields_that_others_rely_on_come_first() -> None:
    first = ["view", "mode", "level", "state", "watermark", "lag_changes", "lag_ms", "rows", "errors"]
    assert [field.name for field in fields(vk.ViewStatus)][:9] == first


def test_lag_is_counted_in_changes_and_from_the_first_one_that_is_missing(db: vk.Database) -> None:
    db.execute(f"CREATE {SUMS}")
    status = only(db)
    assert (status.state, status.mode, status.level) == ("live", "DEFERRED", "SI-2")
    assert (status.watermark, status.lag_changes, status.lag_ms) == (db.head(), 0, 0.0)
    begun = time.time()
    put_orders(db, (1, "a", 5), (2, "a", 6), (3, "b", 7))
    first = time.time()
    time.sleep(0.05)
    put_orders(db, (4, "b", 7))
    status = only(db)
    assert status.lag_changes == 4
    assert (time.time() - begun) * 1000 >= status.lag_ms >= 50
    assert first >= begun
    move(db)
    status = only(db)
    assert (status.watermark, status.lag_changes, status.lag_ms, status.rows) == (db.head(), 0, 0.0, 2)


def test_lag_of_a_view_in_the_middle_of_the_log_is_that_of_the_next_transaction(db: vk.Database) -> None:
    db.execute(f"CREATE {SUMS}")
    first = put_orders(db, (1, "a", 5))
    time.sleep(0.2)
    put_orders(db, (2, "a", 6), (3, "a", 6))
    move(db, first)
    status = only(db)
    assert (status.lag_changes, status.watermark) == (2, first)
    assert 0 < status.lag_ms < 200


def test_a_view_waits_then_fills_then_lives(db: vk.Database) -> None:
    put_orders(db, (1, "a", 5), (2, "b", 6), (3, "c", 7))
    with unfilled():
        db.execute(f"CREATE {SUMS}")
    status = only(db)
    assert (status.state, status.watermark, status.lag_changes, status.rows) == ("waiting", None, 3, 0)
    assert status.lag_ms > 0
    fill(db, "Sums", steps=1)
    filled = db.head()
    put_orders(db, (4, "d", 7))
    status = only(db)
    assert (status.state, status.watermark, status.lag_changes, status.rows) == ("filling", filled, 1, 2)
    fill(db, "Sums")
    assert (only(db).state, only(db).rows) == ("live", 3)


def test_a_view_that_is_being_replaced_says_so_and_is_listed_once(db: vk.Database) -> None:
    put_orders(db, (1, "a", 5))
    db.execute(f"CREATE {SUMS}")
    with unfilled():
        db.execute(f"CREATE OR REPLACE {SUMS.replace('SUM', 'MAX')}")
    assert only(db).state == "replacing"
    assert [view.name for view in db.views()] == ["Sums"]
    assert db.get("Sums", "a") == {"shop": "a", "total": 5}
    replacement = max(store_of(db).catalog().views)
    store_of(db).view_tables.note(replacement, error="no disk")
    assert (only(db).state, only(db).error) == ("replacing", "no disk")


def test_a_failing_view_tells_its_error(db: vk.Database) -> None:
    db.execute(f"CREATE {SUMS}")
    (view,) = db.views()
    store_of(db).view_tables.note(view.id, error="the disk is full", failures=3, retry_at=5_000_000)
    status = only(db)
    assert (status.state, status.error, status.failures) == ("failing", "the disk is full", 3)
    assert str(status.retry_at) == "1970-01-01 00:00:05+00:00"


def test_the_last_batch_and_the_last_verification_are_told(db: vk.Database) -> None:
    db.execute(f"CREATE {SUMS}")
    (view,) = db.views()
    status = only(db)
    assert (status.batch_at, status.verified_at, status.verified_position, status.verified_differences) == (None,) * 4
    store_of(db).view_tables.note(
        view.id,
        batch_at=1_000_000,
        batch_changes=7,
        batch_engine="rows",
        batch_seconds={"read": 0.5},
        verified_at=2_000_000,
        verified_position=0,
        verified_differences=0,
    )
    status = only(db)
    assert (status.batch_changes, status.batch_engine, status.batch_seconds) == (7, "rows", {"read": 0.5})
    assert str(status.batch_at) == "1970-01-01 00:00:01+00:00"
    assert (status.verified_position, status.verified_differences) == (db.head(), 0)


def test_rows_count_as_often_as_they_weigh(db: vk.Database, weighted_views: None) -> None:
    db.execute("CREATE MATERIALIZED VIEW Bag AS SELECT shop FROM Orders")
    put_orders(db, (1, "a", 1), (2, "a", 1), (3, "b", 1))
    move(db)
    assert only(db).rows == 3


def test_rows_on_which_an_expression_fails_are_counted(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW Shares AS SELECT id, 100 / cost AS share FROM Orders")
    put_orders(db, (1, "a", 0), (2, "a", 5))
    move(db)
    assert only(db).errors == 1
    put_orders(db, (1, "a", 4))
    move(db)
    assert only(db).errors == 0


@pytest.mark.parametrize("read_only", [False, True])
def test_status_needs_no_right_to_write(db: vk.Database, read_only: bool) -> None:
    db.execute(f"CREATE {SUMS}")
    path = store_of(db).folder.path
    db.close()
    with vk.open(path, read_only=read_only) as again:
        assert only(again).state == "live"
        assert again.get("Sums", "a") is None


def test_a_mode_is_told_with_its_interval(db: vk.Database) -> None:
    db.execute(f"CREATE {SUMS.replace(' AS ', ' MAINTAIN EVERY 5000 MILLISECONDS AS ', 1)}")
    assert only(db).mode == "EVERY 5 SECONDS"


def test_a_lazy_view_tells_of_its_reads_its_requests_and_its_pending_task(db: vk.Database) -> None:
    db.execute(f"CREATE {SUMS.replace(' AS ', ' MAINTAIN LAZY AS ', 1)}")
    status = only(db)
    assert (status.mode, status.read_at, status.asked_upto, status.asked_by) == ("LAZY", None, None, "")
    position = put_orders(db, (1, "a", 5))
    number, store = db.views()[0].id, store_of(db)
    for moment in (1_000_000, 3_000_000):
        store.view_tables.note_reads({number: moment})
    store.view_tables.note(number, folds=3, folded_at=2_000_000, fold_ms=1.5)
    store.view_tables.ask(number, store.offset(position), priority=2, requester="web-1", seconds=60)
    status = only(db)
    assert status.read_at is not None
    assert (status.read_at.timestamp(), status.read_interval_ms) == (3.0, 2000.0)
    assert (status.asked_upto, status.asked_priority, status.asked_by) == (position, 2, "web-1")
    assert status.folded_at is not None
    assert (status.folds, status.folded_at.timestamp(), status.fold_ms) == (3, 2.0, 1.5)
    assert status.lag_ms > 0


def test_views_that_came_along_with_a_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewkeeper.read import freeride, readnotes

    monkeypatch.setattr(freeride, "PATIENCE", 5.0)
    monkeypatch.setattr(readnotes, "EVERY", 0.0)
    with vk.open(tmp_path / "along", durability="os") as db:
        db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, g STRING)")
        db.execute("CREATE VIEW Below AS SELECT g, COUNT(*) AS n FROM T GROUP BY g")
        db.execute("CREATE VIEW Above AS SELECT n, COUNT(*) AS c FROM Below GROUP BY n")
        db.put("T", {"id": 1, "g": "a"})
        _, meta = db.get("Below", "a", consistency="latest", with_meta=True)
        assert meta.moved == ("Above", "Below")
        readnotes.finish_notes(db._shared)
        assert [(one.view, one.batch_engine, one.batch_changes, one.lag_changes) for one in db.status()] == [
            ("Above", "a read", 1, 0),
            ("Below", "a read", 1, 0),
        ]
