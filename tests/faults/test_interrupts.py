"""Exceptions out of nowhere, in the middle of a commit: Ctrl-C is the common one. Nobody hangs, nobody is lied to."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import viewkeeper as vk
from tests.faults.agreement import check_agreement
from tests.faults.child import say, tell
from tests.faults.interruption import interrupted_at
from tests.faults.threads import Round, Thread
from viewkeeper.store import catalog


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    db = vk.open(tmp_path / "db", durability="os")
    db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING)")
    yield db
    # It waits for the writers, too.
    assert Thread(db.close).ended() is None


def put(db: vk.Database, number: int) -> Thread:
    return Thread(lambda: db.insert("items", {"id": number, "name": "put"}))


def test_a_member_that_fails_is_rolled_back_alone(db: vk.Database) -> None:
    round_ = Round(db._shared)
    members = [put(db, 1), Thread(lambda: db._shared.write(fail_halfway)), put(db, 2), put(db, 2)]
    round_.wait_for(4)
    round_.go_on()
    ended = [member.ended() for member in members]
    assert isinstance(ended[1], ZeroDivisionError)
    assert sorted(type(result).__name__ for result in ended[2:]) == ["KeyExists", "Position"]
    assert [row["id"] for row in db.scan("items")] == [1, 2]
    check_agreement(db._shared)


def fail_halfway(txn: Any) -> None:
    txn.put(b"half", b"written")
    raise ZeroDivisionError


def interrupt(txn: Any) -> None:
    txn.put(b"half", b"written")
    raise KeyboardInterrupt


def test_a_member_that_is_interrupted_takes_nobody_with_it(db: vk.Database) -> None:
    round_ = Round(db._shared)
    first = Thread(lambda: db._shared.write(interrupt))
    round_.wait_for(1)
    others = [put(db, number) for number in range(5)]
    round_.wait_for(6)
    round_.go_on()
    assert isinstance(first.ended(), KeyboardInterrupt)
    assert [type(other.ended()) for other in others] == [vk.Position] * 5
    assert len(list(db.scan("items"))) == 5
    check_agreement(db._shared)


class Interrupted:
    """A transaction in whose commit Ctrl-C is pressed; Python tells when it is over."""

    def __init__(self, txn: Any) -> None:
        self._txn = txn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._txn, name)

    def commit(self) -> None:
        self._txn.commit()
        raise KeyboardInterrupt


def test_a_leader_interrupted_behind_its_commit_does_not_call_it_undone(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = db._shared
    round_ = Round(store)
    members = [put(db, number) for number in range(3)]
    round_.wait_for(3)
    begin = store._group._begin

    def once() -> Any:
        monkeypatch.setattr(store._group, "_begin", begin)
        return Interrupted(begin())

    monkeypatch.setattr(
        store._group, "_nest", lambda txn: store.base.begin(write=True, parent=getattr(txn, "_txn", txn))
    )
    monkeypatch.setattr(store._group, "_begin", once)
    round_.go_on()
    ended = [member.ended() for member in members]
    # A KeyExists here would be the insert itself, run again because it was said not to have been.
    assert sorted(type(result).__name__ for result in ended) == ["KeyboardInterrupt", "Position", "Position"]
    assert [row["id"] for row in db.scan("items")] == [0, 1, 2]
    check_agreement(store)


def test_an_interrupted_wait_holds_up_nobody(db: vk.Database) -> None:
    round_ = Round(db._shared)
    others = [put(db, 1)]
    round_.wait_for(1)

    def interrupt_the_second() -> None:
        round_.wait_for(2)
        os.kill(os.getpid(), signal.SIGINT)

    interrupter = Thread(interrupt_the_second)
    with pytest.raises(KeyboardInterrupt):
        db.insert("items", {"id": 2, "name": "not waited for"})
    interrupter.ended()
    others.append(put(db, 3))
    round_.wait_for(2)
    round_.go_on()
    assert [type(other.ended()) for other in others] == [vk.Position] * 2
    db.put("items", {"id": 4})
    assert [row["id"] for row in db.scan("items")] == [1, 3, 4]
    check_agreement(db._shared)


def test_a_thread_that_dies_inside_a_transaction_block_leaves_nothing(db: vk.Database) -> None:
    def die() -> None:
        with db.transaction() as tx:
            tx.put("items", {"id": 1, "name": "never"})
            raise SystemExit

    assert isinstance(Thread(die).ended(), SystemExit)
    db.put("items", {"id": 2})
    assert [row["id"] for row in db.scan("items")] == [2]


def test_an_interrupted_definition_leaves_nothing_and_holds_up_nobody(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(catalog, "store_table", interrupt_with)
        with pytest.raises(KeyboardInterrupt):
            db.execute("CREATE TABLE others (id BIGINT PRIMARY KEY)")
        with pytest.raises(KeyboardInterrupt):
            db.execute("ALTER TABLE items ADD COLUMN price INT")
    assert put(db, 1).ended() is not None
    assert [table.column_names for table in db.tables()] == [("id", "name")]
    db.execute("CREATE TABLE others (id BIGINT PRIMARY KEY)")
    db.put("others", {"id": 1})
    check_agreement(db._shared)


def interrupt_with(*arguments: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("waiting", [0, 2], ids=["alone", "with others behind it"])
@pytest.mark.parametrize("queued", [False, True], ids=["leading", "queued"])
def test_an_interrupt_at_any_place_of_a_commit_holds_up_nobody(db: vk.Database, waiting: int, queued: bool) -> None:
    store = db._shared
    codec = store.catalog().codec("items")
    store.put(codec, {0: -1, 1: "the janitor is running now"})
    held = []
    for place in range(2000):
        round_ = Round(store) if queued else None
        interruption, victim = interrupted_at(place, partial(store.put, codec, {0: place, 1: "victim"}))
        if round_ is not None:
            time.sleep(0.002)
        others = [put(db, 10_000 + 10 * place + number) for number in range(waiting)]
        if round_ is not None:
            round_.go_on()
            round_.leader.ended()
        result = victim.ended()
        for other in others:
            assert isinstance(other.ended(), vk.Position), interruption.where
        # The error may be kept for long: it must not keep a lock with it.
        held.append(result)
        assert isinstance(put(db, 10_005 + 10 * place).ended(), vk.Position), interruption.where
        if not interruption.where:
            break
        assert isinstance(result, KeyboardInterrupt), interruption.where
    assert place > 20
    check_agreement(store)


def interrupt_at_random(path: str) -> None:
    """The main thread inserts and is sent SIGINT again and again, while others insert."""
    db = vk.open(path)
    db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING)")
    stop = threading.Event()
    done: list[int] = []

    def insert_many(first: int) -> None:
        number = first
        while not stop.is_set():
            db.insert("items", {"id": number, "name": "other"})
            done.append(number)
            number += 1

    def pester() -> None:
        chance = random.Random(7)
        while not stop.wait(chance.uniform(0.0005, 0.004)):
            os.kill(os.getpid(), signal.SIGINT)

    armed = False

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal armed
        if armed:
            armed = False
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handle)
    others = [Thread(partial(insert_many, first)) for first in (1_000_000, 2_000_000)]
    pesterer = Thread(pester)
    interrupted = 0
    deadline = time.monotonic() + 1
    for number in range(1_000_000):
        try:
            armed = True
            db.insert("items", {"id": number, "name": "main"})
            done.append(number)
            armed = False
        except KeyboardInterrupt:
            interrupted += 1
        if time.monotonic() > deadline:
            break
    stop.set()
    pesterer.ended()
    say([other.ended() is None for other in others])
    say(interrupted > 10)
    there = {row["id"] for row in db.scan("items")}
    say(sorted(set(done) - there))
    check_agreement(db._shared)


def test_a_storm_of_interrupts_loses_nothing_and_stops_nobody(tmp_path: Path) -> None:
    assert tell(interrupt_at_random, tmp_path / "db") == [[True, True], True, []]
