"""Verify: a view that is true is found true, also under load; anything that is not as it should be is found."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.pipeline.shop import (
    ABOVE,
    BELOW,
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
from viewkeeper.errors import NotRetained, UnknownTable, ViewNotReady
from viewkeeper.pipeline import verify as verifying
from viewkeeper.pipeline.verify import VerifyReport, verify
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.fill import fill_by_rows

ALL = {**{kind: (text,) for kind, text in VIEWS.items()}, **{kind: (BELOW, text) for kind, text in ABOVE.items()}}


@pytest.mark.parametrize("kind", ALL)
def test_maintained_view_is_equal_to_its_definition(tmp_path: Path, kind: str) -> None:
    with make_shop(tmp_path / "db", *ALL[kind]) as db:
        store = store_of(db)
        stored = contents(store)
        report = verify(store, "V")
        assert report.ok, str(report)
        view = bound_view(store).view
        assert report.position == db.head()
        assert report.rows == len(stored[view.id]) > 0
        kept = [table.number for table in kept_tables(store) if not table.is_view]
        assert report.auxiliary_rows == sum(len(stored[number]) for number in kept)
        assert (report.missing, report.unexpected, report.different, report.examples) == (0, 0, 0, ())
        assert "equal to its definition" in str(report)


@pytest.mark.parametrize("kind", ALL)
def test_whatever_is_damaged_is_found(tmp_path: Path, kind: str) -> None:
    with make_shop(tmp_path / "db", *ALL[kind]) as db:
        store = store_of(db)
        found = list(damages(store))
        assert len(found) >= 5
        for damage in found:
            damage.do(store)
            report = verify(store, "V")
            kind_of = "missing" if damage.after is None else "unexpected" if damage.before is None else "different"
            assert not report.ok, damage.what
            counts = {"missing": report.missing, "unexpected": report.unexpected, "different": report.different}
            if damage.table.is_view:
                assert counts == {**dict.fromkeys(counts, 0), kind_of: 1}, damage.what
                assert sum(report.auxiliary.values()) == 0
            else:
                assert set(counts.values()) == {0}
                assert {name: count for name, count in report.auxiliary.items() if count} == {damage.table.name: 1}
            (example,) = report.examples
            assert (example.table, example.kind) == (damage.table.name, kind_of)
            assert example.stored == damage.table.shown(damage.after)
            if kind not in ("doubles", "having"):
                assert example.expected == damage.table.shown(damage.before)
            assert damage.table.name in str(report)
            assert report.differences == 1
            Damage(damage.what, damage.table, damage.key, damage.after, damage.before).do(store)
        assert verify(store, "V").ok


def test_wrong_counters_are_found(tmp_path: Path) -> None:
    from dataclasses import replace

    from viewkeeper.store import groups

    with make_shop(tmp_path / "db", VIEWS["errors"]) as db:
        store = store_of(db)
        number = bound_view(store).view.id
        for changed in ({"errors": 5}, {"errors": 1, "extra": 3}):
            with store.views.begin(write=True) as txn:
                place = groups.get_object(txn, store.view_tables.objects_db, number)
                assert place is not None
                assert place.errors in (1, 5)
                groups.set_object(txn, store.view_tables.objects_db, number, replace(place, **changed))  # type: ignore[arg-type]
            report = verify(store, "V")
            assert (report.ok, report.different, report.differences) == (False, 0, 1)
            assert report.errors == (changed["errors"], 1)
        assert "row count is off" in str(report)


def test_last_digits_of_sums_of_double_are_no_difference(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["doubles"], VIEWS["having"].replace("VIEW V", "VIEW W")) as db:
        store = store_of(db)
        # Sums now depend on what came and went.
        for number in range(40):
            db.put("Sales", {**sale(number % 12), "weight": 0.1 * (number + 1) ** 3})
            maintain(store)
        for name in ("V", "W"):
            report = verify(store, name)
            assert report.ok, str(report)


def test_deviation_of_equal_doubles_is_no_difference(tmp_path: Path) -> None:
    """The root of what is left of two large numbers magnifies a last digit ten thousand times."""
    with make_shop(tmp_path / "db", VIEWS["doubles"], VIEWS["having"].replace("VIEW V", "VIEW W")) as db:
        store = store_of(db)
        for number in range(12):
            db.put("Sales", {**sale(number), "weight": 1000.1 + number})
        maintain(store)
        for number in range(12):
            db.put("Sales", {**sale(number), "weight": 1000.1})
            maintain(store)
        for name in ("V", "W"):
            report = verify(store, name)
            assert report.ok, str(report)


def test_epochs_that_left_the_view_are_not_missed(tmp_path: Path) -> None:
    from viewkeeper.pipeline.repair import repair

    with make_shop(tmp_path / "db", VIEWS["window"].rstrip() + " RETAIN '2 hours'") as db:
        store = store_of(db)
        one = bound_view(store)
        assert contents(store)[one.view.id] == {}
        since = db.head()
        now = datetime.now(UTC)
        for number in range(4):
            db.put("Sales", {**sale(100 + number), "at": now - timedelta(minutes=number)})
        maintain(store)
        true = contents(store)
        assert all(len(rows) >= 4 for rows in true.values())
        assert len(true) == 3
        report = verify(store, "V")
        assert report.ok, str(report)
        part = verify(store, "V", since=since)
        assert part.ok
        assert part.rows == len(true[one.view.id]) == part.part
        for damage in damages(store):
            damage.do(store)
            if damage.before is not None:
                assert not verify(store, "V", since=since).ok, damage.what
            assert repair(store, "V").written == 1, damage.what
            assert contents(store) == true


def test_rows_with_weights_are_compared_as_bags(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from viewkeeper.pipeline.repair import repair
    from viewkeeper.views import bound as binding

    whole = binding.program
    # As over a source whose rows may repeat; no table's do.
    monkeypatch.setattr(binding, "program", lambda *args, **options: whole(*args, **{**options, "key_of": _no_key}))
    with make_shop(tmp_path / "db", "CREATE MATERIALIZED VIEW V AS SELECT shop, item FROM Sales") as db:
        store = store_of(db)
        one = bound_view(store)
        assert one.view.repeats
        true = contents(store)
        report = verify(store, "V")
        assert (report.ok, report.rows) == (True, 11)
        found = {damage.what: damage for damage in damages(store)}
        codec = found["row of V"].table.codec
        weight = codec.decode(found["row of V"].before or b"")[-1]
        assert isinstance(weight, int)
        assert weight > 1
        wanted = {
            "_weight of V": (0, 1, 0),
            "row of V": (weight, 0, 0),
            "new row of V": (0, weight, 0),
            "item of V": (0, 0, 1),
        }
        for what, counts in wanted.items():
            found[what].do(store)
            report = repair(store, "V").before
            assert (report.missing, report.unexpected, report.different) == counts, what
            assert contents(store) == true
        key, value = found["row of V"].key, found["row of V"].before
        assert value is not None
        less = codec.encode((*codec.decode(value)[:-1], weight - 1))
        Damage("", found["row of V"].table, key, value, less).do(store)
        assert verify(store, "V").missing == 1


def _no_key(_: object) -> None:
    return None


def test_result_is_noted(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["index"]) as db:
        store = store_of(db)
        number = bound_view(store).view.id
        before = time.time_ns() // 1000
        verify(store, "V")
        note = store.view_tables.notes()[number]
        assert before <= note.verified_at <= time.time_ns() // 1000
        assert (note.verified_position, note.verified_differences) == (store.offset(db.head()), 0)
        for damage in damages(store):
            damage.do(store)
        verify(store, "V")
        assert store.view_tables.notes()[number].verified_differences >= 2


def test_unknown_unfilled_and_lost_views_are_told(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["index"]) as db:
        store = store_of(db)
        with pytest.raises(UnknownTable, match="Views here: V"):
            verify(store, "W")
        with pytest.raises(UnknownTable):
            verify(store, "Sales")
        store.view_tables.drop_objects(bound_view(store).view.objects)
        with pytest.raises(ViewNotReady, match='index "V"'):
            verify(store, "V")


def test_position_that_is_gone_is_told(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["index"]) as db:
        store = store_of(db)

        def lose(*_: Any) -> None:
            raise NotRetained("position x is no longer retained")

        with pytest.raises(NotRetained, match='index "V" cannot be compared'):
            verify(store, "V", filler=lose)


@pytest.mark.parametrize("statement", ["DROP VIEW V", "DROP VIEW V; DROP TABLE Sales", "CREATE OR REPLACE"])
def test_view_that_is_dropped_meanwhile_is_told(tmp_path: Path, statement: str) -> None:
    with make_shop(tmp_path / "db", VIEWS["selection"]) as db:
        store = store_of(db)
        number = bound_view(store).view.id

        def drop(scratch: EmbeddedStore, bound: Any, one: Any) -> None:
            text = VIEWS["selection"].replace("CREATE", statement) if "REPLACE" in statement else statement
            db.execute(text)
            fill_by_rows(scratch, bound, one)

        with pytest.raises(UnknownTable, match="dropped, or replaced, meanwhile"):
            verify(store, "V", filler=drop)
        assert number not in store.view_tables.notes()


def test_temporary_files_are_gone_afterwards(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    with make_shop(tmp_path / "db", VIEWS["aggregates"]) as db:
        store = store_of(db)
        seen: list[int] = []

        def fail(*_: Any) -> None:
            seen.append(len(list(folder.iterdir())))
            raise RuntimeError("no more")

        with pytest.raises(RuntimeError):
            verify(store, "V", filler=fail, folder=folder)
        verify(store, "V", folder=folder)
        assert seen == [1]
        assert list(folder.iterdir()) == []
        assert _pins(store) == 0


def _pins(store: EmbeddedStore) -> int:
    from viewkeeper.store import pins

    with store.base.begin() as txn:
        return len(pins.pins(txn, store.pins_db))


def test_log_is_held_while_it_is_needed(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", VIEWS["aggregates"]) as db:
        store = store_of(db)
        db.configure(log_retention="0s")
        position = db.head()
        times: list[int] = []

        def go_on(scratch: EmbeddedStore, bound: Any, one: Any) -> None:
            times.append(len(times))
            for number in range(5):
                db.put("Sales", sale(number + 50 + 5 * len(times)))
                maintain(store)
            store.clean()
            fill_by_rows(scratch, bound, one)

        report = verify(store, "V", filler=go_on)
        assert report.ok
        assert (times, report.position) == ([0], position)
        store.clean()
        assert store.oldest().covers(position)
        assert store.oldest() != position


def test_view_is_compared_as_of_its_watermark_while_it_moves(tmp_path: Path) -> None:
    with make_shop(tmp_path / "db", BELOW, ABOVE["aggregate above"]) as db:
        store = store_of(db)
        position = db.head()

        def go_on(scratch: EmbeddedStore, bound: Any, one: Any) -> None:
            for number in range(10):
                db.put("Sales", {**sale(number + 5), "shop": "shop 1"})
                maintain(store)
            fill_by_rows(scratch, bound, one)

        for name in ("Below", "V"):
            report = verify(store, name, filler=go_on)
            assert report.ok, str(report)
            assert report.position == position
            position = db.head()


def run_beside(*works: Callable[[threading.Event], None]) -> Callable[[], list[BaseException]]:
    """Starts each in a thread; ends them and gives what they raised."""
    over = threading.Event()
    raised: list[BaseException] = []

    def guarded(work: Callable[[threading.Event], None]) -> None:
        try:
            work(over)
        except BaseException as error:  # noqa: BLE001  handed on
            raised.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()

    def stop() -> list[BaseException]:
        over.set()
        for thread in threads:
            thread.join()
        return raised

    return stop


def writing(db: vk.Database) -> Callable[[threading.Event], None]:
    def work(over: threading.Event) -> None:
        number = 0
        while not over.is_set():
            number += 1
            time.sleep(0.001)
            db.put("Sales", {**sale(number % 30), "weight": 0.1 * number, "amount": number % 17})
            if number % 3 == 0:
                db.delete("Sales", number * 7 % 30)

    return work


def maintaining(store: EmbeddedStore) -> Callable[[threading.Event], None]:
    def work(over: threading.Event) -> None:
        while not over.is_set():
            maintain(store)

    return work


def test_views_are_true_while_writes_and_maintenance_go_on(tmp_path: Path) -> None:
    texts = [VIEWS[kind].replace(" V ", f" V{number} ") for number, kind in enumerate(VIEWS)]
    with make_shop(tmp_path / "db", *texts, BELOW, ABOVE["aggregate above"]) as db:
        store = store_of(db)
        stop = run_beside(writing(db), maintaining(store))
        positions = set()
        try:
            for _ in range(2):
                for name in [*(f"V{number}" for number in range(len(VIEWS))), "Below", "V"]:
                    report = verify(store, name)
                    assert report.ok, str(report)
                    positions.add(report.position)
        finally:
            raised = stop()
        assert raised == []
        assert len(positions) > 10


def test_view_below_that_is_repaired_meanwhile_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_shop(tmp_path / "db", BELOW, ABOVE["selection above"]) as db:
        store = store_of(db)
        from viewkeeper.pipeline.repair import repair

        damage = next(damage for damage in damages(store, "Below") if damage.what == "n of Below")
        attempts: list[VerifyReport] = []

        def damaged_once(scratch: EmbeddedStore, bound: Any, one: Any) -> None:
            if not attempts:
                damage.do(store)
            fill_by_rows(scratch, bound, one)
            if not attempts:
                attempts.append(repair(store, "Below").before)

        report = verify(store, "V", filler=damaged_once)
        assert report.ok, str(report)
        assert not attempts[0].ok
        monkeypatch.setattr(verifying, "ATTEMPTS", 1)
        attempts.clear()
        assert not verify(store, "V", filler=damaged_once).ok


def test_a_row_with_a_weight_may_show_either_zero(tmp_path: Path) -> None:
    """Rows that differ by -0.0 and 0.0 are one row with a weight; the zero of the one that came last stays."""
    full = "(SELECT k, COUNT(*) AS n FROM Q GROUP BY k) AS g FULL JOIN P p ON p.k = g.k"
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE P (id BIGINT PRIMARY KEY, k BIGINT, x DOUBLE)")
        db.execute("CREATE TABLE Q (id BIGINT PRIMARY KEY, k BIGINT)")
        db.execute(f"CREATE MATERIALIZED VIEW V AS SELECT g.n, p.x FROM {full}")
        db.load("Q", [{"id": 1, "k": 1}])
        for number, x in enumerate((0.0, -0.0)):
            db.put("P", {"id": number, "k": 1, "x": x})
            maintain(store_of(db))
        db.delete("P", 1)
        maintain(store_of(db))
        assert [str(row["x"]) for row in db.scan("V")] == ["-0.0"]
        assert verify(store_of(db), "V").ok
        (table, *_) = kept_tables(store_of(db))
        [(key, row)] = contents(store_of(db))[table.number].items()
        twice = table.codec.encode((*table.codec.decode(row)[:-1], 2))
        Damage("weight", table, key, row, twice).do(store_of(db))
        assert verify(store_of(db), "V").unexpected == 1
