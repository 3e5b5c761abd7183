"""Writers that share a commit: they wait for each other a moment, never for ever, and one's failure stays its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import lmdb
import pytest

import viewkeeper as vk
from tests.faults.agreement import check_agreement
from tests.faults.interruption import interrupted_at
from tests.faults.threads import Round, Thread
from viewkeeper.store import groupcommit
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.write.statements import Outcome


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    db = vk.open(tmp_path / "db", durability="os")
    db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING)")
    db.put("items", {"id": -1, "name": "the janitor is running now"})
    yield db
    assert Thread(db.close).ended() is None


def put(db: vk.Database, number: int) -> Thread:
    return Thread(lambda: db.insert("items", {"id": number, "name": "put"}))


def expect(store: EmbeddedStore, members: int, patience: float) -> None:
    """Let the next writer wait for company, as behind a slow commit of so many."""
    store._group._expected, store._group._patience = members, patience


def rounds_of(store: EmbeddedStore, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the rounds from here on."""
    sizes: list[int] = []
    lead = groupcommit.GroupCommit._round

    def counted(group: Any, leader: Any, **options: Any) -> None:
        lead(group, leader, **options)
        sizes.append(len(leader.crew))

    monkeypatch.setattr(groupcommit.GroupCommit, "_round", counted)
    return sizes


def test_the_last_expected_writer_leads_and_nobody_waits_longer(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = rounds_of(db._shared, monkeypatch)
    expect(db._shared, 3, patience=5.0)
    started = time.monotonic()
    members = [put(db, number) for number in range(3)]
    assert [type(member.ended()) for member in members] == [vk.Position] * 3
    assert time.monotonic() - started < 4
    assert sizes == [3]
    check_agreement(db._shared)


def test_a_writer_that_waits_for_company_in_vain_goes_on_alone(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = rounds_of(db._shared, monkeypatch)
    expect(db._shared, 3, patience=0.05)
    started = time.monotonic()
    assert isinstance(put(db, 1).ended(), vk.Position)
    assert time.monotonic() - started >= 0.05
    assert isinstance(put(db, 2).ended(), vk.Position)
    assert sizes == [1, 1]
    assert db._shared._group._expected == 1


def test_a_writer_that_was_alone_does_not_wait(db: vk.Database) -> None:
    expect(db._shared, 1, patience=60.0)
    assert isinstance(put(db, 1).ended(), vk.Position)


def test_a_definition_does_not_wait_for_company(db: vk.Database) -> None:
    expect(db._shared, 8, patience=60.0)
    assert isinstance(Thread(lambda: db.execute("CREATE TABLE t (id INT PRIMARY KEY)")).ended(), Outcome)


def test_a_definition_that_comes_while_writers_gather_has_its_turn(db: vk.Database) -> None:
    expect(db._shared, 8, patience=0.05)
    first = put(db, 1)
    definition = Thread(lambda: db.execute("CREATE TABLE t (id INT PRIMARY KEY)"))
    second = put(db, 2)
    assert isinstance(first.ended(), vk.Position)
    assert isinstance(definition.ended(), Outcome)
    assert isinstance(second.ended(), vk.Position)


def test_commits_that_cost_little_are_not_waited_for(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groupcommit, "DEAR_COMMIT", 3600.0)
    expect(db._shared, 8, patience=0.01)
    assert isinstance(put(db, 1).ended(), vk.Position)
    assert db._shared._group._patience == 0


@pytest.mark.parametrize("others", [0, 1, 2, 3])
def test_an_interrupt_at_any_place_while_writers_gather_holds_up_nobody(db: vk.Database, others: int) -> None:
    """With others it is the first, who waits for them; all three come, or one too many, or too few."""
    store = db._shared
    held = []
    for place in range(2000):
        expect(store, 3, patience=0.004)
        row = {"id": place, "name": "victim"}
        interruption, victim = interrupted_at(place, partial(store.put_row, "items", row))
        time.sleep(0.001)
        members = [put(db, 10_000 + 10 * place + number) for number in range(others)]
        result = victim.ended()
        for member in members:
            assert isinstance(member.ended(), vk.Position), interruption.where
        held.append(result)
        store._group._expected = 1
        assert isinstance(put(db, 10_005 + 10 * place).ended(), vk.Position), interruption.where
        assert not store._group._queue, interruption.where
        if not interruption.where:
            break
        assert isinstance(result, KeyboardInterrupt), interruption.where
    assert place > 12
    check_agreement(store)


def test_an_interrupt_at_any_place_of_the_last_to_come_holds_up_nobody(db: vk.Database) -> None:
    store = db._shared
    held = []
    for place in range(2000):
        expect(store, 3, patience=0.02)
        members = [put(db, 10_000 + 10 * place + number) for number in range(2)]
        deadline = time.monotonic() + 5
        while len(store._group._queue) < 2 and any(member.is_alive() for member in members):
            assert time.monotonic() < deadline
        row = {"id": place, "name": "victim"}
        interruption, victim = interrupted_at(place, partial(store.put_row, "items", row))
        result = victim.ended()
        held.append(result)
        for member in members:
            assert isinstance(member.ended(), vk.Position), interruption.where
        assert not store._group._queue, interruption.where
        if not interruption.where:
            break
        assert isinstance(result, KeyboardInterrupt), interruption.where
    assert place > 12
    check_agreement(store)


def test_many_threads_lose_nothing_while_they_gather(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groupcommit, "DEAR_COMMIT", 0.0)
    monkeypatch.setattr(groupcommit, "PATIENCE", 2.0)
    stop = threading.Event()

    def work(thread: int) -> list[int]:
        done = []
        for number in range(200):
            db.insert("items", {"id": thread * 1000 + number, "name": "x"})
            done.append(thread * 1000 + number)
            if number % 50 == thread:
                stop.wait(0.003)
        return done

    threads = [Thread(partial(work, thread)) for thread in range(8)]
    done = sorted(number for thread in threads for number in thread.ended())
    assert [row["id"] for row in db.scan("items")] == [-1, *done]
    assert len(done) == 1600
    check_agreement(db._shared)


class Failing:
    """A transaction whose writes fail from the n-th on: what it says then is no refusal."""

    def __init__(self, txn: Any, left: int, error: Exception) -> None:
        self._txn, self._left, self._error = txn, left, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._txn, name)

    def put(self, *arguments: Any, **options: Any) -> Any:
        if self._left == 0:
            raise self._error
        self._left -= 1
        return self._txn.put(*arguments, **options)


@pytest.mark.parametrize("error", [MemoryError(), lmdb.Error("broken")], ids=repr)
@pytest.mark.parametrize("left", range(6))
def test_a_member_that_fails_while_it_writes_leaves_nothing_and_harms_nobody(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch, left: int, error: Exception
) -> None:
    store = db._shared
    round_ = Round(store)
    members = [put(db, number) for number in range(3)]
    round_.wait_for(3)
    begin = store._group._begin

    def once() -> Any:
        monkeypatch.setattr(store._group, "_begin", begin)
        return Failing(begin(), left, error)

    monkeypatch.setattr(store._group, "_begin", once)
    round_.go_on()
    assert [type(member.ended()) for member in members] == [vk.Position] * 3
    assert [row["id"] for row in db.scan("items")] == [-1, 0, 1, 2]
    check_agreement(store)


def test_refusals_need_no_nested_transaction(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.put("items", {"id": 2, "name": "there"})
    store = db._shared
    monkeypatch.setattr(store._group, "_nest", None)
    round_ = Round(store)
    members = [put(db, number) for number in range(4)]
    round_.wait_for(4)
    round_.go_on()
    assert [type(member.ended()) for member in members] == [vk.Position, vk.Position, vk.KeyExists, vk.Position]
    check_agreement(store)
