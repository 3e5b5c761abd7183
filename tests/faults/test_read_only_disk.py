"""A disk that cannot be written, and a folder that may not be: writing is refused, reading goes on where it can."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.faults.child import outcome, say, tell
from tests.faults.disks import can_mount, read_only_disk

READ_ONLY = "store.read_only"
NOBODY = 65534


def make(path: Path) -> None:
    with vk.open(path) as db:
        db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING)")
        db.load("items", [{"id": number, "name": "item"} for number in range(500)])
        db.put("items", {"id": 1, "name": "changed"})


def use(path: str) -> None:
    say(
        [
            outcome(lambda: vk.open(path)),
            outcome(lambda: vk.open(path, durability="sync")),
            outcome(lambda: vk.open(f"{path}/new")),
        ]
    )
    with vk.open(path, read_only=True) as db:
        say([db.get("items", 1), len(list(db.scan("items"))), len(list(db.changes("items", since=db.oldest())))])
        say([len(list(db.snapshot(db.oldest()).scan("items"))), db.info().tables[0].rows, len(db.tables())])
        say(
            [
                outcome(lambda: db.put("items", {"id": 1, "name": "no"})),
                outcome(lambda: db.execute("DROP TABLE items")),
                outcome(db.transaction),
                outcome(lambda: db.configure(log_retention="2h")),
                outcome(lambda: vk.open(path)),
            ]
        )
        with vk.open(path, read_only=True) as second:
            say(second.get("items", 2))
        say(db.get("items", 2))


def test_a_database_on_a_read_only_disk_is_read_and_not_written(tmp_path: Path) -> None:
    if not can_mount():
        pytest.skip("this machine lets nobody mount a read-only disk; rights are taken away in the test below")
    path = tmp_path / "db"
    make(path)
    opened, read, past, refusals, second, first = tell(use, path, within=read_only_disk(path))
    assert opened == [READ_ONLY] * 3
    assert read == [{"id": 1, "name": "changed"}, 500, 501]
    assert past == [0, 500, 1]
    assert refusals == [READ_ONLY] * 5
    assert second == first == {"id": 2, "name": "item"}
    with vk.open(path) as db:
        assert db.get("items", 1) == {"id": 1, "name": "changed"}


def refused_to_a_stranger(path: str) -> None:
    if os.geteuid() == 0:
        # Root may write whatever the rights say.
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    say(outcome(lambda: vk.open(path)))
    say(outcome(lambda: vk.open(path, read_only=True)))


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    """A database, and a folder around it, that everyone may read and nobody may write."""
    path = tmp_path / "db"
    make(path)
    private = [folder for folder in tmp_path.parents if not folder.stat().st_mode & stat.S_IXOTH]
    for folder in private:
        folder.chmod(0o755)
    entries = [*path.rglob("*"), path, tmp_path]
    for entry in entries:
        entry.chmod(0o555 if entry.is_dir() else 0o444)
    yield path
    for entry in entries:
        entry.chmod(0o755 if entry.is_dir() else 0o644)
    for folder in private:
        folder.chmod(0o700)


def test_a_folder_that_may_not_be_written_is_refused_with_a_way_out(unwritable: Path) -> None:
    """Even reading: without the right to write its table of readers, a process is no safe company for a writer."""
    assert tell(refused_to_a_stranger, unwritable) == [READ_ONLY, READ_ONLY]
    assert tell(refused_to_a_stranger, unwritable.with_name("new")) == [READ_ONLY, "store.not_a_database"]
