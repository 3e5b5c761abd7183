"""Tasks that are under way when their view is moved: what they have given is right, and there is no more of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from viewkeeper.errors import TableDropped
from viewkeeper.spark import changerows, storedrows, target
from viewkeeper.spark.target import READ, Target, find, standing
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.scan import ALL

ROWS = 6000
THERE_AND_BACK = [("SYNC", "DEFERRED"), ("DEFERRED", "SYNC")]
MOVED = 'view "cheap" is kept elsewhere by now'


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, price BIGINT)")
        db.load("items", [{"id": n, "price": 1} for n in range(ROWS)])
        yield db


def _made(db: vk.Database, mode: str, monkeypatch: pytest.MonkeyPatch) -> tuple[EmbeddedStore, Target]:
    store = db._shared
    assert isinstance(store, EmbeddedStore)
    monkeypatch.setattr(target, "worker_store", lambda _: store)
    monkeypatch.setattr(storedrows, "worker_snapshot", lambda _, offset: store.snapshot(store.position(offset)))
    db.execute(f"CREATE VIEW cheap MAINTAIN {mode} AS SELECT id, price FROM items WHERE price < 3")
    db.maintain()
    return store, find({"path": "", "table": "cheap"}, "table", READ)


@pytest.mark.parametrize("modes", THERE_AND_BACK)
def test_rows_end_where_the_view_was_moved(
    db: vk.Database, modes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, found = _made(db, modes[0], monkeypatch)
    slices = storedrows.row_slices(store, found, standing(found, store, None), ALL)
    codec, rows = next(slices)
    assert [codec.decode(row)[0] for row in rows] == list(range(len(rows)))
    assert len(rows) < ROWS
    for mode in reversed(modes):
        db.execute(f"ALTER VIEW cheap SET MAINTAIN {mode}")
        db.put("items", {"id": ROWS - 1 - len(mode), "price": 2})
        db.maintain()
    with pytest.raises(TableDropped, match=MOVED):
        next(slices)


@pytest.mark.parametrize("modes", THERE_AND_BACK)
def test_changes_end_where_the_view_was_moved(
    db: vk.Database, modes: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changerows, "BATCH", 2)
    store, found = _made(db, modes[0], monkeypatch)
    lower = standing(found, store, None)
    for number in range(5):
        db.delete("items", number)
        db.maintain()
    batches = changerows.view_batches(store, found, lower, store.offset(db.head()))
    assert [row["key"]["id"] for row in next(batches).to_pylist()] == [0, 1]
    for mode in reversed(modes):
        db.execute(f"ALTER VIEW cheap SET MAINTAIN {mode}")
        db.delete("items", 10 + len(mode))
        db.maintain()
    with pytest.raises(TableDropped, match=MOVED):
        next(batches)


def test_a_view_that_stays_gives_all_of_it(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    store, found = _made(db, "SYNC", monkeypatch)
    # From one mode to another that is kept in the same place.
    slices = storedrows.row_slices(store, found, standing(found, store, None), ALL)
    first = len(next(slices)[1])
    db.execute("ALTER VIEW cheap SET MAINTAIN LOCAL")
    db.delete("items", ROWS - 1)
    assert first + sum(len(rows) for _, rows in slices) == ROWS
