"""The janitor keeps of the log, and of the feeds of views, what someone may still ask for, and lets go of the rest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.views.kept import finish, group_of, maintainer, shown
from viewkeeper.errors import NotRetained
from viewkeeper.model.view import View
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.scan import ALL
from viewkeeper.views import fill
from viewkeeper.write import views as statements


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    """A table and a view of it, without retention; ten transactions and a batch for each."""
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, g STRING)")
        db.execute("CREATE VIEW Counts AS SELECT g, COUNT(*) AS n FROM T GROUP BY g")
        db.configure(log_retention="0s")
        for number in range(10):
            db.put("T", {"id": number, "g": "ab"[number % 2]})
            db.maintain()
        yield db


def store_of(db: vk.Database) -> EmbeddedStore:
    return db._shared


def view_of(db: vk.Database, name: str) -> View:
    return store_of(db).catalog().known_view(name)


def kept(db: vk.Database, name: str = "Counts") -> list[int]:
    """Where the blocks end that a view's feed still has."""
    return [upper for upper, _ in store_of(db).view_tables.feed_between(view_of(db, name).id, 0)]


def clean(db: vk.Database) -> None:
    # What is as old as the retention goes; within one microsecond of a write it is not.
    time.sleep(0.001)
    store_of(db).clean()


def test_feed_is_kept_as_far_back_as_the_log(db: vk.Database) -> None:
    assert kept(db) == list(range(1, 11))
    clean(db)
    assert store_of(db).offset(db.oldest()) == 9
    assert kept(db) == [10]


def test_view_can_be_read_where_the_log_begins_and_not_before(db: vk.Database) -> None:
    clean(db)
    codec = store_of(db).catalog().view_codecs[view_of(db, "Counts").id]
    oldest = store_of(db).offset(db.oldest())
    rows = [row for part in store_of(db).view_tables.as_of(codec, oldest).scan(ALL) for row in part]
    assert [row[:2] for row in rows] == [("a", 5), ("b", 4)]
    with pytest.raises(NotRetained):
        list(store_of(db).view_tables.as_of(codec, oldest - 1).scan(ALL))


def test_feed_is_kept_for_the_retention(db: vk.Database) -> None:
    db.configure(log_retention="1h")
    clean(db)
    assert kept(db) == list(range(1, 11))


def test_a_pin_keeps_the_feed(db: vk.Database) -> None:
    store = store_of(db)
    pin = store.pin(store.position(4), seconds=60, holder="test")
    clean(db)
    assert kept(db) == [5, 6, 7, 8, 9, 10]
    store.unpin(pin)
    clean(db)
    assert kept(db) == [10]


def test_a_view_that_lags_keeps_log_and_feeds(db: vk.Database) -> None:
    """A group behind the others still has to read the log, and the feeds of views that it stands on."""
    db.execute("CREATE VIEW Ids AS SELECT id FROM T")
    for number in range(20, 25):
        db.put("T", {"id": number, "g": "c"})
        db.maintain(views=["Counts"])
    clean(db)
    lagging = group_of(store_of(db), view_of(db, "Ids"))
    assert lagging is not None
    assert store_of(db).offset(db.oldest()) <= lagging.watermark == 10
    assert kept(db) == [11, 12, 13, 14, 15]
    db.maintain()
    assert len(shown(store_of(db), view_of(db, "Ids"))) == 15


def test_a_fill_keeps_log_and_feeds_until_it_is_done(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its input is read as of the position where it began, with all later changes undone."""
    monkeypatch.setattr(fill, "STEP_ROWS", 1)
    monkeypatch.setattr(statements, "SMALL", -1)
    db.execute("CREATE VIEW Many AS SELECT g FROM Counts WHERE n > 4")

    class Stopped(BaseException):
        pass

    def stop(_: object) -> None:
        raise Stopped

    store = store_of(db)
    with pytest.raises(Stopped):
        maintainer(store, progress=stop).round()
    filling = group_of(store, view_of(db, "Many"))
    assert filling is not None
    assert filling.filled
    for number in range(30, 36):
        db.put("T", {"id": number, "g": "b"})
        maintainer(store).round(fill=False)
        clean(db)
    assert store.offset(db.oldest()) <= filling.watermark
    finish(maintainer(store))
    assert shown(store, view_of(db, "Many")) == [("a",), ("b",)]
    clean(db)
    assert store.offset(db.oldest()) == 15


def test_feed_of_a_dropped_view_goes_with_it(db: vk.Database) -> None:
    number = view_of(db, "Counts").id
    db.execute("DROP VIEW Counts")
    assert store_of(db).view_tables.feed(number, 0) == []
