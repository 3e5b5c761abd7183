"""SYNC views: kept in the transaction of each write, whatever kind of write that is, or the write is not made."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.views.kept import maintainer
from viewkeeper.errors import Conflict, KeyExists, NotRetained, StoreDamaged, Unsupported, ViewkeeperError
from viewkeeper.execute.viewchanges import ViewRunner
from viewkeeper.views import homes
from viewkeeper.write.statements import Outcome

BY_SHOP = "SELECT shop, COUNT(*) AS n, SUM(v) AS total, MAX(v) AS top FROM Sales GROUP BY shop"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE Sales (id BIGINT PRIMARY KEY, shop STRING, v BIGINT)")
        db.execute("CREATE TABLE Shops (shop STRING PRIMARY KEY, city STRING)")
        for number in range(20):
            db.put("Sales", {"id": number, "shop": f"s{number % 4}", "v": number})
        db.execute(f"CREATE MATERIALIZED VIEW ByShop MAINTAIN SYNC AS {BY_SHOP}")
        yield db


def truth(db: vk.Database) -> list[dict[str, Any]]:
    groups: dict[str, list[int]] = {}
    for row in db.scan("Sales"):
        groups.setdefault(row["shop"], []).append(row["v"])
    return [{"shop": shop, "n": len(vs), "total": sum(vs), "top": max(vs)} for shop, vs in sorted(groups.items())]


def test_every_kind_of_write_is_followed_at_once(db: vk.Database, tmp_path: Path) -> None:
    assert list(db.scan("ByShop")) == truth(db)
    db.put("Sales", {"id": 1, "v": 500})
    assert db.get("ByShop", "s1") == {"shop": "s1", "n": 5, "total": 544, "top": 500}
    db.delete("Sales", 1)
    assert list(db.scan("ByShop")) == truth(db)
    db.insert("Sales", {"id": 100, "shop": "new", "v": 1})
    assert db.get("ByShop", "new") == {"shop": "new", "n": 1, "total": 1, "top": 1}
    with db.transaction() as tx:
        tx.put("Sales", {"id": 100, "shop": "s0"})
        tx.delete("Sales", 2)
    assert list(db.scan("ByShop")) == truth(db)
    assert db.get("ByShop", "new") is None
    db.execute("UPDATE Sales SET v = 7 WHERE id IN (3, 4, 5)")
    db.execute("DELETE FROM Sales WHERE id >= 15")
    assert list(db.scan("ByShop")) == truth(db)
    db.load("Sales", [{"id": 1000 + number, "shop": f"s{number % 3}", "v": number} for number in range(300)])
    assert list(db.scan("ByShop")) == truth(db)


def test_a_write_that_is_refused_changes_nothing(db: vk.Database) -> None:
    before, head = list(db.scan("ByShop")), db.head()
    with pytest.raises(KeyExists):
        db.insert("Sales", {"id": 1, "shop": "s9", "v": 1})
    with pytest.raises(ViewkeeperError), db.transaction() as tx:
        tx.put("Sales", {"id": 1, "shop": "s9", "v": 1})
        tx.insert("Sales", {"id": 2, "shop": "s9", "v": 1})
    assert (list(db.scan("ByShop")), db.head()) == (before, head)


def test_a_view_that_cannot_follow_stops_the_write(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    before, head = list(db.scan("ByShop")), db.head()

    def fails(*_: object) -> None:
        raise StoreDamaged("the view is not what it was", hint="Repair it.")

    with monkeypatch.context() as broken:
        broken.setattr(ViewRunner, "run", fails)
        with pytest.raises(StoreDamaged, match="not what it was"):
            db.put("Sales", {"id": 1, "shop": "s9", "v": 1})
        with pytest.raises(StoreDamaged), db.transaction() as tx:
            tx.delete("Sales", 1)
    assert db.get("Sales", 1) == {"id": 1, "shop": "s1", "v": 1}
    assert (list(db.scan("ByShop")), db.head()) == (before, head)
    db.put("Sales", {"id": 1, "shop": "s9", "v": 1})
    assert list(db.scan("ByShop")) == truth(db)


def test_members_of_one_commit_follow_one_another(db: vk.Database) -> None:
    def writing(worker: int) -> None:
        for number in range(60):
            db.put("Sales", {"id": 10_000 + number, "shop": f"s{worker}", "v": worker})
            db.put("Sales", {"id": 20_000 + 60 * worker + number, "shop": "all", "v": 1})

    threads = [threading.Thread(target=writing, args=(worker,)) for worker in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(db.scan("ByShop")) == truth(db)
    assert db.get("ByShop", "all") == {"shop": "all", "n": 360, "total": 360, "top": 1}


def test_the_past_of_a_view_is_read_as_that_of_a_table(db: vk.Database) -> None:
    rows = list(db.scan("ByShop"))
    since = db.head()
    with db.snapshot() as snapshot:
        db.put("Sales", {"id": 1, "shop": "s0", "v": 1000})
        db.delete("Sales", 0)
        assert list(snapshot.scan("ByShop")) == rows
        assert snapshot.get("ByShop", "s1") == rows[1]
    (first, second, third) = db.changes("ByShop", since=since)
    assert {first.key, second.key} == {("s0",), ("s1",)}
    assert first.position == second.position
    assert third.key == ("s0",)
    assert third.after == db.get("ByShop", "s0")
    with pytest.raises(NotRetained, match="not kept at position"), db.snapshot(db.oldest()) as past:
        past.get("ByShop", "s0")


def test_views_of_other_modes_stand_on_it(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW Sizes AS SELECT n, COUNT(*) AS shops FROM ByShop GROUP BY n")
    db.execute("CREATE MATERIALIZED VIEW Lazy MAINTAIN LAZY AS SELECT n, COUNT(*) AS shops FROM ByShop GROUP BY n")
    db.execute("CREATE MATERIALIZED VIEW Synced MAINTAIN SYNC AS SELECT n, COUNT(*) AS shops FROM ByShop GROUP BY n")
    db.execute("CREATE INDEX ByTop ON ByShop (top DESC) MAINTAIN SYNC")
    for number in range(30):
        db.put("Sales", {"id": number, "shop": f"s{number % 7}", "v": -number})
    wanted = list(db.scan("Synced"))
    assert list(db.scan("Lazy")) == wanted
    assert list(db.scan("Sizes", consistency="latest")) == wanted
    assert [row["top"] for row in db.scan("ByTop")] == sorted((row["top"] for row in db.scan("ByShop")), reverse=True)
    db.maintain()
    assert list(db.scan("Sizes")) == wanted


def test_what_comes_later_cannot_be_below_it(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW Later AS SELECT shop, COUNT(*) AS n FROM Sales GROUP BY shop")
    with pytest.raises(Unsupported) as refused:
        db.execute("CREATE MATERIALIZED VIEW Above MAINTAIN SYNC AS SELECT n, COUNT(*) AS c FROM Later GROUP BY n")
    assert refused.value.message == 'view "Above" cannot be SYNC over view "Later", which is DEFERRED'
    assert refused.value.hint == "Make Later SYNC, too, or Above DEFERRED."


def test_a_lookup_of_any_number_of_rows_is_warned_of(db: vk.Database) -> None:
    made = db.execute(
        "CREATE MATERIALIZED VIEW Located MAINTAIN SYNC AS "
        "SELECT Sales.id, city FROM Sales JOIN Shops ON Sales.shop = Shops.shop"
    )
    assert isinstance(made, Outcome)
    warning, about_scale = made.warnings
    assert warning == (
        'view "Located" is SYNC, and a write may have to look up any number of rows of Sales by shop; '
        "it is as slow as these are many"
    )
    assert about_scale.startswith("its cost grows with the data:")
    assert 'One changed row of "Shops" may match any number of rows of "Sales" by shop.' in about_scale
    db.execute("CREATE TABLE Tags (doc BIGINT, tag STRING, PRIMARY KEY (doc, tag)) WITH CARDINALITY (tag, 10)")
    made = db.execute(
        "CREATE MATERIALIZED VIEW Pairs MAINTAIN SYNC AS "
        "SELECT a.doc, a.tag AS one, b.tag AS other FROM Tags a JOIN Tags b ON a.doc = b.doc"
    )
    assert isinstance(made, Outcome)
    assert made.warnings == ()


def test_a_large_view_moves_beside_the_tables_while_writes_go_on(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "HELD", 2)
    monkeypatch.setattr(homes, "STEP", 3)
    db.execute("DROP VIEW ByShop")
    db.execute(f"CREATE MATERIALIZED VIEW ByShop AS {BY_SHOP}")
    stopping = threading.Event()
    written: list[int] = []

    def writing() -> None:
        while not stopping.is_set():
            number = len(written)
            db.put("Sales", {"id": 5000 + number % 40, "shop": f"s{number % 9}", "v": number})
            written.append(number)

    thread = threading.Thread(target=writing)
    thread.start()
    try:
        for mode in ("SYNC", "LAZY", "SYNC", "DEFERRED", "SYNC"):
            db.execute(f"ALTER VIEW ByShop SET MAINTAIN {mode}")
            for _ in range(200):
                if db._shared.catalog().known_view("ByShop").in_base == (mode == "SYNC"):
                    break
                maintainer(db._shared).round()
            assert db._shared.catalog().known_view("ByShop").in_base == (mode == "SYNC")
    finally:
        stopping.set()
        thread.join()
    assert len(written) > 20
    assert list(db.scan("ByShop")) == truth(db)


@pytest.mark.parametrize("dies_at", ["open_beside", "copy_beside", "catch_up_beside", "flip"])
def test_a_move_that_was_killed_is_done_by_the_next_one(
    db: vk.Database, dies_at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    db.execute(f"CREATE MATERIALIZED VIEW Other AS {BY_SHOP}")
    monkeypatch.setattr(homes, "HELD", 0)
    real = getattr(homes.beside, dies_at)

    def dying(*args: Any, **options: Any) -> None:
        if dies_at != "flip":
            real(*args, **options)
        raise Killed

    if dies_at == "catch_up_beside":
        db.put("Sales", {"id": 1, "shop": "s3", "v": 9})
    with monkeypatch.context() as broken, pytest.raises(Killed):
        broken.setattr(homes.beside, dies_at, dying)
        db.execute("ALTER VIEW Other SET MAINTAIN SYNC")
    db.put("Sales", {"id": 2, "shop": "s3", "v": 99})
    assert list(db.scan("Other", consistency="latest")) == truth(db)
    db.maintain()
    assert db._shared.catalog().known_view("Other").in_base
    assert list(db.scan("Other")) == truth(db)
    db.put("Sales", {"id": 2, "shop": "s1", "v": 77})
    assert list(db.scan("Other")) == truth(db)


def test_a_reader_of_it_conflicts_with_a_write_that_it_would_have_seen(db: vk.Database) -> None:
    with pytest.raises(Conflict), db.transaction() as tx:
        tx.get("ByShop", "s1")
        tx.put("Shops", {"shop": "s1", "city": "Bern"})
        db.put("Sales", {"id": 1, "v": 100})
    with db.transaction() as tx:
        tx.get("ByShop", "s1")
        tx.put("Shops", {"shop": "s1", "city": "Bern"})
        db.put("Sales", {"id": 2, "v": 100})
    assert db.get("Shops", "s1") == {"shop": "s1", "city": "Bern"}


def test_a_transaction_sees_its_own_writes_in_it(db: vk.Database) -> None:
    with db.transaction() as tx:
        tx.put("Sales", {"id": 1, "shop": "s2", "v": 100})
        tx.delete("Sales", 3)
        assert tx.get("ByShop", "s2") == {"shop": "s2", "n": 6, "total": 150, "top": 100}
        seen = list(tx.scan("ByShop"))
        assert db.get("ByShop", "s2") == {"shop": "s2", "n": 5, "total": 50, "top": 18}
        assert list(tx.scan("ByShop", limit=1, reverse=True)) == seen[-1:]
    assert list(db.scan("ByShop")) == seen == truth(db)


def test_a_store_that_was_not_opened_to_keep_it_refuses_the_write(db: vk.Database) -> None:
    kept = db._shared.following.follower
    db._shared.following.follower = None
    try:
        with pytest.raises(ViewkeeperError, match="cannot keep views in the transaction"):
            db.put("Sales", {"id": 1, "v": 5})
    finally:
        db._shared.following.follower = kept
    assert db.get("Sales", 1) == {"id": 1, "shop": "s1", "v": 1}


def test_nothing_of_it_is_left_when_it_is_dropped(db: vk.Database) -> None:
    db.execute("DROP VIEW ByShop")
    db._shared.clean()
    db.put("Sales", {"id": 1, "v": 5})
    catalog = db._shared.catalog()
    assert catalog.slots.keys() == catalog.tables.keys()
    assert db._shared.view_tables.objects() == ({}, {})


def test_epochs_leave_it_with_any_write(tmp_path: Path) -> None:
    with vk.open(tmp_path / "epochs", durability="os") as db:
        db.execute("CREATE TABLE Clicks (id BIGINT PRIMARY KEY, at TIMESTAMP)")
        db.execute("CREATE TABLE Other (id BIGINT PRIMARY KEY)")
        db.execute(
            "CREATE MATERIALIZED VIEW PerSecond MAINTAIN SYNC AS "
            "SELECT WINDOW(at, '1 second') AS start, COUNT(*) AS n FROM Clicks "
            "GROUP BY WINDOW(at, '1 second') RETAIN '1 second'"
        )
        db.put("Clicks", {"id": 1, "at": datetime.now(UTC)})
        assert len(list(db.scan("PerSecond"))) == 1
        time.sleep(2.1)
        db.put("Other", {"id": 1})
        assert list(db.scan("PerSecond")) == []
        assert db.verify("PerSecond").ok


@pytest.mark.parametrize("mode", ["SYNC", "LOCAL", "DEFERRED"])
def test_the_one_row_of_a_view_without_a_key_is_one_in_the_past_too(tmp_path: Path, mode: str) -> None:
    with vk.open(tmp_path / "one", durability="os") as db:
        db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY) PARTITIONED BY HASH (id) INTO 3")
        db.execute(f"CREATE VIEW One MAINTAIN {mode} AS SELECT COUNT(*) AS n FROM T")
        db.put("T", {"id": 1})
        db.maintain()
        with db.snapshot() as past:
            db.put("T", {"id": 2})
            db.maintain()
            assert list(past.scan("One")) == [{"n": 1}] == list(past.scan("One", reverse=True, limit=1))
        assert list(db.scan("One")) == [{"n": 2}]
