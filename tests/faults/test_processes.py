"""Several processes on one folder: some of them die, some of them define tables, all of them start at once."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.faults.agreement import check_agreement
from tests.faults.child import say, start

ITEMS = "CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING)"


@contextmanager
def child(function: Any, *arguments: object) -> Iterator[Any]:
    """A running child that was heard of once; killed with -9 at the end, if it is still there."""
    process = start(function, *arguments)
    try:
        assert process.stdout is not None
        process.heard = json.loads(process.stdout.readline())  # type: ignore[attr-defined]
        yield process
    finally:
        process.kill()
        process.communicate()


def hold_a_reader(path: str) -> None:
    db = vk.open(path)
    txn = db._shared.base.begin()
    other = db._shared.views.begin()
    say([txn.id() > 0, other.id() >= 0, db.info().readers])
    sys.stdin.read()


@pytest.mark.parametrize("cleaned_by", ["janitor", "opening again"])
def test_the_slots_of_a_reader_killed_in_mid_read_are_freed(tmp_path: Path, cleaned_by: str) -> None:
    path = tmp_path / "db"
    db = vk.open(path)
    db.execute(ITEMS)
    with child(hold_a_reader, path) as reader:
        before = db.info().readers
        reader.kill()
        reader.wait()
        assert db.info().readers == before, "the slots are not known to be dead before someone looks"
        if cleaned_by == "janitor":
            assert db._shared.clean().readers >= 2
        else:
            db.close()
            db = vk.open(path)
        assert db.info().readers <= before - 2
    db.close()


def look_for_dead_readers(path: str) -> None:
    db = vk.open(path)
    db._shared.clean()
    say(db.info().readers)


def test_a_process_that_gave_up_its_locks_is_told_so(tmp_path: Path) -> None:
    """As by copying its own folder. Here the file is all it takes: the system drops the locks where one is closed."""
    path = tmp_path / "db"
    with vk.open(path) as db:
        db.execute(ITEMS)
        db.put("items", {"id": 1, "name": "kept"})
        assert db.get("items", 1) is not None
        for lock in path.rglob("lock.mdb"):
            lock.read_bytes()
        with child(look_for_dead_readers, path), pytest.raises(vk.LocksLost, match="lost its locks") as lost:
            db.get("items", 1)
    assert "lock.mdb" in lost.value.detail
    with vk.open(path) as db:
        assert db.get("items", 1) == {"id": 1, "name": "kept"}


def hold_the_write_lock(path: str) -> None:
    db = vk.open(path)

    def work(txn: Any) -> None:
        catalog = db._shared.written_catalog()
        codec, tables = catalog.codec("items"), catalog.databases.tables
        txn.put(codec.key.encode((7,)), codec.encode((7, "half-written")), db=tables[codec.table.id])
        say("locked")
        sys.stdin.read()

    db._shared.write(work)


def test_a_writer_killed_while_it_holds_the_lock_blocks_nobody(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with vk.open(path) as db:
        db.execute(ITEMS)
        with child(hold_the_write_lock, path) as writer:
            done = threading.Event()

            def put() -> None:
                db.put("items", {"id": 1, "name": "survivor"})
                done.set()

            waiting = threading.Thread(target=put)
            waiting.start()
            assert not done.wait(0.2), "the lock was not held"
            assert db.get("items", 1) is None, "a read waits for no writer"
            writer.kill()
            assert done.wait(10), "the lock of a dead writer still holds"
            waiting.join()
        assert list(db.scan("items")) == [{"id": 1, "name": "survivor"}]
        check_agreement(db._shared)


def make_when_told(path: str) -> None:
    say("started")
    sys.stdin.readline()
    with vk.open(path) as db:
        db.execute("CREATE TABLE IF NOT EXISTS items (id BIGINT PRIMARY KEY, name STRING)")
        number = time.monotonic_ns()
        db.insert("items", {"id": number, "name": db.info().database})
        say([db.info().database, number])


def test_processes_that_make_the_same_folder_at_once_get_one_database(tmp_path: Path) -> None:
    path = tmp_path / "new" / "db"
    makers = [start(make_when_told, path) for _ in range(4)]
    for maker in makers:
        assert maker.stdout is not None
        maker.stdout.readline()
    for maker in makers:
        assert maker.stdin is not None
        maker.stdin.write("go\n")
        maker.stdin.flush()
    said = [json.loads(maker.communicate(timeout=30)[0]) for maker in makers]
    assert len({database for database, _ in said}) == 1
    with vk.open(path) as db:
        assert {row["id"] for row in db.scan("items")} == {number for _, number in said}
        assert [table.name for table in db.tables()] == ["items"]
        check_agreement(db._shared)


def define_when_told(path: str) -> None:
    with vk.open(path) as db:
        say("started")
        for line in sys.stdin:
            db.execute(line)
            say("done")


@contextmanager
def definer(path: Path) -> Iterator[Any]:
    """A function that runs a statement in another process."""
    with child(define_when_told, path) as process:

        def define(sql: str) -> None:
            process.stdin.write(sql + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == "done"

        yield define


def test_a_write_right_after_the_ddl_of_another_process_obeys_it(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with vk.open(path) as db, definer(path) as define:
        db.execute(ITEMS)
        db.put("items", {"id": 1, "name": "before"})
        define("ALTER TABLE items ADD COLUMN price INT")
        db.put("items", {"id": 1, "price": 5})
        assert db.get("items", 1) == {"id": 1, "name": "before", "price": 5}
        define("DROP TABLE items")
        with pytest.raises(vk.UnknownTable):
            db.put("items", {"id": 2})
        with pytest.raises(vk.UnknownTable):
            db.get("items", 1)
        define("CREATE TABLE items (name STRING PRIMARY KEY)")
        db.put("items", {"name": "another table"})
        assert list(db.scan("items")) == [{"name": "another table"}]
        check_agreement(db._shared)


def test_a_whole_row_written_right_after_the_ddl_of_another_process_obeys_it(tmp_path: Path) -> None:
    """Whole rows are made ready with the catalog in memory, without a look at the store's."""
    path = tmp_path / "db"
    with vk.open(path) as db, definer(path) as define:
        db.execute(ITEMS)
        for number in range(2):
            db.put("items", {"id": number, "name": "before"})
        define("ALTER TABLE items ADD COLUMN price INT")
        db.put("items", {"id": 2, "name": "whole before"})
        db.insert("items", {"id": 3, "name": "after", "price": 5})
        assert [row["price"] for row in db.scan("items")] == [None, None, None, 5]
        define("ALTER TABLE items ADD COLUMN stock INT")
        with pytest.raises(vk.KeyExists):
            db.insert("items", {"id": 3, "name": "whole before", "price": 6})
        define("DROP TABLE items")
        with pytest.raises(vk.UnknownTable):
            db.put("items", {"id": 4, "name": "x", "price": 1, "stock": 1})
        define(ITEMS)
        db.put("items", {"id": 1, "name": "made again"})
        define("DROP TABLE items")
        define(ITEMS)
        db.put("items", {"id": 2, "name": "and again"})
        assert list(db.scan("items")) == [{"id": 2, "name": "and again"}]
        check_agreement(db._shared)


def test_ddl_of_another_process_between_a_look_at_the_catalog_and_the_commit_is_obeyed(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with vk.open(path) as db, definer(path) as define:
        db.execute(ITEMS)
        store = db._shared
        old = store.catalog().codec("items")
        define("ALTER TABLE items ADD COLUMN price INT")
        with pytest.raises(vk.Conflict):
            store.put(old, {0: 1, 1: "made for the old columns"})
        transaction = db.transaction()
        transaction.put("items", {"id": 3, "name": "made before the drop"})
        old = store.catalog().codec("items")
        define("DROP TABLE items")
        with pytest.raises(vk.UnknownTable):
            store.put(old, {0: 1, 1: "a row of no table"})
        with pytest.raises(vk.UnknownTable):
            transaction.commit()
        define(ITEMS)
        new = store.catalog().codec("items")
        assert new.table.id != old.table.id
        with pytest.raises(vk.UnknownTable):
            store.put(old, {0: 1, 1: "a row of the table before"})
        assert list(db.scan("items")) == []
        check_agreement(store)


def test_a_scan_goes_on_over_ddl_of_another_process(tmp_path: Path) -> None:
    path = tmp_path / "db"
    with vk.open(path) as db, definer(path) as define:
        db.execute(ITEMS)
        db.load("items", [{"id": number, "name": "item"} for number in range(5000)])
        rows, doomed = iter(db.scan("items")), iter(db.scan("items"))
        next(rows)
        next(doomed)
        define("ALTER TABLE items ADD COLUMN price INT")
        assert sum(1 for _ in rows) == 4999
        define("DROP TABLE items")
        with pytest.raises(vk.UnknownTable):
            list(doomed)
