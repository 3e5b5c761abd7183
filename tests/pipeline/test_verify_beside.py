"""Verify and repair of views that are kept beside the tables, SYNC and LOCAL ones, while writes go on."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.pipeline.shop import (
    ABOVE,
    BELOW,
    TABLE,
    VIEWS,
    Damage,
    bound_view,
    contents,
    damages,
    kept_tables,
    maintain,
    make_shop,
    sale,
    store_of,
)
from tests.pipeline.test_verify import run_beside, writing
from tests.views.kept import NoSpark
from viewkeeper.errors import Outrun, StoreDamaged
from viewkeeper.pipeline.checks import Checks
from viewkeeper.pipeline.repair import repair
from viewkeeper.pipeline.repairbeside import MendingBeside
from viewkeeper.pipeline.verify import verify
from viewkeeper.store import insync, samples
from viewkeeper.store.applying import Counted
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.fill import fill_by_rows

PARTED = f"{TABLE.rstrip()} PARTITIONED BY HASH (id) INTO 3"
GROUPS = """
CREATE MATERIALIZED VIEW V AS SELECT shop, COUNT(*) AS n, SUM(amount) AS total, MIN(amount) AS least, MAX(at) AS latest
FROM Sales GROUP BY shop
"""
LOCAL = {"groups": GROUPS, **{kind: VIEWS[kind] for kind in ("selection", "hidden key", "index", "words", "doubles")}}


def kept(text: str, mode: str = "SYNC") -> str:
    """The statement of a view that is kept in some mode."""
    begin, found, rest = text.partition(" AS ")
    return f"{begin} MAINTAIN {mode} AS {rest}" if found else f"{text} MAINTAIN {mode}"


def sync_shop(path: Path, *texts: str) -> vk.Database:
    return make_shop(path, *map(kept, texts))


def local_shop(path: Path, text: str) -> vk.Database:
    return make_shop(path, kept(text, "LOCAL"), table=PARTED, rows=40)


def damage_to(store: EmbeddedStore, what: str, name: str = "V") -> Damage:
    return next(damage for damage in damages(store, name) if damage.what == what)


def check_each_damage(db: vk.Database) -> None:
    """Each damage by itself is found, and mended by writing that row and no other."""
    store = store_of(db)
    view = bound_view(store).whole
    assert view.in_base
    true, report = contents(store), verify(store, "V")
    assert report.ok, str(report)
    assert report.position == db.head()
    assert report.rows == sum(len(true[number]) for number in view.tables) > 0
    found = list(damages(store))
    assert len(found) >= 5
    for damage in found:
        true = contents(store)
        damage.do(store)
        report = verify(store, "V")
        assert (report.ok, report.differences) == (False, 1), damage.what
        assert [example.table for example in report.examples] == [damage.table.name]
        assert sum(report.auxiliary.values()) == (not damage.table.is_view)
        done = repair(store, "V")
        written = (damage.before is not None and damage.after is not None, not damage.before, not damage.after)
        assert (done.rewritten, done.removed, done.added) == tuple(map(int, written)), damage.what
        assert verify(store, "V").ok, damage.what
        now = contents(store)
        if view.approximate:
            # Its sums may have other last digits.
            for rows in (now, true):
                rows[damage.table.number].pop(damage.key, None)
        assert now == true, damage.what
    assert "nothing to repair" in str(repair(store, "V"))
    db.put("Sales", sale(3))
    db.delete("Sales", 0)
    assert verify(store, "V").ok


@pytest.mark.parametrize("kind", VIEWS)
def test_each_damage_to_a_sync_view_is_found_and_mended(tmp_path: Path, kind: str) -> None:
    with sync_shop(tmp_path / "db", VIEWS[kind]) as db:
        check_each_damage(db)


@pytest.mark.parametrize("kind", ABOVE)
def test_each_damage_to_a_sync_view_above_another_is_found_and_mended(tmp_path: Path, kind: str) -> None:
    with sync_shop(tmp_path / "db", BELOW, ABOVE[kind]) as db:
        check_each_damage(db)


@pytest.mark.parametrize("kind", LOCAL)
def test_each_damage_to_a_part_of_a_local_view_is_found_and_mended(tmp_path: Path, kind: str) -> None:
    with local_shop(tmp_path / "db", LOCAL[kind]) as db:
        assert len(bound_view(store_of(db)).whole.tables) == 3
        check_each_damage(db)


def counted(store: EmbeddedStore, number: int, to: Counted | None = None) -> Counted:
    """What is counted of a view, or of a part; with `to`, that is set first."""
    if to is not None:
        store.write(lambda txn: insync.set_counters(txn, store.written_catalog(), number, to))
    txn, catalog = store.begin_read()
    with txn:
        return insync.counters(txn, catalog, number)


def test_counters_are_compared_and_mended(tmp_path: Path) -> None:
    with sync_shop(tmp_path / "db", VIEWS["errors"]) as db:
        store = store_of(db)
        number = bound_view(store).view.id
        assert counted(store, number) == Counted(errors=1)
        counted(store, number, Counted(errors=9, late=2, extra=4))
        report = verify(store, "V")
        assert (report.ok, report.differences, report.errors) == (False, 1, (9, 1))
        assert repair(store, "V").written == 0
        assert counted(store, number) == Counted(errors=1, late=2)
        assert verify(store, "V").ok


def test_counters_of_parts_that_make_up_for_each_other_are_mended(tmp_path: Path) -> None:
    with local_shop(tmp_path / "db", VIEWS["errors"]) as db:
        store = store_of(db)
        numbers = bound_view(store).whole.tables
        true = [counted(store, number) for number in numbers]
        assert sum(one.errors for one in true) == 1
        counted(store, numbers[0], Counted(errors=true[0].errors + 1))
        counted(store, numbers[1], Counted(errors=true[1].errors - 1))
        report = verify(store, "V")
        assert (report.ok, report.differences, report.errors) == (False, 2, (1, 1))
        repair(store, "V")
        assert [counted(store, number) for number in numbers] == true


def test_samples_come_and_go_with_the_rows_that_are_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insync, "is_sampled", lambda _: True)
    with sync_shop(tmp_path / "db", VIEWS["selection"]) as db:
        store = store_of(db)
        number = bound_view(store).view.id

        def sampled() -> list[bytes]:
            with store.base.begin() as txn:
                return samples.sampled_keys(txn, store.samples_db, number)

        gone, strange = damage_to(store, "row of V"), damage_to(store, "new row of V")
        gone.do(store)
        strange.do(store)
        store.write(lambda txn: samples.drop_sample(txn, store.samples_db, number, gone.key))
        store.write(lambda txn: samples.keep_sample(txn, store.samples_db, number, strange.key))
        repair(store, "V")
        assert gone.key in sampled()
        assert strange.key not in sampled()


def test_what_is_written_meanwhile_is_kept_whenever_it_comes(tmp_path: Path) -> None:
    """Between the copy and the comparison, behind it, and in another transaction each time; also to damaged groups."""
    with sync_shop(tmp_path / "db", VIEWS["aggregates"], VIEWS["join"].replace("VIEW V", "VIEW W")) as db:
        store = store_of(db)
        steps: list[str] = []
        for name in ("V", "W"):
            number = iter(range(1000, 2000))

            def go_on(number: Any = number) -> None:
                for _ in range(5):
                    db.put("Sales", sale(next(number)))
                db.put("Sales", {"id": 5, "amount": next(number)})
                db.put("Sales", {"id": 8, "shop": f"shop {next(number) % 3}"})

            def fill(scratch: EmbeddedStore, bound: Any, one: Any, go_on: Callable[[], None] = go_on) -> None:
                if not steps:
                    go_on()
                fill_by_rows(scratch, bound, one)

            found = [damage for damage in damages(store, name) if damage.what.startswith(("weight", "new row", "sum"))]
            for damage in found:
                damage.do(store)
            head = db.head()
            steps.clear()

            def step(what: str, go_on: Callable[[], None] = go_on) -> None:
                steps.append(what)
                if what == "compared":
                    go_on()

            done = repair(store, name, filler=fill, step=step)
            assert steps == ["compared", "writing", "repaired"]
            assert not done.before.ok
            assert done.before.position == head
            assert done.position == db.head() != head
            assert 0 < done.written <= 2 * len(found)
            assert verify(store, name).ok, str(verify(store, name))
            for gone in range(40):
                db.delete("Sales", gone)


def shop_of_amounts(path: Path, select: str) -> vk.Database:
    """A SYNC view that knows the least amounts by their values, of which the second is lost."""
    db = make_shop(path, f"CREATE MATERIALIZED VIEW V MAINTAIN SYNC AS {select}", rows=0)
    for number in range(10, 20):
        db.put("Sales", {"id": number, "shop": "a", "amount": number})
    db.delete("Sales", 2)
    store = store_of(db)
    values = next(table for table in kept_tables(store) if "values" in table.name)
    key, row = sorted(contents(store)[values.number].items())[1]
    Damage("", values, key, row, None).do(store)
    return db


LEAST = "SELECT shop, MIN(amount) AS low FROM Sales GROUP BY shop"


def test_what_becomes_wrong_before_it_is_written_is_mended_with_it(tmp_path: Path) -> None:
    with shop_of_amounts(tmp_path / "db", LEAST) as db:
        steps: list[str] = []

        def step(what: str) -> None:
            steps.append(what)
            if steps == ["compared"]:
                db.delete("Sales", 10)
                assert db.query("SELECT low FROM V LIMIT 1").all()[0]["low"] == 12

        done = repair(store_of(db), "V", step=step)
        assert steps == ["compared", "writing", "repaired"]
        assert (done.rewritten, done.added) == (1, 1)
        assert db.query("SELECT low FROM V LIMIT 1").all()[0]["low"] == 11
        assert verify(store_of(db), "V").ok


def test_what_becomes_wrong_under_other_keys_is_found_by_another_look(tmp_path: Path) -> None:
    with shop_of_amounts(tmp_path / "db", f"SELECT low, COUNT(*) AS shops FROM ({LEAST}) AS s GROUP BY low") as db:
        steps: list[str] = []

        def step(what: str) -> None:
            steps.append(what)
            if steps == ["compared"]:
                db.delete("Sales", 10)

        done = repair(store_of(db), "V", step=step)
        assert steps == ["compared", "writing", "repaired"] * 2
        assert not done.before.ok
        assert [row["low"] for row in db.scan("V")] == [11]
        assert verify(store_of(db), "V").ok


def test_long_backlogs_are_followed_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewkeeper.pipeline import repairbeside

    monkeypatch.setattr(repairbeside, "HELD", 3)
    monkeypatch.setattr(repairbeside, "STEP", 4)
    followed: list[int] = []
    real = MendingBeside._follow

    def follow(self: MendingBeside, upper: int) -> None:
        followed.append(upper)
        real(self, upper)

    monkeypatch.setattr(MendingBeside, "_follow", follow)
    with sync_shop(tmp_path / "db", BELOW, ABOVE["aggregate above"]) as db:
        store = store_of(db)
        damage_to(store, "new row of Below", "Below").do(store)

        def go_on(scratch: EmbeddedStore, bound: Any, one: Any) -> None:
            for number in range(10):
                db.put("Sales", {"id": number, "shop": f"shop {number % 2}"})
            fill_by_rows(scratch, bound, one)

        amounts = count()

        def step(what: str) -> None:
            if what == "compared":
                for number in range(20):
                    db.put("Sales", {"id": number, "shop": f"shop {number % 5}", "amount": next(amounts)})

        done = repair(store, "Below", filler=go_on, step=step)
        assert [one.view for one in done.above] == ["V"]
        assert len(followed) > 6
        assert verify(store, "Below").ok
        assert verify(store, "V").ok
        monkeypatch.setattr(repairbeside, "MOST_HELD", 5)
        monkeypatch.setattr(repairbeside, "STEPS", 1)
        damage_to(store, "new row of Below", "Below").do(store)
        with pytest.raises(Outrun, match="more is written"):
            repair(store, "Below", step=step)


@pytest.mark.parametrize("mode", ["SYNC", "LOCAL"])
def test_views_are_mended_while_a_thread_goes_on_writing(tmp_path: Path, mode: str) -> None:
    table = PARTED if mode == "LOCAL" else TABLE
    statements = [kept(GROUPS, mode)]
    if mode == "SYNC":
        statements.append(kept(VIEWS["join"].replace("VIEW V", "VIEW W")))
    with make_shop(tmp_path / "db", *statements, table=table, rows=40) as db:
        store = store_of(db)
        names = ["V", "W"][: len(statements)]

        def refused(over: Any) -> None:
            # A write that meets what is damaged may be refused, with nothing changed.
            while not over.is_set():
                with suppress(StoreDamaged):
                    writing(db)(over)

        for turn in range(3):
            for name in names:
                for damage in damages(store, name):
                    if damage.what.startswith(("weight", "new row", "row")) or turn == 2:
                        damage.do(store)
            stop = run_beside(refused)
            try:
                for name in names:
                    assert not repair(store, name).before.ok
                    time.sleep(0.05)
            finally:
                assert stop() == []
            for name in names:
                report = verify(store, name)
                assert report.ok, str(report)
        stop = run_beside(writing(db))
        time.sleep(0.2)
        assert stop() == []
        assert verify(store, "V").ok


def test_views_above_are_mended_with_it_and_writes_fit_them_at_once(tmp_path: Path) -> None:
    top = kept("CREATE MATERIALIZED VIEW Top AS SELECT n, shops FROM V")
    with make_shop(tmp_path / "db", kept(BELOW), kept(ABOVE["aggregate above"]), top) as db:
        store = store_of(db)
        true = {name: contents(store, name) for name in ("Below", "V", "Top")}
        damage = damage_to(store, "n of Below", "Below")
        damage.do(store)
        # The views above come to follow from the wrong row.
        assert [one.view for one in repair(store, "V").above] == ["Top"]
        assert verify(store, "V").ok
        assert contents(store, "V") != true["V"]
        heads: list[vk.Position] = []

        def step(what: str) -> None:
            if what == "repaired":
                heads.append(db.put("Sales", {"id": 4, "shop": "shop 1"}))
                heads.append(db.put("Sales", {"id": 4, "shop": sale(4)["shop"]}))

        done = repair(store, "Below", step=step)
        assert len(heads) == 2
        assert [(one.view, one.written > 0) for one in done.above] == [("V", True), ("Top", True)]
        assert {name: contents(store, name) for name in true} == true


@pytest.mark.parametrize("mode", ["DEFERRED", "LAZY"])
def test_view_of_another_mode_above_is_brought_along_and_mended(tmp_path: Path, mode: str) -> None:
    with make_shop(tmp_path / "db", kept(BELOW), kept(ABOVE["aggregate above"], mode)) as db:
        store = store_of(db)
        below = damage_to(store, "weight of Below", "Below")
        below.do(store)
        # It lags, and what it has still to follow was made from the wrong state.
        for number in range(100, 106):
            db.put("Sales", {**sale(number), "shop": "shop 1"})
        done = repair(store, "Below")
        assert [(one.view, one.before.ok) for one in done.above] == [("V", False)]
        assert verify(store, "V").position == db.head()
        db.put("Sales", {**sale(200), "shop": "shop 1"})
        maintain(store)
        for name in ("Below", "V"):
            assert verify(store, name).ok, str(verify(store, name))


def test_view_that_nothing_in_the_log_can_bring_along_is_filled_anew(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", kept(BELOW), ABOVE["aggregate above"]) as db:
        store = store_of(db)
        db.put("Sales", {**sale(100), "shop": "shop 1"})
        # The log tells of a row that became another one by no change.
        damage_to(store, "n of Below", "Below").do(store)
        db.put("Sales", {**sale(101), "shop": "shop 1"})
        with pytest.raises(StoreDamaged):
            maintain(store)
        damage_to(store, "top of Below", "Below").do(store)
        assert repair(store, "Below").above == ()
        assert bound_view(store).view.id not in store.view_tables.objects()[1]
        db.maintain()
        assert verify(store, "V").ok
        assert verify(store, "V").position == db.head()


def test_repair_is_made_again_if_the_catalog_changes(tmp_path: Path) -> None:
    with sync_shop(tmp_path / "db", BELOW) as db:
        store = store_of(db)
        damage_to(store, "n of Below", "Below").do(store)
        seen: list[str] = []

        def step(what: str) -> None:
            seen.append(what)
            if seen == ["compared"]:
                db.execute(kept(ABOVE["aggregate above"]))

        done = repair(store, "Below", step=step)
        assert seen == ["compared", "compared", "writing", "repaired"]
        assert [one.view for one in done.above] == ["V"]
        assert verify(store, "Below").ok
        assert verify(store, "V").ok


def test_view_that_changes_its_home_meanwhile_is_compared_and_mended_where_it_is_then(tmp_path: Path) -> None:
    with sync_shop(tmp_path / "db", GROUPS) as db:
        store = store_of(db)
        times: list[str] = []

        def move(scratch: EmbeddedStore, bound: Any, one: Any) -> None:
            times.append(one.view.mode)
            if len(times) == 1:
                db.execute("ALTER VIEW V SET MAINTAIN DEFERRED")
                raise Outrun("moved")
            fill_by_rows(scratch, bound, one)

        assert verify(store, "V", filler=move).ok
        assert times == ["SYNC", "DEFERRED"]
        times.clear()
        db.execute("ALTER VIEW V SET MAINTAIN SYNC")
        assert bound_view(store).view.in_base
        damage_to(store, "n of V").do(store)
        assert repair(store, "V", filler=move).written == 1
        assert verify(store, "V").ok


def test_view_below_that_is_repaired_meanwhile_is_read_again(tmp_path: Path) -> None:
    with sync_shop(tmp_path / "db", BELOW, ABOVE["aggregate above"]) as db:
        store = store_of(db)
        true = contents(store)
        damage_to(store, "n of Below", "Below").do(store)
        times: list[int] = []

        def mend(scratch: EmbeddedStore, bound: Any, one: Any) -> None:
            fill_by_rows(scratch, bound, one)
            if one.view.name == "V":
                times.append(1)
                if len(times) == 1:
                    repair(store, "Below")

        assert verify(store, "V", filler=mend).ok
        assert len(times) == 2
        assert contents(store) == true


def test_repair_is_not_told_in_the_change_feed(tmp_path: Path) -> None:
    with sync_shop(tmp_path / "db", GROUPS) as db:
        store = store_of(db)
        since = db.head()
        row = db.get("V", "shop 1")
        damage_to(store, "n of V").do(store)
        assert repair(store, "V").written == 1
        assert (db.head(), list(db.changes("V", since=since))) == (since, [])
        assert db.get("V", "shop 1") == row


def test_only_what_has_changed_is_compared_where_that_can_be_told(tmp_path: Path) -> None:
    with sync_shop(tmp_path / "db", GROUPS) as db:
        store = store_of(db)
        since = db.head()
        db.put("Sales", {"id": 3, "amount": 77})
        report = verify(store, "V", since=since)
        assert (report.ok, report.rows, report.part) == (True, 1, 1)
        wrong = next(damage for damage in damages(store) if damage.what == "weight of V")
        wrong.do(store)
        db.execute("UPDATE Sales SET amount = 5 WHERE id < 100")
        assert not verify(store, "V", since=since).ok
    with local_shop(tmp_path / "parts", GROUPS) as db:
        assert verify(store_of(db), "V", since=db.head()).part is None


def test_verification_is_noted_and_forgotten_with_the_view(tmp_path: Path) -> None:
    with sync_shop(tmp_path / "db", GROUPS) as db:
        store = store_of(db)
        number = bound_view(store).view.id
        damage_to(store, "n of V").do(store)
        db.verify("V")
        (status,) = db.status()
        assert (status.verified_position, status.verified_differences) == (db.head(), 1)
        db.repair("V")
        (status,) = db.status()
        assert status.verified_differences == 0
        db.execute("DROP VIEW V")
        assert number not in store.view_tables.notes()


def test_checks_look_at_views_beside_the_tables_and_mend_them(tmp_path: Path) -> None:
    with sync_shop(tmp_path / "db", GROUPS) as db:
        store = store_of(db)
        damage_to(store, "n of V").do(store)
        stop = run_beside(Checks(store, NoSpark(), 0.01, repair=True).run)  # type: ignore[arg-type]
        deadline = time.monotonic() + 10
        number = bound_view(store).view.id
        while number not in store.view_tables.notes() or store.view_tables.notes()[number].verified_differences:
            assert time.monotonic() < deadline, "nothing was checked"
            time.sleep(0.01)
        assert stop() == []
        assert verify(store, "V").ok


@pytest.mark.parametrize("seed", range(8))
def test_views_are_true_after_random_writes(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    sync = chance.sample(sorted(VIEWS), 4)
    local = chance.sample(sorted(LOCAL), 2)
    texts = [kept(VIEWS[kind].replace(" V ", f" S{number} ")) for number, kind in enumerate(sync)]
    texts += [kept(LOCAL[kind].replace(" V ", f" L{number} "), "LOCAL") for number, kind in enumerate(local)]
    with make_shop(tmp_path / "db", *texts, kept(BELOW), kept(ABOVE["aggregate above"]), table=PARTED) as db:
        for _ in range(40):
            number = chance.randrange(20)
            match chance.randrange(5):
                case 0:
                    db.delete("Sales", number)
                case 1:
                    db.put("Sales", {"id": number, "amount": chance.choice([None, 1, 2, 50])})
                case 2:
                    with db.transaction() as tx:
                        for other in range(3):
                            tx.put("Sales", {**sale(number + other), "shop": chance.choice([None, "a", "b"])})
                case 3:
                    db.load("Sales", [{**sale(number + other), "item": "lamp"} for other in range(6)])
                case _:
                    db.put("Sales", sale(number))
        for view in store_of(db).catalog().views.values():
            assert view.in_base
            report = db.verify(view.name)
            assert report.ok, str(report)
