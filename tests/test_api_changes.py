"""The change feed of a table: everything once, in commit order, from any position on."""

from __future__ import annotations

import datetime as dt
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

import viewkeeper as vk


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute("CREATE TABLE Items (id BIGINT PRIMARY KEY, name STRING)")
        opened.execute("CREATE TABLE Other (id BIGINT PRIMARY KEY)")
        yield opened


def keys(changes: Iterator[vk.Change]) -> list[int]:
    return [change.key[0] for change in changes]


def fill(db: vk.Database, numbers: range) -> vk.Position:
    with db.transaction() as tx:
        for number in numbers:
            tx.put("Items", {"id": number})
    return tx.position


def test_changes_have_the_row_before_and_after_and_their_time(db: vk.Database) -> None:
    start, begun = db.head(), dt.datetime.now(dt.UTC)
    db.insert("Items", {"id": 1, "name": "a"})
    db.put("Other", {"id": 7})
    db.put("Items", {"id": 1, "name": "b"})
    db.delete("Items", 1)
    found = list(db.changes("Items", since=start))
    assert [(change.before, change.after) for change in found] == [
        (None, {"id": 1, "name": "a"}),
        ({"id": 1, "name": "a"}, {"id": 1, "name": "b"}),
        ({"id": 1, "name": "b"}, None),
    ]
    assert {change.table for change in found} == {"Items"}
    assert [change.key for change in found] == [(1,)] * 3
    assert found[-1].position == db.head()
    times = [change.committed_at for change in found]
    assert times == sorted(times)
    microsecond = dt.timedelta(microseconds=1)
    assert begun - microsecond <= times[0] <= times[-1] <= dt.datetime.now(dt.UTC) + microsecond
    assert {change.table for change in db.changes("Other", since=start)} == {"Other"}


@pytest.mark.parametrize("size", [5, 200], ids=["by row", "by column"])
def test_feed_goes_on_from_any_change_also_inside_a_transaction(db: vk.Database, size: int) -> None:
    start = db.head()
    with db.transaction() as tx:
        tx.put("Other", {"id": 1})
        for number in range(size):
            tx.put("Items", {"id": number})
        tx.put("Other", {"id": 2})
    fill(db, range(1_000, 1_000 + size))
    whole = list(db.changes("Items", since=start))
    assert keys(iter(whole)) == [*range(size), *range(1_000, 1_000 + size)]
    for place, change in enumerate(whole):
        assert list(db.changes("Items", since=change.position)) == whole[place + 1 :]
    assert list(db.changes("Items", since=db.head())) == []


def test_feed_of_many_transactions_is_whole(db: vk.Database) -> None:
    start = db.head()
    for number in range(700):
        db.put("Items" if number % 3 else "Other", {"id": number})
    assert keys(db.changes("Items", since=start)) == [number for number in range(700) if number % 3]
    assert keys(db.changes("Other", since=start)) == list(range(0, 700, 3))


def test_feed_sees_what_is_committed_while_it_is_read(db: vk.Database) -> None:
    fill(db, range(3))
    feed = db.changes("Items", since=db.oldest())
    assert next(feed).key == (0,)
    fill(db, range(3, 6))
    assert keys(feed) == [1, 2, 3, 4, 5]


class Follower:
    """A feed that is followed in a thread."""

    def __init__(self, db: vk.Database, since: vk.Position) -> None:
        self.found: Queue[vk.Change] = Queue()
        self.end: vk.ViewkeeperError | None = None
        feed = db.changes("Items", since=since, follow=True)
        self.thread = threading.Thread(target=self._run, args=(feed,))
        self.thread.start()

    def _run(self, feed: Iterator[vk.Change]) -> None:
        try:
            for change in feed:
                self.found.put(change)
        except vk.ViewkeeperError as error:
            self.end = error

    def take(self, count: int) -> list[vk.Change]:
        return [self.found.get(timeout=10) for _ in range(count)]

    def join(self) -> vk.ViewkeeperError | None:
        self.thread.join(10)
        assert not self.thread.is_alive()
        return self.end


def test_follower_gets_each_change_soon_and_ends_when_the_database_is_closed(db: vk.Database) -> None:
    fill(db, range(3))
    follower = Follower(db, db.oldest())
    assert keys(iter(follower.take(3))) == [0, 1, 2]
    for number in range(3, 20):
        begun = time.monotonic()
        db.put("Other", {"id": number})
        db.put("Items", {"id": number})
        assert keys(iter(follower.take(1))) == [number]
        assert time.monotonic() - begun < 2
    assert follower.found.empty()
    db.close()
    assert isinstance(follower.join(), vk.Closed)


def test_follower_rests_while_nothing_happens(db: vk.Database) -> None:
    """A thread that spins would take a core for nothing."""
    follower = Follower(db, db.head())
    time.sleep(0.2)
    begun = time.process_time()
    time.sleep(0.5)
    spent = time.process_time() - begun
    db.close()
    follower.join()
    assert spent < 0.25


def test_follower_of_a_dropped_table_ends_with_an_error(db: vk.Database) -> None:
    follower = Follower(db, db.head())
    db.put("Items", {"id": 1})
    follower.take(1)
    db.execute("DROP TABLE Items")
    db.put("Other", {"id": 1})
    assert isinstance(follower.join(), vk.UnknownTable)


def test_feed_of_a_table_made_again_does_not_show_the_old_rows_as_new(db: vk.Database) -> None:
    for number in range(600):
        db.put("Items", {"id": number, "name": "old"})
    feed = db.changes("Items", since=db.oldest())
    assert next(feed).key == (0,)
    db.execute("DROP TABLE Items; CREATE TABLE Items (code STRING PRIMARY KEY, a INT, b INT)")
    db.put("Items", {"code": "new"})
    seen: list[vk.Change] = []
    with pytest.raises(vk.UnknownTable):
        seen.extend(feed)
    for change in seen:
        assert set(change.after or {}) == {"id", "name"}
    assert [change.key for change in db.changes("Items", since=db.oldest())] == [("new",)]


def test_rows_from_before_a_column_was_added_have_null_in_it(db: vk.Database) -> None:
    start = db.head()
    fill(db, range(100))
    db.put("Items", {"id": 200})
    feed = db.changes("Items", since=start)
    first: Any = next(feed).after
    assert first["id"] == 0
    db.execute("ALTER TABLE Items ADD COLUMN price INT")
    db.put("Items", {"id": 200, "price": 3})
    found = list(db.changes("Items", since=start))
    assert found[0].after == {"id": 0, "name": None, "price": None}
    assert found[100].after == {"id": 200, "name": None, "price": None}
    assert found[101].before == {"id": 200, "name": None, "price": None}
    assert found[101].after == {"id": 200, "name": None, "price": 3}
    assert len(list(feed)) == 101


@pytest.mark.parametrize("follow", [False, True])
def test_feed_that_cannot_begin_is_refused_at_once(db: vk.Database, tmp_path: Path, follow: bool) -> None:
    head = db.put("Items", {"id": 1})
    database, _, offset = str(head).partition("@")
    with pytest.raises(vk.FuturePosition):
        db.changes("Items", since=vk.Position.parse(f"{database}@{int(offset) + 1}"), follow=follow)
    with vk.open(tmp_path / "other", durability="os") as other, pytest.raises(vk.ForeignPosition):
        db.changes("Items", since=other.head(), follow=follow)
    with pytest.raises(vk.UnknownTable):
        db.changes("Nothing", since=head, follow=follow)


def test_feed_from_a_truncated_position_names_the_oldest(db: vk.Database) -> None:
    start = db.head()
    slow = db.changes("Items", since=start)
    for number in range(600):
        db.put("Items", {"id": number})
    assert next(slow).key == (0,)
    db.configure(log_retention="0s")
    db._shared.clean()
    with pytest.raises(vk.NotRetained) as raised:
        db.changes("Items", since=start)
    assert str(db.oldest()) in raised.value.detail
    with pytest.raises(vk.NotRetained):
        list(slow)
    assert keys(db.changes("Items", since=db.oldest())) == [599]
