"""PERIODIC views: computed anew, exchanged whole, followed by others."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.pipeline.shop import damages, store_of
from viewkeeper.errors import Outrun, ViewNotReady
from viewkeeper.execute import recompute
from viewkeeper.pipeline.periodic import due, periodic_views, refresh
from viewkeeper.pipeline.repair import repair
from viewkeeper.views import fill

TAGS = "CREATE TABLE Tags (doc BIGINT, tag STRING, at BIGINT, PRIMARY KEY (doc, tag))"
POPULAR = """
CREATE VIEW V PERIODIC 1 MIN
SELECT tag, COUNT(*) AS n FROM (SELECT * FROM Tags ORDER BY at DESC LIMIT 5) GROUP BY tag
"""
KINDS = {
    "groups of first rows": POPULAR,
    "first rows": "CREATE VIEW V PERIODIC 1 MIN SELECT tag, at FROM Tags ORDER BY at DESC LIMIT 4",
    "rows without a key": "CREATE VIEW V PERIODIC 1 MIN SELECT tag FROM (SELECT * FROM Doubled ORDER BY at LIMIT 9)",
    "window": "CREATE VIEW V PERIODIC 1 MIN SELECT doc, tag, RANK() OVER (PARTITION BY tag ORDER BY at) AS n FROM Tags",
    "median": "CREATE VIEW V PERIODIC 1 MIN SELECT tag, MEDIAN(at) AS m FROM Tags GROUP BY tag",
    "maintainable": "CREATE VIEW V PERIODIC 1 MIN SELECT tag, COUNT(*) AS n, MAX(at) AS latest FROM Tags GROUP BY tag",
    "maintainable join": """
        CREATE VIEW V PERIODIC 1 MIN
        SELECT x.doc, y.doc AS later FROM Tags AS x LEFT JOIN Tags AS y ON x.tag = y.tag AND x.at < y.at
    """,
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db") as opened:
        opened.execute(TAGS)
        opened.execute("CREATE VIEW Doubled AS SELECT tag, at FROM Tags UNION ALL SELECT tag, at FROM Tags")
        for doc in range(12):
            opened.put("Tags", {"doc": doc, "tag": "abc"[doc % 3], "at": doc * 7 % 12})
        opened.maintain()
        yield opened


def _change(db: vk.Database) -> None:
    with db.transaction() as tx:
        for doc in range(12, 18):
            tx.put("Tags", {"doc": doc, "tag": "ad"[doc % 2], "at": doc * 5 % 16})
        tx.delete("Tags", 1, "b")
        tx.put("Tags", {"doc": 2, "tag": "c", "at": 40})


def _rows(db: vk.Database, name: str = "V") -> list[Any]:
    return sorted(map(repr, db.scan(name)))


def _view(db: vk.Database, name: str = "V") -> Any:
    return store_of(db).catalog().known_view(name)


def _refresh(db: vk.Database, name: str = "V", **options: Any) -> Any:
    return refresh(store_of(db), None, _view(db, name), **options)


def _fresh(db: vk.Database, text: str) -> list[Any]:
    """The rows that the view has when it is made now."""
    db.execute(text.replace("VIEW V", "VIEW Fresh"))
    rows = _rows(db, "Fresh")
    db.execute("DROP VIEW Fresh")
    return rows


@pytest.mark.parametrize("kind", KINDS)
def test_a_refresh_brings_what_the_view_would_be_if_it_were_made_now(db: vk.Database, kind: str) -> None:
    db.execute(KINDS[kind])
    before = _rows(db)
    _change(db)
    db.maintain(views=["Doubled"])
    assert _rows(db) == before
    made = _refresh(db)
    assert made.moved
    assert made.written + made.removed > 0
    assert store_of(db).offset(made.position) == store_of(db).offset(store_of(db).head())
    assert _rows(db) == _fresh(db, KINDS[kind]) != before
    assert db.verify("V").ok


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_row_is_found_and_put_right(db: vk.Database, kind: str) -> None:
    db.execute(KINDS[kind])
    store = store_of(db)
    for damage in list(damages(store))[:3]:
        damage.do(store)
        assert not db.verify("V").ok
        assert repair(store, "V").written == 1
        assert db.verify("V").ok


def test_create_reads_rows_and_never_starts_spark(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewkeeper.pipeline.session.SparkSource.session", None)
    db.execute(POPULAR)
    assert db.get("V", "a") == {"tag": "a", "n": 1}


def test_nothing_is_written_where_nothing_has_changed(db: vk.Database) -> None:
    db.execute(POPULAR)
    made = _refresh(db)
    assert not made.moved
    assert (made.written, made.removed) == (0, 0)
    db.put("Tags", {"doc": 99, "tag": "a", "at": -1})
    made = _refresh(db)
    assert made.moved
    assert (made.written, made.removed) == (0, 0)


def test_readers_see_the_old_rows_until_all_new_ones_are_there(db: vk.Database) -> None:
    db.execute(POPULAR)
    before = _rows(db)
    _change(db)
    seen: dict[str, list[Any]] = {}
    _refresh(db, step=lambda name: seen.setdefault(name, _rows(db)))
    assert seen["claimed"] == seen["computed"] == before
    assert seen["exchanged"] == _rows(db) != before


class _Killed(BaseException):
    """Not an Exception: nothing on the way catches it."""


@pytest.mark.parametrize("kind", ["groups of first rows", "maintainable"])
@pytest.mark.parametrize("where", ["claimed", "computed", "exchanged"])
def test_a_refresh_that_is_killed_leaves_the_old_rows_or_the_new_ones(db: vk.Database, kind: str, where: str) -> None:
    db.execute(KINDS[kind])
    before = _rows(db)
    _change(db)
    after = _fresh(db, KINDS[kind])

    def kill(name: str) -> None:
        if name == where:
            raise _Killed

    with pytest.raises(_Killed):
        _refresh(db, step=kill)
    assert _rows(db) == (after if where == "exchanged" else before)
    assert db.verify("V").ok
    _refresh(db)
    assert _rows(db) == after
    assert db.verify("V").ok


def test_a_killed_refresh_leaves_no_slot_behind(db: vk.Database) -> None:
    db.execute(POPULAR)
    slots = {state.slot for state in store_of(db).view_tables.objects()[1].values()}
    _change(db)

    def kill(name: str) -> None:
        if name == "computed":
            raise _Killed

    with pytest.raises(_Killed):
        _refresh(db, step=kill)
    assert {state.slot for state in store_of(db).view_tables.objects()[1].values()} == slots


def test_who_was_faster_wins(db: vk.Database) -> None:
    db.execute(POPULAR)
    _change(db)
    store, after = store_of(db), _fresh(db, POPULAR)

    def overtake(name: str) -> None:
        if name == "computed":
            # As if it had been stopped for longer than its claim lasts.
            (group,) = [number for number, state in store.view_tables.groups().items() if _view(db).id in state.objects]
            store.view_tables.release(group, store.view_tables.groups()[group].holder)
            _refresh(db)

    with pytest.raises(Outrun):
        _refresh(db, step=overtake)
    assert _rows(db) == after


def test_an_error_leaves_the_old_rows(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.execute(POPULAR)
    before, watermark = _rows(db), db.status()
    _change(db)

    def fail(*_: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(recompute, "recompute", fail)
        with pytest.raises(MemoryError):
            _refresh(db)
    assert _rows(db) == before
    assert [one.watermark for one in db.status()] == [one.watermark for one in watermark]
    _refresh(db)
    assert db.verify("V").ok


def test_the_feed_leads_from_the_old_rows_to_the_new_ones(db: vk.Database) -> None:
    db.execute(POPULAR)
    store = store_of(db)
    rows = {row["tag"]: row for row in db.scan("V")}
    since = store.position(store.view_tables.standing(_view(db).id)[1].watermark)  # type: ignore[index]
    _change(db)
    _refresh(db)
    for change in db.changes("V", since=since):
        assert rows.pop(change.key[0], None) == change.before
        if change.after is not None:
            rows[change.key[0]] = change.after
    assert sorted(rows) == sorted(row["tag"] for row in db.scan("V"))
    assert all(db.get("V", tag) == row for tag, row in rows.items())


def test_an_earlier_position_is_read_by_undoing_the_exchange(db: vk.Database) -> None:
    db.execute(POPULAR)
    store, codec = store_of(db), store_of(db).catalog().view_codecs[_view(db).id]
    before = [list(part) for part in store.view_tables.as_of(codec, _watermark(db)).scan(fill.ALL)]
    earlier = store.view_tables.as_of(codec, _watermark(db))
    _change(db)
    _refresh(db)
    assert [list(part) for part in earlier.scan(fill.ALL)] == before
    assert [list(part) for part in store.view_tables.as_of(codec, _watermark(db)).scan(fill.ALL)] != before


def _watermark(db: vk.Database, name: str = "V") -> int:
    found = store_of(db).view_tables.standing(_view(db, name).id)
    assert found is not None
    return found[1].watermark


def test_a_deferred_view_follows_a_periodic_one(db: vk.Database) -> None:
    db.execute(POPULAR)
    db.execute("CREATE VIEW Above AS SELECT n, COUNT(*) AS tags FROM V GROUP BY n")
    _change(db)
    _refresh(db)
    db.maintain(views=["Above"])
    assert _watermark(db, "Above") == _watermark(db)
    assert sum(row["n"] * row["tags"] for row in db.scan("Above")) == 5
    assert db.verify("Above").ok


def test_a_periodic_view_is_computed_where_what_it_reads_has_stood(db: vk.Database) -> None:
    db.execute("CREATE VIEW Counts AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag")
    db.execute("CREATE VIEW V PERIODIC 1 MIN SELECT tag, n FROM Counts ORDER BY n DESC, tag LIMIT 2")
    before, stood = _rows(db), _watermark(db)
    _change(db)
    assert not _refresh(db).moved
    assert (_rows(db), _watermark(db)) == (before, stood)
    db.maintain(views=["Counts"])
    assert _refresh(db).moved
    assert _watermark(db) == _watermark(db, "Counts") > stood
    assert db.verify("V").ok


def test_periodic_views_on_one_another_are_exchanged_in_order(db: vk.Database) -> None:
    db.execute(POPULAR)
    db.execute("CREATE VIEW Most PERIODIC 1 MIN SELECT tag FROM V ORDER BY n DESC, tag LIMIT 1")
    _change(db)
    for view in periodic_views(store_of(db)):
        refresh(store_of(db), None, view)
    assert _watermark(db, "Most") == _watermark(db)
    best = max(db.scan("V"), key=lambda row: (row["n"], [-ord(row["tag"])]))
    assert [row["tag"] for row in db.scan("Most")] == [best["tag"]]
    assert db.verify("Most").ok


def test_due_is_what_was_not_refreshed_for_its_interval(db: vk.Database) -> None:
    store = store_of(db)
    db.execute(POPULAR)
    db.execute("CREATE VIEW Rare PERIODIC 1 HOUR SELECT tag FROM Tags ORDER BY at LIMIT 1")
    for view in due(store):
        refresh(store, None, view)
    now = time.time_ns() // 1000
    assert due(store, now=now) == []
    assert [view.name for view in due(store, now=now + 61_000_000)] == ["V"]
    assert sorted(view.name for view in due(store, now=now + 3_601_000_000)) == ["Rare", "V"]
    store.view_tables.note(_view(db).id, failures=1, retry_at=now + 90_000_000)
    assert due(store, now=now + 61_000_000) == []


def test_due_is_what_a_reader_waits_for(db: vk.Database) -> None:
    store = store_of(db)
    db.execute(POPULAR)
    _refresh(db)
    _change(db)
    assert due(store) == []
    upto = store.offset(store.head())
    store.view_tables.ask(_view(db).id, upto, priority=1, requester="test", seconds=60)
    assert [view.name for view in due(store)] == ["V"]
    _refresh(db)
    assert due(store) == []


def test_due_is_what_stands_below_a_view_that_a_reader_waits_for(db: vk.Database) -> None:
    store = store_of(db)
    db.execute(POPULAR)
    db.execute("CREATE VIEW Above AS SELECT n, COUNT(*) AS tags FROM V GROUP BY n")
    _refresh(db)
    _change(db)
    upto = store.offset(store.head())
    store.view_tables.ask(_view(db, "Above").id, upto, priority=1, requester="test", seconds=60)
    assert [view.name for view in due(store)] == ["V"]


def test_an_unfilled_view_is_not_refreshed(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewkeeper.write.views.SMALL", -1)
    db.execute(POPULAR)
    assert due(store_of(db)) == []
    with pytest.raises(ViewNotReady):
        _refresh(db)


def test_errors_of_expressions_are_counted_anew(db: vk.Database) -> None:
    db.execute("CREATE VIEW V PERIODIC 1 MIN SELECT doc, tag, 10 / at AS x FROM Tags ORDER BY doc LIMIT 20")
    assert _errors(db) == 1
    db.put("Tags", {"doc": 5, "tag": "c", "at": 0})
    _refresh(db)
    assert _errors(db) == 2
    for doc in range(12):
        db.delete("Tags", doc, "abc"[doc % 3])
    _refresh(db)
    assert (_errors(db), _rows(db)) == (0, [])


def _errors(db: vk.Database) -> int:
    return next(one.errors for one in db.status() if one.view == "V")
