"""Verification of what has changed since some position: it finds what a whole one would, among that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.shop import ABOVE, BELOW, VIEWS, Damage, contents, damages, maintain, make_shop, sale, store_of
from tests.pipeline.test_verify import ALL, maintaining, run_beside, writing
from viewkeeper.pipeline import changed
from viewkeeper.pipeline.stored import StoredTable
from viewkeeper.pipeline.verify import verify
from viewkeeper.store.embedded import EmbeddedStore

JOINED = ("join", "partners", "joined groups", "anti", "union", "join index")
WHOLE = ("having", "global", "two aggregates", *JOINED)
PARTLY = [kind for kind in ALL if kind not in WHOLE]


def touch(store: EmbeddedStore, table: StoredTable, key: bytes) -> Damage:
    """A visible cell that is wrong, in a row that is there."""
    before = contents(store)[table.number][key]
    return Damage("", table, key, before, b"\xc1 damaged")


@pytest.mark.parametrize("kind", PARTLY)
def test_touched_rows_are_compared_and_others_are_not(tmp_path: Path, kind: str) -> None:
    with make_shop(tmp_path / "db", *ALL[kind], rows=40) as db:
        store = store_of(db)
        since = db.head()
        before = contents(store)
        db.put("Sales", {**sale(33), "amount": 71, "item": "old lamp 9", "shop": "shop 1", "weight": 5.5})
        maintain(store)
        after = contents(store)
        assert before != after
        report = verify(store, "V", since=since)
        assert report.ok, str(report)
        assert report.part is not None
        assert 0 < report.rows < 40
        for damage in {damage.table.number: damage for damage in damages(store)}.values():
            table = damage.table
            touched = [key for key in after[table.number] if before[table.number].get(key) != after[table.number][key]]
            for key in touched:
                wrong = touch(store, table, key)
                wrong.do(store)
                found = verify(store, "V", since=since)
                assert found.differences == 1, (kind, table.name)
                Damage("", table, key, wrong.after, wrong.before).do(store)
            if table.is_view:
                assert touched
                same = [key for key in after[table.number] if key not in touched]
                missed = [key for key in same if _goes_unseen(store, touch(store, table, key), since)]
                assert missed or kind in ("aggregate above", "cube", "window"), kind


def _goes_unseen(store: EmbeddedStore, wrong: Damage, since: object) -> bool:
    wrong.do(store)
    report = verify(store, "V", since=since)  # type: ignore[arg-type]
    Damage("", wrong.table, wrong.key, wrong.after, wrong.before).do(store)
    return report.ok


@pytest.mark.parametrize("kind", PARTLY)
def test_lost_change_is_found(tmp_path: Path, kind: str) -> None:
    """The input tells what to look at, so a change that never reached the view is found too."""
    with make_shop(tmp_path / "db", *ALL[kind]) as db:
        store = store_of(db)
        since = db.head()
        before = contents(store)
        db.put("Sales", {**sale(5), "amount": 71, "item": "old lamp 9", "shop": "shop 1", "weight": 5.5})
        maintain(store)
        after = contents(store)
        table = next(damage.table for damage in damages(store))
        for key in before[table.number].keys() | after[table.number].keys():
            old, new = before[table.number].get(key), after[table.number].get(key)
            if old != new:
                Damage("", table, key, new, old).do(store)
        assert not verify(store, "V", since=since).ok


@pytest.mark.parametrize("kind", WHOLE)
def test_view_of_which_no_part_can_be_told_is_compared_whole(tmp_path: Path, kind: str) -> None:
    with make_shop(tmp_path / "db", VIEWS[kind]) as db:
        store = store_of(db)
        report = verify(store, "V", since=db.head())
        assert (report.ok, report.part) == (True, None)


def test_with_nothing_changed_nothing_is_compared(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["aggregates"]) as db:
        store = store_of(db)
        for damage in damages(store):
            damage.do(store)
        report = verify(store, "V", since=db.head())
        assert (report.ok, report.rows, report.part) == (True, 0, 0)


def test_position_that_the_log_has_lost_means_all(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["aggregates"], BELOW, ABOVE["selection above"].replace(" V ", " W ")) as db:
        store = store_of(db)
        since = store.position(0)
        db.configure(log_retention="0s")
        db.put("Sales", sale(50))
        maintain(store)
        store.clean()
        assert store.offset(store.oldest()) > 0
        assert verify(store, "V", since=since).part is None
        assert verify(store, "W", since=since).part is None


def test_more_changes_than_are_worth_it_mean_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_shop(tmp_path / "db", VIEWS["index"]) as db:
        store = store_of(db)
        assert verify(store, "V", since=store.position(0)).part is not None
        monkeypatch.setattr(changed, "MOST", 3)
        assert verify(store, "V", since=store.position(0)).part is None


def test_parts_follow_one_another_under_load(tmp_path: Path) -> None:
    texts = [VIEWS[kind].replace(" V ", f" V{number} ") for number, kind in enumerate(VIEWS)]
    with make_shop(tmp_path / "db", *texts) as db:
        store = store_of(db)
        stop = run_beside(writing(db), maintaining(store))
        compared = 0
        try:
            for _ in range(3):
                for number in range(len(VIEWS)):
                    view = store.catalog().view(f"V{number}")
                    assert view is not None
                    last = store.view_tables.notes().get(view.id)
                    since = store.position(0 if last is None else last.verified_position)
                    report = verify(store, view.name, since=since)
                    assert report.ok, str(report)
                    note = store.view_tables.notes()[view.id]
                    assert note.verified_position <= store.offset(report.position)
                    compared += report.part or 0
        finally:
            raised = stop()
        assert raised == []
        assert compared > 0
