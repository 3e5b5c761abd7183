"""Folders that are no database, not yet one, or not one for us: a clear error each, and nothing written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.faults.agreement import check_agreement

MARKER = "viewkeeper.json"


def make(path: Path, **options: Any) -> str:
    """A small database; its id."""
    with vk.open(path, **options) as db:
        db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING)")
        db.put("items", {"id": 1, "name": "kept"})
        return db.info().database


def contents(path: Path) -> dict[str, bytes | None]:
    """Every file and folder below a path, without LMDB's table of readers, which every open writes."""
    return {
        str(entry.relative_to(path)): entry.read_bytes() if entry.is_file() else None
        for entry in path.rglob("*")
        if entry.name != "lock.mdb"
    }


def refused(path: Path, error: type[vk.ViewkeeperError], **options: Any) -> vk.ViewkeeperError:
    """The error of opening a path, which changes nothing there."""
    before = contents(path) if path.is_dir() else path.exists()
    with pytest.raises(error) as raised:
        vk.open(path, **options)
    assert raised.value.code == error.code
    assert raised.value.hint, f"no hint: {raised.value}"
    assert (contents(path) if path.is_dir() else path.exists()) == before
    return raised.value


def mark(path: Path, **fields: object) -> None:
    marker = json.loads((path / MARKER).read_text())
    (path / MARKER).write_text(json.dumps({**marker, **fields}))


def test_a_folder_with_other_things_is_not_a_database(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    for read_only in (False, True):
        error = refused(tmp_path, vk.NotADatabase, read_only=read_only)
        assert "thesis.tex" in str(error)


def test_a_database_beside_other_things_is_one(tmp_path: Path) -> None:
    make(tmp_path)
    (tmp_path / "README").write_text("put there later")
    with vk.open(tmp_path) as db:
        assert db.get("items", 1) == {"id": 1, "name": "kept"}


def test_a_file_is_not_a_database(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_text("not a folder")
    refused(path, vk.NotADatabase)
    assert path.read_text() == "not a folder"


def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused(tmp_path / "file" / "db", vk.NotADatabase)


def test_read_only_makes_no_database(tmp_path: Path) -> None:
    refused(tmp_path / "absent", vk.NotADatabase, read_only=True)
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", vk.NotADatabase, read_only=True)


@pytest.mark.parametrize(
    "left", [[], ["create.lock"], ["create.lock", "base/", "views/"], ["views/", "viewkeeper.json.new"]]
)
def test_a_making_that_was_interrupted_is_completed(tmp_path: Path, left: list[str]) -> None:
    path = tmp_path / "db"
    path.mkdir()
    for name in left:
        (path / name).mkdir() if name.endswith("/") else (path / name).write_bytes(b"")
    make(path)
    with vk.open(path) as db:
        assert db.get("items", 1) == {"id": 1, "name": "kept"}
        check_agreement(db._shared)


def test_a_making_that_was_interrupted_just_before_its_end_is_completed(tmp_path: Path) -> None:
    path = tmp_path / "db"
    database = make(path)
    (path / MARKER).unlink()
    with vk.open(path) as db:
        assert db.get("items", 1) == {"id": 1, "name": "kept"}
        assert db.info().database == database, "positions given out before would be another database's"


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    make(tmp_path)
    mark(tmp_path, viewkeeper=2, something="new")
    assert "format 2" in str(refused(tmp_path, vk.NewerFormat))
    refused(tmp_path, vk.NewerFormat, read_only=True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "\x00\xff",
        "[]",
        "7",
        "null",
        "{}",
        '{"viewkeeper": 1}',
        '{"viewkeeper": "one", "database": "0123456789ab", "durability": "sync"}',
        '{"viewkeeper": 0, "database": "0123456789ab", "durability": "sync"}',
        '{"viewkeeper": 1, "database": 5, "durability": "sync"}',
        '{"viewkeeper": 1, "database": "not an id!", "durability": "sync"}',
        '{"viewkeeper": 1, "database": "0123456789ab", "durability": "perhaps"}',
    ],
)
def test_a_damaged_marker_is_told_apart_from_a_newer_one(tmp_path: Path, text: str) -> None:
    make(tmp_path)
    (tmp_path / MARKER).write_bytes(text.encode("latin-1"))
    refused(tmp_path, vk.StoreDamaged)
    refused(tmp_path, vk.StoreDamaged, read_only=True)


def test_parts_of_two_databases_cannot_be_mixed(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    mine, theirs = make(one), make(other)
    shutil.rmtree(one / "base")
    shutil.copytree(other / "base", one / "base")
    for read_only in (False, True):
        error = refused(one, vk.StoreDamaged, read_only=read_only)
        assert mine in str(error)
        assert theirs in str(error)


@pytest.mark.parametrize("part", ["base", "base/data.mdb"])
def test_a_database_that_lost_its_data_is_not_an_empty_one(tmp_path: Path, part: str) -> None:
    path = tmp_path / "db"
    make(path)
    lost = path / part
    shutil.rmtree(lost) if lost.is_dir() else lost.unlink()
    refused(path, vk.StoreDamaged)
    refused(path, vk.StoreDamaged, read_only=True)


@pytest.mark.parametrize(("kept", "asked"), [("sync", "os"), ("os", "sync")])
def test_durability_belongs_to_the_database(tmp_path: Path, kept: str, asked: str) -> None:
    make(tmp_path, durability=kept)
    refused(tmp_path, vk.DurabilityMismatch, durability=asked)
    for same in (kept, None):
        with vk.open(tmp_path, durability=same) as db:  # type: ignore[arg-type]
            assert db.info().durability == kept
            refused_beside = outcome_of_opening(tmp_path, asked)
            assert refused_beside == vk.DurabilityMismatch.code


def outcome_of_opening(path: Path, durability: Any) -> str:
    try:
        vk.open(path, durability=durability).close()
    except vk.ViewkeeperError as error:
        return error.code
    return "ok"


def test_an_unknown_durability_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    refused(tmp_path / "db", vk.DurabilityMismatch, durability="fast")
    assert not (tmp_path / "db").exists()


def test_a_refused_open_leaves_no_handle_behind(tmp_path: Path) -> None:
    make(tmp_path, durability="os")
    refused(tmp_path, vk.DurabilityMismatch, durability="sync")
    moved = tmp_path.with_name("moved")
    with vk.open(tmp_path) as db:
        db.put("items", {"id": 2})
    tmp_path.rename(moved)
    with vk.open(moved) as db:
        assert db.get("items", 2) == {"id": 2, "name": None}
