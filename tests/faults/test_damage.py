"""Data files with wrong bytes: StoreDamaged where it shows, the right answer where it does not, and never a crash.

LMDB has no checksums and stops the process when it walks onto a page that was zeroed in the middle of a tree, so these
are the damages that can be told: files that were cut, swapped, overwritten from the start, or hit inside a row or a
block of the log.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import lmdb
import pytest

import viewkeeper as vk
from tests.faults.child import outcome, say, tell
from viewkeeper.store.pages import lost_pages

DAMAGED = "store.damaged"
PAGE = 4096


def make(path: Path) -> Path:
    """A database with a loaded table and single writes in its log; its data file."""
    with vk.open(path) as db:
        db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING)")
        db.load("items", [{"id": number, "name": f"first {number}"} for number in range(3000)])
        for number in range(20):
            db.put("items", {"id": number, "name": "changed"})
    return path / "base" / "data.mdb"


def open_each(*paths: str) -> None:
    def opened(path: str, read_only: bool) -> None:
        vk.open(path, read_only=read_only).close()

    for path in paths:
        say([outcome(partial(opened, path, read_only)) for read_only in (False, True)])


def use_everything(path: str) -> None:
    """Open, read all there is, and write; what came of each."""
    db = vk.open(path)
    uses: dict[str, Callable[[], object]] = {
        "tables": db.tables,
        "get": lambda: db.get("items", 1500),
        "scan": lambda: list(db.scan("items")),
        "reverse": lambda: list(db.scan("items", reverse=True)),
        "as of": lambda: list(db.snapshot(db.oldest()).scan("items")),
        "changes": lambda: list(db.changes("items", since=db.oldest())),
        "info": db.info,
        "put": lambda: db.put("items", {"id": 1500, "name": "new"}),
        "merge": lambda: db.execute("UPDATE items SET name = 'merged' WHERE id < 3000"),
        "load": lambda: db.load("items", [{"id": number, "name": "new"} for number in range(2900, 3100)]),
        "clean": db._shared.clean,
        "close": db.close,
    }
    say({name: outcome(use) for name, use in uses.items()})


WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "a text": lambda data: b"not a database\n" * 1000,
    "garbage": lambda data: random.Random(1).randbytes(len(data)),
    "garbage in both meta pages": lambda data: random.Random(2).randbytes(2 * PAGE) + data[2 * PAGE :],
    "garbage behind the meta pages": lambda data: data[: 2 * PAGE] + random.Random(3).randbytes(len(data) - 2 * PAGE),
    "zeros behind the meta pages": lambda data: data[: 2 * PAGE] + bytes(len(data) - 2 * PAGE),
    "cut to a page": lambda data: data[:PAGE],
    "cut to the meta pages": lambda data: data[: 2 * PAGE],
    "cut to a half": lambda data: data[: len(data) // 2],
    "cut inside a page": lambda data: data[: len(data) // 2 + 100],
}


@pytest.mark.parametrize("part", ["base", "views"])
def test_a_damaged_file_is_told_when_it_is_opened(tmp_path: Path, part: str) -> None:
    make(tmp_path / "whole")
    paths = [tmp_path / kind for kind in WHOLE]
    for path in paths:
        shutil.copytree(tmp_path / "whole", path)
        file = path / part / "data.mdb"
        file.write_bytes(WHOLE[path.name](file.read_bytes()))
    # All in one process: a crash ends it, and what it has said so far tells whose turn it was.
    told = dict(zip(WHOLE, tell(open_each, *paths), strict=True))
    assert {kind: codes for kind, codes in told.items() if codes != [DAMAGED, DAMAGED]} == {}


def test_bytes_damaged_inside_rows_and_blocks_are_told_when_they_are_read(tmp_path: Path) -> None:
    """The texts themselves, where they lie: in leaves of the table, and in the columns of a block of the log."""
    file = make(tmp_path / "db")
    data = file.read_bytes()
    assert data.count(b"first 1") > 2000
    file.write_bytes(data.replace(b"first 1", b"f\xff\xfe\xfdt 1"))
    (results,) = tell(use_everything, tmp_path / "db")
    told = {name for name, result in results.items() if result == DAMAGED}
    assert set(results.values()) == {"ok", DAMAGED}
    assert told >= {"get", "scan", "reverse", "as of", "changes", "merge"}


def test_a_columnar_block_with_wild_offsets_is_told_and_not_followed(tmp_path: Path) -> None:
    file = make(tmp_path / "db")
    data = bytearray(file.read_bytes())
    # Offsets of the texts "first 0", "first 1", …, of 7 bytes each, as Arrow keeps them; rows have none.
    place = data.index(b"".join(offset.to_bytes(4, "little") for offset in (0, 7, 14, 21, 28)))
    for at in range(place, place + 40, 4):
        data[at : at + 4] = (0x7FFF_FFF0 - at % 4096).to_bytes(4, "little")
    file.write_bytes(bytes(data))
    (results,) = tell(use_everything, tmp_path / "db")
    assert results["changes"] == DAMAGED
    assert set(results.values()) == {"ok", DAMAGED}
    assert results["get"] == results["scan"] == "ok", "the tables are whole"


def fill_and_free(folder: Path) -> int:
    """An LMDB file whose last pages are free; how many entries it has."""
    with lmdb.open(str(folder), map_size=1 << 30) as environment:
        for size in (100, 6_000, 100, 90, 80, 70):
            with environment.begin(write=True) as txn:
                for key in range(200):
                    txn.put(b"%d" % key, bytes(size))
        return int(environment.stat()["entries"])


def read_all(folder: str) -> None:
    with lmdb.open(folder, readonly=True, map_size=1 << 30) as environment, environment.begin() as txn:
        say(sum(1 for _ in txn.cursor()))


def test_only_free_pages_may_be_missing_from_a_file(tmp_path: Path) -> None:
    entries = fill_and_free(tmp_path)
    file = tmp_path / "data.mdb"
    whole = file.read_bytes()
    pages = len(whole) // PAGE
    lost = []
    for kept in range(pages, 2, -1):
        os.truncate(file, kept * PAGE)
        lost.append(lost_pages(file))
    harmless = next(number for number, count in enumerate(lost) if count) - 1
    assert lost[: harmless + 1] == [0] * (harmless + 1)
    assert harmless > 0, "no free page was cut off, and the test tests nothing"
    assert lost == sorted(lost)
    file.write_bytes(whole[: (pages - harmless) * PAGE])
    assert tell(read_all, tmp_path) == [entries]
