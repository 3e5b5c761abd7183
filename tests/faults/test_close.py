"""Handles that are closed: twice, beside others, and while others are using them. Closed, and never a crash."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.faults.agreement import check_agreement
from tests.faults.child import outcome, say, tell

CLOSED = "store.closed"
ROWS = 5000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "db"
    fill(path)
    return path


def fill(path: Path | str) -> None:
    with vk.open(path, durability="os") as db:
        db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING)")
        db.load("items", [{"id": number, "name": "item"} for number in range(ROWS)])


def uses(db: vk.Database) -> dict[str, Callable[[], Any]]:
    """Every way to use a handle, and what it has given out."""
    transaction, written = db.transaction(), db.transaction()
    written.put("items", {"id": 1, "name": "buffered"})
    snapshot, rows = db.snapshot(), iter(db.scan("items"))
    feed, position = db.changes("items", since=db.oldest()), db.head()
    next(rows)
    return {
        "get": lambda: db.get("items", 1),
        "scan": lambda: list(db.scan("items")),
        "query": lambda: list(db.query("SELECT * FROM items WHERE id = 1")),
        "select": lambda: list(db.execute("SELECT * FROM items WHERE id = 1")),  # type: ignore[arg-type]
        "put": lambda: db.put("items", {"id": 1, "name": "x"}),
        "insert": lambda: db.insert("items", {"id": -1}),
        "delete": lambda: db.delete("items", 1),
        "load": lambda: db.load("items", [{"id": 1}]),
        "execute": lambda: db.execute("CREATE TABLE others (id BIGINT PRIMARY KEY)"),
        "transaction": db.transaction,
        "snapshot": db.snapshot,
        "as of": lambda: db.snapshot(position),
        "head": db.head,
        "oldest": db.oldest,
        "changes": lambda: list(db.changes("items", since=position)),
        "tables": db.tables,
        "info": db.info,
        "configure": db.configure,
        "configure more": lambda: db.configure(statement_rows=7),
        "transaction.get": lambda: transaction.get("items", 1),
        "transaction.scan": lambda: list(transaction.scan("items")),
        "transaction.put": lambda: transaction.put("items", {"id": 1}),
        "transaction.commit": written.commit,
        "snapshot.get": lambda: snapshot.get("items", 1),
        "snapshot.scan": lambda: list(snapshot.scan("items")),
        "rest of a scan": lambda: list(rows),
        "a feed": lambda: list(feed),
    }


def test_every_use_behind_close_says_closed(path: Path) -> None:
    db = vk.open(path)
    every = uses(db)
    db.close()
    assert {name: code for name, use in every.items() if (code := outcome(use)) != CLOSED} == {}
    with vk.open(path) as again:
        assert again.get("items", 1) == {"id": 1, "name": "item"}
        assert [table.name for table in again.tables()] == ["items"]


def test_a_closed_handle_is_closed_also_while_another_is_open(path: Path) -> None:
    kept, closed = vk.open(path), vk.open(path)
    own = {"transaction", "snapshot", "rest", "a"}
    every = uses(closed)
    closed.close()
    told = {name: outcome(use) for name, use in every.items() if name.partition(".")[0].split()[0] not in own}
    assert {name: code for name, code in told.items() if code != CLOSED} == {}
    assert kept.get("items", 1) == {"id": 1, "name": "item"}
    kept.put("items", {"id": 1, "name": "changed"})
    kept.close()
    assert outcome(lambda: kept.get("items", 1)) == CLOSED


def test_closing_twice_closes_once(path: Path) -> None:
    first, second = vk.open(path), vk.open(path)
    first.close()
    first.close()
    with first:
        pass
    assert second.get("items", 1) == {"id": 1, "name": "item"}
    second.put("items", {"id": 1, "name": "still open"})
    second.close()
    second.close()


def test_a_handle_closed_in_its_own_transaction_commits_nothing(path: Path) -> None:
    db = vk.open(path)
    with pytest.raises(vk.Closed), db.transaction() as tx:
        tx.put("items", {"id": 1, "name": "too late"})
        db.close()
    with vk.open(path) as again:
        assert again.get("items", 1) == {"id": 1, "name": "item"}


def close_while_others_work(path: str) -> None:
    """Several threads read, write and define until the handle is closed under them; again and again."""
    fill(path)
    for turn in range(25):
        db = vk.open(path)
        begun = threading.Barrier(6)
        ended: list[str] = []

        def work(use: Callable[[], Any], begun: threading.Barrier = begun, ended: list[str] = ended) -> None:
            begun.wait()
            while (code := outcome(use)) == "ok":
                pass
            ended.append(code)

        threads = [threading.Thread(target=work, args=(use,)) for use in several(db, turn)]
        for thread in threads:
            thread.start()
        begun.wait()
        threading.Event().wait(0.002 * (turn % 8))
        db.close()
        for thread in threads:
            thread.join(10)
        assert len(ended) == 5, f"{[thread.is_alive() for thread in threads]}"
        if set(ended) != {CLOSED}:
            say(ended)
    with vk.open(path) as db:
        check_agreement(db._shared)
    say("done")


def several(db: vk.Database, turn: int) -> Iterator[Callable[[], Any]]:
    yield lambda: db.get("items", 1)
    yield lambda: list(db.scan("items"))
    yield lambda: db.put("items", {"id": 1, "name": "x"})
    yield lambda: db.load("items", [{"id": number, "name": f"{turn}"} for number in range(200)])
    yield db.info if turn % 2 else db._shared.clean


def test_closing_under_working_threads_ends_them_with_closed(tmp_path: Path) -> None:
    assert tell(close_while_others_work, tmp_path / "db") == ["done"]


def test_a_feed_that_waits_for_more_ends_when_the_handle_is_closed(path: Path) -> None:
    db = vk.open(path)
    feed = db.changes("items", since=db.head(), follow=True)
    came: list[Any] = []
    thread = threading.Thread(target=lambda: came.append(outcome(lambda: list(feed))))
    thread.start()
    db.close()
    thread.join(10)
    assert came == [CLOSED]
