"""db.maintain: how far it brings which views, and what it says of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.faults.maintaining import TABLE, check, store_of, write
from tests.views.kept import finish, group_of, maintainer
from viewkeeper.errors import FuturePosition, StoreFull
from viewkeeper.store.viewstore import ViewStore
from viewkeeper.write import views as statements

CHAIN = (
    "CREATE VIEW Low AS SELECT id, g, n FROM T WHERE n > 0",
    "CREATE VIEW Middle AS SELECT g, COUNT(*) AS c FROM Low GROUP BY g",
    "CREATE VIEW High AS SELECT c, COUNT(*) AS many FROM Middle GROUP BY c",
)


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[vk.Database]:
    """Three views on each other, each still a group of its own, and changes that they have not seen."""
    monkeypatch.setattr(statements, "settle_views", lambda _: False)
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLE)
        write(db, 1, 5)
        for text in CHAIN:
            db.execute(text)
        write(db, 2, 5)
        yield db


def watermark(db: vk.Database, name: str) -> int:
    state = group_of(store_of(db), store_of(db).catalog().known_view(name))
    assert state is not None
    return state.watermark


def head(db: vk.Database) -> int:
    return store_of(db).offset(db.head())


def test_groups_on_each_other_all_come_to_the_head(db: vk.Database) -> None:
    assert len(store_of(db).view_tables.groups()) == 3
    report = db.maintain()
    assert (report.position, report.failed) == (db.head(), {})
    check(db)
    # From now on they move as one.
    assert len(store_of(db).view_tables.groups()) == 1


def test_a_view_brings_along_what_it_reads(db: vk.Database) -> None:
    db.execute("CREATE VIEW Beside AS SELECT id FROM T")
    write(db, 3, 2)
    db.maintain(views=["High"])
    assert watermark(db, "High") == head(db)
    assert watermark(db, "Beside") < head(db)
    check(db, at_head=False)


def test_a_view_that_is_not_filled_brings_along_what_it_reads(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "SMALL", -1)
    db.execute("CREATE VIEW First AS SELECT id FROM T")
    db.execute("CREATE VIEW Second AS SELECT id FROM First")
    assert db.maintain(views=["Second"]).filled == ("First", "Second")
    assert watermark(db, "Second") == head(db)


def test_a_position_inside_a_transaction_is_rounded_up_to_its_end(db: vk.Database) -> None:
    begin = head(db)
    with db.transaction() as tx:
        for number in range(30, 34):
            tx.put("T", {"id": number, "g": "z", "n": 1})
    write(db, 4, 2)
    report = db.maintain(until=store_of(db).position(begin + 2))
    assert report.position == store_of(db).position(begin + 4)
    assert watermark(db, "High") == begin + 4
    check(db, at_head=False)


def test_a_position_in_the_future_is_refused(db: vk.Database) -> None:
    with pytest.raises(FuturePosition):
        db.maintain(until=store_of(db).position(head(db) + 1))


def test_a_position_that_views_have_passed_changes_nothing(db: vk.Database) -> None:
    db.maintain()
    before = store_of(db).view_tables.objects()
    assert db.maintain(until=store_of(db).position(1)).changes == 0
    assert store_of(db).view_tables.objects() == before


def test_a_view_above_stands_only_where_the_one_below_has_stood(db: vk.Database) -> None:
    """The one below went there in one step; what it was in between nobody knows."""
    store = store_of(db)
    low = store.catalog().known_view("Low").id
    finish(maintainer(store, views=[low]))
    stood = []

    def step(name: str) -> None:
        if name == "applied":
            stood.append((watermark(db, "Middle"), watermark(db, "High")))
            check(db, at_head=False)

    finish(maintainer(store, batch_changes=1, step=step))
    assert {position for pair in stood for position in pair} == {pair[1] for pair in stood[:1]} | {head(db)}
    check(db)


def test_any_split_of_the_log_gives_the_same_views(db: vk.Database) -> None:
    for size in (1, 2, 3, 7):
        write(db, 40 + size, 6)
        rounds = finish(maintainer(store_of(db), batch_changes=size, step=lambda _: check(db, at_head=False)))
        assert len(rounds) >= 6 // size
        check(db)


def test_a_view_that_cannot_be_filled_is_not_made(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is told of an error does not expect it to be there."""
    with monkeypatch.context() as patch:
        patch.setattr(ViewStore, "_write", fail)
        with pytest.raises(StoreFull):
            db.execute("CREATE VIEW Beside AS SELECT id FROM T")
    assert "Beside" not in {view.name for view in db.views()}
    db.execute("CREATE VIEW Beside AS SELECT id FROM T")
    db.maintain()
    check(db)


def fail(*_: object) -> None:
    raise StoreFull("no room")


def test_a_row_whose_key_is_too_long_for_a_table_is_kept_in_a_view(db: vk.Database) -> None:
    """The write is committed already: it must not stop the views that follow from it."""
    db.execute("CREATE INDEX ByG ON T (g DESC, n)")
    db.execute("CREATE VIEW ByLong AS SELECT g, COUNT(*) AS c, MAX(g) AS m FROM T GROUP BY g")
    for number in range(4):
        db.put("T", {"id": number, "g": "x" * 40_000 + str(number % 2), "n": number})
    assert db.maintain().failed == {}
    check(db)
    db.delete("T", 1)
    assert db.maintain().failed == {}
    check(db)
