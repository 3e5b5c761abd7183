"""What readers ask of maintainers, and which maintainers are alive: kept until it is met, or its time is over."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import lmdb
import msgspec
import pytest

from viewkeeper.store.applying import Apply
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.registry import close_store, open_store

VIEW, OTHER, GROUP = 101, 102, 7


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    store = open_store(tmp_path / "db", durability="os")
    store.view_tables.create_group(GROUP, [VIEW], 0, 0)
    yield store
    close_store(store)


def move(store: EmbeddedStore, lower: int, upper: int) -> None:
    batch = Apply(
        group=GROUP, generation=1, lower=lower, upper=upper, transaction=upper, committed_at=upper, objects={}
    )
    store.view_tables.apply(batch)


def ask(store: EmbeddedStore, upto: int, priority: int = 1, seconds: float = 60, requester: str = "me") -> None:
    store.view_tables.ask(VIEW, upto, priority=priority, requester=requester, seconds=seconds)


def test_what_is_asked_for_is_told(store: EmbeddedStore) -> None:
    before = time.time_ns() // 1000
    ask(store, 5, priority=3, seconds=10)
    ((number, request),) = store.view_tables.asked().items()
    assert (number, request.upto, request.priority, request.requester) == (VIEW, 5, 3, "me")
    assert before <= request.asked_at <= time.time_ns() // 1000
    assert request.deadline == request.asked_at + 10_000_000


def test_requests_for_one_view_are_one(store: EmbeddedStore) -> None:
    ask(store, 9, priority=1, seconds=60, requester="far")
    first = store.view_tables.asked()[VIEW]
    ask(store, 5, priority=4, seconds=30, requester="urgent")
    request = store.view_tables.asked()[VIEW]
    assert (request.upto, request.priority, request.requester) == (9, 4, "urgent")
    assert (request.asked_at, request.deadline) == (first.asked_at, first.deadline)


def test_a_request_past_its_deadline_is_not_told_and_adds_nothing_to_the_next(store: EmbeddedStore) -> None:
    ask(store, 9, priority=5, seconds=0)
    assert store.view_tables.asked() == {}
    ask(store, 2, priority=1)
    assert (store.view_tables.asked()[VIEW].upto, store.view_tables.asked()[VIEW].priority) == (2, 1)
    assert store.view_tables.asked(at=time.time_ns() // 1000 + 120_000_000) == {}


def test_a_request_is_forgotten_when_it_is_met_and_not_before(store: EmbeddedStore) -> None:
    ask(store, 5)
    move(store, 0, 4)
    store.view_tables.answered([VIEW, OTHER])
    assert VIEW in store.view_tables.asked()
    move(store, 4, 5)
    store.view_tables.answered([OTHER])
    assert VIEW in store.view_tables.asked()
    store.view_tables.answered([VIEW])
    assert store.view_tables.asked() == {}


def test_a_request_for_a_view_that_has_gone_is_forgotten(store: EmbeddedStore) -> None:
    store.view_tables.ask(OTHER, 5, priority=1, requester="me", seconds=60)
    store.view_tables.answered([OTHER])
    assert store.view_tables.asked() == {}


def test_a_view_that_is_being_filled_keeps_its_request(store: EmbeddedStore) -> None:
    store.view_tables.create_group(8, [OTHER], 9, 9, filled=b"")
    store.view_tables.ask(OTHER, 5, priority=1, requester="me", seconds=60)
    store.view_tables.answered([OTHER])
    assert OTHER in store.view_tables.asked()


def test_maintainers_are_alive_as_long_as_they_said(store: EmbeddedStore) -> None:
    store.view_tables.beat("one", 60)
    store.view_tables.beat("two", 60)
    store.view_tables.beat("late", 0.000_001)
    time.sleep(0.001)
    assert store.view_tables.maintainers() == ["one", "two"]
    store.view_tables.beat("one", 0)
    assert store.view_tables.maintainers() == ["two"]


def test_reads_are_noted_with_their_mean_interval(store: EmbeddedStore) -> None:
    def noted() -> tuple[int, int]:
        note = store.view_tables.notes()[VIEW]
        return note.read_at, note.read_interval

    store.view_tables.note(VIEW, error="kept")
    store.view_tables.note_reads({VIEW: 1000})
    assert noted() == (1000, 0)
    store.view_tables.note_reads({VIEW: 1400, OTHER: 5})
    assert noted() == (1400, 400)
    store.view_tables.note_reads({VIEW: 2200})
    assert noted() == (2200, 500)
    # One that was noted out of order says nothing.
    store.view_tables.note_reads({VIEW: 2100})
    assert noted() == (2200, 500)
    assert store.view_tables.notes()[VIEW].error == "kept"
    assert OTHER not in store.view_tables.notes()


def without_requests(path: Path) -> None:
    """Make a database as an older viewkeeper did."""
    close_store(open_store(path, durability="os"))
    env = lmdb.Environment(str(path / "views"), max_dbs=20)
    with env.begin(write=True) as txn:
        for name in (b"requests", b"maintainers"):
            txn.drop(env.open_db(name, txn))
    env.close()


def test_a_store_of_an_older_viewkeeper_is_read_as_empty_and_made_whole_by_a_writer(tmp_path: Path) -> None:
    without_requests(tmp_path / "db")
    reader = open_store(tmp_path / "db", read_only=True)
    assert (reader.view_tables.asked(), reader.view_tables.maintainers()) == ({}, [])
    close_store(reader)
    writer = open_store(tmp_path / "db")
    writer.view_tables.create_group(GROUP, [VIEW], 0, 0)
    ask(writer, 5)
    writer.view_tables.beat("one", 60)
    assert (list(writer.view_tables.asked()), writer.view_tables.maintainers()) == ([VIEW], ["one"])
    close_store(writer)


def test_bytes_are_laid_out_as_the_grammar_says(store: EmbeddedStore) -> None:
    ask(store, 5, priority=3, seconds=10)
    store.view_tables.beat("köln-1", 60)
    with store.views.begin() as txn:
        ((key, value),) = txn.cursor(db=store.views.database(b"requests"))
        ((holder, deadline),) = txn.cursor(db=store.views.database(b"maintainers"))
    upto, priority, requester, asked_at, until = msgspec.msgpack.decode(value)
    assert (key, upto, priority, requester, until - asked_at) == (b"\0\0\0\x65", 5, 3, "me", 10_000_000)
    assert (holder, len(deadline)) == ("köln-1".encode(), 8)
    assert abs(int.from_bytes(deadline, "big") / 1e6 - time.time() - 60) < 30
