"""Handles never cross a fork: a child is told so, opens its own, and leaves those of its parent alone."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import viewkeeper as vk
from tests.faults.agreement import check_agreement
from tests.faults.child import outcome, say, tell

FORKED = "store.forked_handle"


def make(path: str, rows: int = 200) -> vk.Database:
    db = vk.open(path)
    db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING)")
    db.load("items", [{"id": number, "name": "item"} for number in range(rows)])
    return db


def in_fork(action: Callable[[], Any]) -> int:
    """Run `action` in a forked child that then leaves as a script does; its exit status."""
    process = os.fork()
    if process == 0:
        action()
        sys.exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def use_everything_inherited(path: str) -> None:
    db = make(path)
    transaction, written = db.transaction(), db.transaction()
    written.put("items", {"id": 1, "name": "buffered"})
    snapshot, rows = db.snapshot(), iter(db.scan("items"))
    next(rows)
    feed = db.changes("items", since=db.oldest())
    next(feed)
    uses: dict[str, Callable[[], Any]] = {
        "get": lambda: db.get("items", 1),
        "scan": lambda: list(db.scan("items")),
        "query": lambda: list(db.query("SELECT * FROM items WHERE id = 1")),
        "put": lambda: db.put("items", {"id": 1, "name": "child"}),
        "insert": lambda: db.insert("items", {"id": 1000, "name": "child"}),
        "delete": lambda: db.delete("items", 1),
        "load": lambda: db.load("items", [{"id": 1, "name": "child"}]),
        "execute": lambda: db.execute("CREATE TABLE others (id BIGINT PRIMARY KEY)"),
        "configure": lambda: db.configure(log_retention="2h"),
        "head": db.head,
        "oldest": db.oldest,
        "tables": db.tables,
        "info": db.info,
        "new transaction": db.transaction,
        "new snapshot": db.snapshot,
        "transaction.get": lambda: transaction.get("items", 1),
        "transaction.put": lambda: transaction.put("items", {"id": 1, "name": "child"}),
        "transaction.commit": written.commit,
        "snapshot.get": lambda: snapshot.get("items", 1),
        "rest of a scan": lambda: list(rows),
        "rest of a feed": lambda: list(feed),
        "store.sizes": db._shared.sizes,
        "store.reader_count": db._shared.reader_count,
        "store.clean": db._shared.clean,
    }
    assert in_fork(lambda: say({name: outcome(use) for name, use in uses.items()})) == 0
    say([db.get("items", 1), len(list(rows)), str(written.commit()) == str(db.head())])


def test_every_use_of_an_inherited_handle_is_refused(tmp_path: Path) -> None:
    inherited, parent = tell(use_everything_inherited, tmp_path / "db")
    assert {name: code for name, code in inherited.items() if code != FORKED} == {}
    assert parent == [{"id": 1, "name": "item"}, 199, True]


def close_inherited(path: str) -> None:
    db = make(path)
    say(in_fork(db.close))
    say(in_fork(lambda: db.__exit__(None, None, None)))
    say([db.get("items", 1), str(db.put("items", {"id": 1, "name": "parent"})) == str(db.head())])


def test_closing_an_inherited_handle_does_nothing_to_the_parent(tmp_path: Path) -> None:
    assert tell(close_inherited, tmp_path / "db") == [0, 0, [{"id": 1, "name": "item"}, True]]


def open_in_child(path: str) -> None:
    db = make(path)

    def work() -> None:
        with vk.open(path) as own:
            own.put("items", {"id": 1, "name": "child"})
            own.execute("ALTER TABLE items ADD COLUMN price INT")
            say(own.get("items", 1))
        say(outcome(lambda: db.get("items", 1)))

    assert in_fork(work) == 0
    db.put("items", {"id": 2, "price": 5})
    say([db.get("items", 1), db.get("items", 2)])
    check_agreement(db._shared)


def test_a_child_opens_the_database_anew_and_the_parent_sees_its_writes(tmp_path: Path) -> None:
    own, inherited, parent = tell(open_in_child, tmp_path / "db")
    assert own == {"id": 1, "name": "child", "price": None}
    assert inherited == FORKED
    assert parent == [own, {"id": 2, "name": "item", "price": 5}]


def children_come_and_go(path: str) -> None:
    kept = [make(path)]
    kept[0].get("items", 1)
    readers = kept[0].info().readers

    def forget_everything() -> None:
        kept.clear()
        gc.collect()

    for action in (forget_everything, lambda: None, lambda: vk.open(path).close(), lambda: os.kill(os.getpid(), 9)):
        in_fork(action)
        say([kept[0].get("items", 1), len(list(kept[0].scan("items"))), kept[0].info().readers - readers])
        kept[0].put("items", {"id": 1, "name": "item"})


def test_the_end_of_a_child_leaves_the_readers_and_locks_of_its_parent(tmp_path: Path) -> None:
    assert tell(children_come_and_go, tmp_path / "db") == [[{"id": 1, "name": "item"}, 200, 0]] * 4


def fork_during_a_commit(path: str) -> None:
    db = make(path)
    inside, go_on = threading.Event(), threading.Event()

    def slow(txn: Any) -> None:
        inside.set()
        go_on.wait()

    writer = threading.Thread(target=db._shared.write, args=(slow,))
    writer.start()
    inside.wait()

    def work() -> None:
        say(
            [
                outcome(lambda: db.put("items", {"id": 1, "name": "child"})),
                outcome(lambda: db.configure(statement_rows=5)),
            ]
        )
        say(outcome(lambda: db._shared.write(lambda txn: None)))
        with vk.open(path) as own:
            say(own.get("items", 1))
            # The parent holds the write lock until the child has read.
            say("read")
            own.put("items", {"id": 1, "name": "child"})

    process = os.fork()
    if process == 0:
        work()
        sys.exit(0)
    threading.Timer(0.2, go_on.set).start()
    say(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
    writer.join()
    say(db.get("items", 1))


def test_a_child_forked_during_a_commit_neither_hangs_nor_breaks_it(tmp_path: Path) -> None:
    said = tell(fork_during_a_commit, tmp_path / "db")
    assert said == [[FORKED, FORKED], FORKED, {"id": 1, "name": "item"}, "read", 0, {"id": 1, "name": "child"}]


def put_one(path: str, number: int) -> str:
    with vk.open(path) as db:
        return str(db.put("items", {"id": number, "name": "pool"}))


def use_a_pool(path: str) -> None:
    db = make(path)
    with multiprocessing.get_context("fork").Pool(3) as pool:
        positions = pool.starmap(put_one, [(path, number) for number in range(12)])
    say([len(set(positions)), sum(row["name"] == "pool" for row in db.scan("items"))])
    check_agreement(db._shared)


def test_a_pool_of_forked_workers_writes_beside_an_open_parent(tmp_path: Path) -> None:
    assert tell(use_a_pool, tmp_path / "db") == [[12, 12]]
