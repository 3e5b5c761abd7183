"""No room left in the middle of a write: StoreFull, nothing half-written, and work goes on when there is room again."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.faults.agreement import check_agreement
from tests.faults.child import outcome, say, tell
from tests.faults.disks import can_mount, small_disk
from tests.faults.threads import Round, Thread
from viewkeeper.store.registry import close_store, open_store

FULL = "store.full"
BATCH = 50
SCHEMA = """
CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING);
CREATE TABLE tags (item BIGINT, tag STRING, PRIMARY KEY (item, tag)) WITH CARDINALITY (tag, 1000)
"""


def rows(first: int, count: int, size: int = 1000) -> Iterator[dict[str, Any]]:
    return ({"id": number, "name": f"{number} {'x' * size}"} for number in range(first, first + count))


def work_until_full(path: str, make_full: Callable[[], None], make_room: Callable[[], None]) -> None:
    """Loads, puts and transactions on a disk that fills up; says what became of them."""
    db = vk.open(path)
    db.execute(SCHEMA)
    db.load("items", rows(0, 100))
    make_full()
    before = db.info().tables[0].rows
    say(outcome(lambda: db.load("items", rows(1000, 20_000), batch_rows=BATCH)))
    loaded = db.info().tables[0].rows - before
    say({"in whole batches": loaded % BATCH == 0, "some": loaded > 0, "all": loaded == 20_000})
    say({"in order": [row["id"] for row in db.scan("items", lower=1000)] == list(range(1000, 1000 + loaded))})
    put = 100_000
    while (came := outcome(partial(db.put, "items", next(rows(put, 1))))) == "ok":
        put += 1
    say([came, db.get("items", put), put == 100_000 or db.get("items", put - 1) is not None])
    say([outcome(lambda: tag_many(db, 1)), list(db.scan("tags"))])
    say(outcome(lambda: db.execute("UPDATE items SET name = 'y' WHERE id < 100")) in ("ok", FULL))
    check_agreement(db._shared)
    db.close()
    with vk.open(path) as again:
        say([again.get("items", put), len(list(again.scan("items", lower=1000, upper=100_000))) == loaded])
        check_agreement(again._shared)
        make_room()
        tag_many(again, 1)
        again.load("items", rows(1000, loaded + 100), batch_rows=BATCH)
        again.put("items", next(rows(put, 1)))
        say([len(list(again.scan("tags"))), len(list(again.scan("items", lower=1000, upper=100_000))) - loaded])
        check_agreement(again._shared)


def tag_many(db: vk.Database, item: int) -> None:
    with db.transaction() as tx:
        tx.put("items", {"id": item, "name": "tagged"})
        for number in range(600):
            tx.put("tags", {"item": item, "tag": f"{number} {'t' * 400}"})


EXPECTED = [
    FULL,
    {"in whole batches": True, "some": True, "all": False},
    {"in order": True},
    [FULL, None, True],
    [FULL, []],
    True,
    [None, True],
    [600, 100],
]


def work_within_a_file_size(path: str) -> None:
    # Else the kernel ends the process instead of failing the write.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)

    def make_full() -> None:
        size = os.path.getsize(f"{path}/base/data.mdb")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 900_000, unlimited[1]))

    work_until_full(path, make_full, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, unlimited))


def test_a_limit_on_the_size_of_files_leaves_nothing_half_written(tmp_path: Path) -> None:
    assert tell(work_within_a_file_size, tmp_path / "db") == EXPECTED


def work_on_a_small_disk(disk: str) -> None:
    ballast = Path(disk) / "ballast"
    ballast.write_bytes(bytes(4_000_000))
    work_until_full(f"{disk}/db", lambda: None, ballast.unlink)


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("this machine lets nobody mount a small disk; the test above fills a file instead")
    assert tell(work_on_a_small_disk, tmp_path, within=small_disk(tmp_path, "6m")) == EXPECTED


def make_on_a_full_disk(disk: str) -> None:
    ballast = Path(disk) / "ballast"
    with ballast.open("wb", buffering=0) as file:
        say(outcome(lambda: [file.write(bytes(4096)) for _ in range(1000)]).startswith("OSError"))
    say(outcome(lambda: vk.open(f"{disk}/db")))
    ballast.unlink()
    with vk.open(f"{disk}/db") as db:
        db.execute(SCHEMA)
        say(db.get("items", 1))


def test_a_database_is_not_made_on_a_full_disk_and_is_once_there_is_room(tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("this machine lets nobody mount a small disk")
    said = tell(make_on_a_full_disk, tmp_path, within=small_disk(tmp_path, "1m"))
    assert said == [True, FULL, None]


def read_much_on_a_full_disk(disk: str) -> None:
    """More readers at once than there were before the disk was full: each has to enter itself on the disk."""
    db = vk.open(f"{disk}/db")
    db.execute(SCHEMA)
    with (Path(disk) / "ballast").open("wb", buffering=0) as file:
        outcome(lambda: [file.write(bytes(4096)) for _ in range(1000)])
    readers = [db._shared.base.begin() for _ in range(400)]
    say(len(readers))


def test_a_full_disk_does_not_kill_readers(tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("this machine lets nobody mount a small disk")
    assert tell(read_much_on_a_full_disk, tmp_path, within=small_disk(tmp_path, "2m")) == [400]


@pytest.fixture
def small_map(tmp_path: Path) -> Iterator[vk.Database]:
    """A handle with little address space; others of this process share it."""
    path = tmp_path / "db"
    with vk.open(path) as db:
        db.execute(SCHEMA)
    store = open_store(path, map_size=2 << 20)
    try:
        with vk.open(path) as db:
            yield db
    finally:
        close_store(store)
    with vk.open(path) as db:
        check_agreement(db._shared)
        tag_many(db, 7)
        db.load("items", rows(5000, 500))
        assert len(list(db.scan("items", lower=5000, upper=5500))) == 500
        check_agreement(db._shared)


def count(db: vk.Database) -> int:
    return db.info().tables[0].rows


def test_a_full_map_refuses_puts_and_keeps_what_it_has(small_map: vk.Database) -> None:
    codes = [outcome(partial(small_map.put, "items", row)) for row in rows(0, 1500)]
    assert set(codes) == {"ok", FULL}
    assert codes[:10] == ["ok"] * 10
    assert codes[-1] == FULL
    assert count(small_map) == codes.count("ok")
    check_agreement(small_map._shared)


def test_a_full_map_takes_nothing_of_a_transaction(small_map: vk.Database) -> None:
    codes = [outcome(partial(tag_many, small_map, item)) for item in range(6)]
    committed = codes.count("ok")
    assert 0 < committed < 6
    assert codes == ["ok"] * committed + [FULL] * (6 - committed)
    assert [row["id"] for row in small_map.scan("items")] == list(range(committed))
    assert len(list(small_map.scan("tags"))) == 600 * committed
    check_agreement(small_map._shared)


def test_a_full_map_keeps_the_batches_of_a_load_before_it(small_map: vk.Database) -> None:
    assert outcome(lambda: small_map.load("items", rows(0, 2000), batch_rows=BATCH)) == FULL
    loaded = count(small_map)
    assert 0 < loaded < 2000
    assert loaded % BATCH == 0
    assert [row["id"] for row in small_map.scan("items")] == list(range(loaded))
    check_agreement(small_map._shared)


def test_a_member_of_a_group_that_finds_no_room_fails_alone(small_map: vk.Database) -> None:
    round_ = Round(small_map._shared)
    before = Thread(lambda: small_map.put("items", {"id": 1}))
    round_.wait_for(1)
    large = Thread(lambda: small_map.load("items", rows(100, 2000)))
    round_.wait_for(2)
    behind = Thread(lambda: small_map.put("items", {"id": 2}))
    round_.wait_for(3)
    round_.go_on()
    assert isinstance(before.ended(), vk.Position)
    assert isinstance(large.ended(), vk.StoreFull)
    assert isinstance(behind.ended(), vk.Position)
    assert [row["id"] for row in small_map.scan("items")] == [1, 2]
    check_agreement(small_map._shared)
