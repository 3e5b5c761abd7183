"""Maintainers that are killed, outrun, or fail: views are those of an undisturbed run, every change counts once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.faults.child import run, start
from tests.faults.maintaining import (
    VIEWS,
    check,
    die_inside_apply,
    fill_and_die,
    maintain_and_die,
    maintain_until_told,
    prepare,
    store_of,
    write,
    write_for_long,
)
from tests.faults.threads import Thread
from tests.views.kept import finish, group_of, maintainer, shown
from viewkeeper.errors import StoreDamaged, StoreFull, Unsupported
from viewkeeper.model.view import View
from viewkeeper.pipeline.maintainer import Maintainer
from viewkeeper.store.groups import GroupState
from viewkeeper.store.viewstore import ViewStore
from viewkeeper.views import fill
from viewkeeper.write import views as statements

STEPS = ("begun", "filled", "computed first stages", "computed", "applied", "settled")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def db(path: Path) -> Iterator[vk.Database]:
    """All views, whole, and some changes that they have not seen."""
    with prepare(path) as db:
        for text in VIEWS:
            db.execute(text)
        write(db, 2, 12)
        yield db


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every input is too large to be filled by CREATE, and is filled two rows a step."""
    monkeypatch.setattr(statements, "SMALL", -1)
    monkeypatch.setattr(fill, "STEP_ROWS", 2)


def view_of(db: vk.Database, name: str) -> View:
    return store_of(db).catalog().known_view(name)


def state_of(db: vk.Database, name: str) -> GroupState:
    state = group_of(store_of(db), view_of(db, name))
    assert state is not None
    return state


class Once:
    """Does something when a step comes up for the first time, or the first times."""

    def __init__(self, step: str, action: Callable[[], object], times: int = 1) -> None:
        self.step = step
        self.action = action
        self.left = times

    def __call__(self, name: str) -> None:
        if name == self.step and self.left:
            self.left -= 1
            self.action()


class TestKilled:
    @pytest.mark.parametrize(("step", "times"), [*((step, "1") for step in STEPS), ("applied", "2")])
    def test_another_maintainer_finishes_what_one_began(
        self, path: Path, step: str, times: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # What is to be merged is left to the maintainer.
        monkeypatch.setattr(statements, "settle_views", lambda _: False)
        with prepare(path) as db:
            for text in VIEWS[:3]:
                db.execute(text)
            write(db, 2, 6)
            if step == "filled":
                monkeypatch.setattr(statements, "SMALL", -1)
            for text in VIEWS[3:]:
                db.execute(text)
        ended = run(maintain_and_die, path, step, times)
        assert (ended.status, ended.said) == (-signal.SIGKILL, [])
        with vk.open(path) as db:
            check(db, at_head=False)
            write(db, 3, 3)
            db.maintain()
            check(db)

    def test_an_apply_is_all_or_nothing(self, db: vk.Database, path: Path) -> None:
        before = store_of(db).view_tables.objects()
        assert run(die_inside_apply, path).status == -signal.SIGKILL
        assert store_of(db).view_tables.objects() == before
        check(db, at_head=False)
        db.maintain()
        check(db)

    @pytest.mark.parametrize("steps", [1, 2, 3, 4])
    def test_a_fill_goes_on_where_it_was_killed(self, path: Path, steps: int, large: None) -> None:
        """Five steps of two rows, whoever does them, however much is written meanwhile."""
        with vk.open(path, durability="os") as db:
            db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, g STRING, n BIGINT)")
            for number in range(9):
                db.put("T", {"id": number, "g": "ab"[number % 2], "n": number})
            db.execute(VIEWS[0])
            assert run(fill_and_die, path, 2, steps).status == -signal.SIGKILL
            state = state_of(db, "Totals")
            assert state.filled
            write(db, 5, 8)
            taken: list[Any] = []
            db.maintain(progress=taken.append)
            assert len(taken) == 5 - steps
            check(db)

    def test_a_fill_under_a_running_writer_is_killed_and_resumed(self, path: Path, large: None) -> None:
        with prepare(path, rows=40) as db:
            for text in VIEWS:
                db.execute(text)
            writer = start(write_for_long, path, 7, 60)
            assert writer.stdout is not None
            writer.stdout.readline()
            kills = 0
            for _ in range(3):
                kills += run(fill_and_die, path, 1, 3).status == -signal.SIGKILL
            writer.communicate(timeout=30)
            assert kills
            db.maintain()
            check(db)


class TestRaces:
    def test_two_processes_and_a_writer_count_every_change_once(self, db: vk.Database, path: Path) -> None:
        maintainers = [start(maintain_until_told, path) for _ in range(2)]
        writers = [start(write_for_long, path, seed, 40) for seed in (1, 2)]
        for writer in writers:
            writer.communicate(timeout=30)
        for one in maintainers:
            out, _ = one.communicate("enough\n", timeout=30)
            assert one.returncode == 0, out
        finish(maintainer(store_of(db)))
        check(db)

    def test_two_threads_and_a_writer_count_every_change_once(self, db: vk.Database) -> None:
        over = threading.Event()

        def keep() -> int:
            keeping = maintainer(store_of(db), batch_changes=3)
            rounds = 0
            while not over.is_set():
                keeping.round()
                rounds += 1
            keeping.let_go()
            return rounds

        threads = [Thread(keep) for _ in range(2)]
        write(db, 11, 150)
        over.set()
        assert all(isinstance(thread.ended(), int) for thread in threads), [thread.result for thread in threads]
        finish(maintainer(store_of(db)))
        check(db)

    @pytest.mark.parametrize("batch", [1, 1000])
    def test_who_loses_catches_up_without_another_write(self, db: vk.Database, batch: int) -> None:
        """The other one may have taken all of it, or only the first transaction."""
        store = store_of(db)
        other = maintainer(store, batch_changes=batch)
        outrun = Once("computed", other.round)
        rounds = finish(maintainer(store, step=outrun))
        assert outrun.left == 0
        assert rounds[0].left
        check(db)

    def test_who_loses_twice_claims_the_group(self, db: vk.Database) -> None:
        store = store_of(db)
        other = maintainer(store, batch_changes=1)
        slow: Maintainer
        refused: list[bool] = []

        def outrun() -> None:
            before = store.view_tables.groups()
            other.round()
            refused.append(store.view_tables.groups() == before)

        slow = maintainer(store, step=Once("computed", outrun, times=3))
        slow.round()
        assert {state.holder for state in store.view_tables.groups().values()} == {""}
        slow.round()
        assert {state.holder for state in store.view_tables.groups().values()} == {slow.holder}
        slow.round()
        assert refused == [False, False, True]
        assert {state.holder for state in store.view_tables.groups().values()} == {""}
        check(db)

    def test_a_claim_is_let_go_when_another_has_done_the_work(self, db: vk.Database) -> None:
        """Otherwise nobody could bring the group on before it runs out."""
        store = store_of(db)
        other = maintainer(store)

        def outrun() -> None:
            other.round()
            if slow_one.left == 1:
                write(db, 77, 1)

        slow_one = Once("computed", outrun, times=2)
        slow = maintainer(store, step=slow_one)
        slow.round()
        slow.round()
        assert {state.holder for state in store.view_tables.groups().values()} == {slow.holder}
        assert not slow.round().left
        assert {state.holder for state in store.view_tables.groups().values()} == {""}
        check(db)


class TestCatalogChanges:
    def test_a_batch_for_a_view_that_was_dropped_and_made_again_is_refused(self, db: vk.Database) -> None:
        """Same name, same watermark, other definition: the old batch must not count for it."""
        store = store_of(db)

        def remake() -> None:
            db.execute("DROP VIEW Kinds")
            db.execute("CREATE VIEW Kinds AS SELECT g, n, COUNT(*) AS c FROM T GROUP BY g, n")

        finish(maintainer(store, step=Once("computed", remake)))
        check(db)
        assert view_of(db, "Kinds").column_names == ("g", "n", "c")

    def test_a_batch_for_a_group_that_lost_a_member_is_refused(self, db: vk.Database) -> None:
        db.maintain()
        assert state_of(db, "Sizes") == state_of(db, "Totals")
        write(db, 20, 4)
        lost: list[GroupState] = []

        def drop() -> None:
            lost.append(state_of(db, "Totals"))
            db.execute("DROP VIEW Sizes")

        rounds = finish(maintainer(store_of(db), step=Once("computed", drop)))
        assert rounds[0].left
        assert state_of(db, "Totals").generation == lost[0].generation + 1
        check(db)

    def test_a_view_made_in_mid_round_over_one_that_lags_waits_for_the_next(self, db: vk.Database) -> None:
        made = Once("begun", lambda: db.execute("CREATE VIEW Late AS SELECT g FROM Totals WHERE c > 1"))
        finish(maintainer(store_of(db), step=made))
        check(db)
        assert shown(store_of(db), view_of(db, "Late"))

    @pytest.mark.parametrize("name", ["Totals", "ByN"])
    def test_a_view_may_be_dropped_while_it_is_filled(self, path: Path, name: str, large: None) -> None:
        with prepare(path) as db:
            for text in VIEWS:
                db.execute(text)
            kind = "INDEX" if name == "ByN" else "VIEW"

            def drop(filled: Any) -> None:
                if filled.view == name and store_of(db).catalog().view(name) is not None:
                    db.execute(f"DROP {kind} {name} CASCADE")

            finish(maintainer(store_of(db), progress=drop))
            assert store_of(db).catalog().view(name) is None
            check(db)
            known = {number for view in store_of(db).catalog().views.values() for number in view.objects}
            assert store_of(db).view_tables.objects()[1].keys() == known

    def test_what_a_dropped_view_leaves_does_not_stop_its_fill_elsewhere(self, db: vk.Database) -> None:
        """A process that was about to fill a view does not know yet that it is gone."""
        store = store_of(db)
        view = view_of(db, "ByN")
        db.execute("DROP INDEX ByN")
        store.view_tables.create_group(view.id, view.objects, 0, 0, filled=b"")
        finish(maintainer(store))
        assert view.id not in store.view_tables.objects()[1]
        check(db)


class Trouble:
    """Makes one view fail, wherever its first stage is computed by rows."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str, error: Exception) -> None:
        from viewkeeper.execute.viewchanges import ViewRunner

        self.on = True
        original = ViewRunner.first_changes

        def first_changes(runner: ViewRunner, rows: Any) -> Any:
            if self.on and runner.program.layout.name == name:
                raise error
            return original(runner, rows)

        patch.setattr(ViewRunner, "first_changes", first_changes)


ERRORS = (StoreDamaged("no luck"), ValueError("no luck"))


class TestFailingViews:
    @pytest.fixture(autouse=True)
    def soon(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Tried again at once, and later not before the test ends."""
        monkeypatch.setattr("viewkeeper.pipeline.attempts.FIRST_RETRY", 0.0)

    @pytest.mark.parametrize("error", ERRORS, ids=["ours", "another"])
    def test_the_others_go_on_and_it_is_tried_again(
        self, db: vk.Database, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        store = store_of(db)
        trouble = Trouble(monkeypatch, "ByN", error)
        keeping = maintainer(store)
        done = keeping.round()
        assert list(done.failed) == ["ByN"]
        assert state_of(db, "ByN").watermark < state_of(db, "Totals").watermark == store.offset(store.head())
        check(db, at_head=False)
        note = store.view_tables.notes()[view_of(db, "ByN").id]
        assert ("no luck" in note.error, note.failures) == (True, 1)
        keeping.round()
        assert store.view_tables.notes()[view_of(db, "ByN").id].failures == 2
        trouble.on = False
        finish(keeping)
        note = store.view_tables.notes()[view_of(db, "ByN").id]
        assert (note.error, note.failures) == ("", 0)
        check(db)

    @pytest.mark.parametrize("error", [StoreFull("no luck"), AssertionError("no luck")], ids=["ours", "another"])
    def test_an_apply_that_fails_stops_no_other_group(
        self, db: vk.Database, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        store = store_of(db)
        view, really = view_of(db, "ByN").id, ViewStore._write

        def write_all_but_one(self: ViewStore, txn: Any, number: int, changes: Any, batch: Any) -> None:
            if number == view:
                raise error
            really(self, txn, number, changes, batch)

        with monkeypatch.context() as patch:
            patch.setattr(ViewStore, "_write", write_all_but_one)
            done = maintainer(store).round()
        assert list(done.failed) == ["ByN"]
        assert state_of(db, "ByN").watermark < state_of(db, "Totals").watermark == store.offset(store.head())
        finish(maintainer(store))
        check(db)

    def test_it_is_left_alone_for_a_while(self, db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("viewkeeper.pipeline.attempts.FIRST_RETRY", 60.0)
        trouble = Trouble(monkeypatch, "ByN", ERRORS[0])
        finish(maintainer(store_of(db)))
        trouble.on = False
        write(db, 30, 2)
        finish(maintainer(store_of(db)))
        assert store_of(db).view_tables.notes()[view_of(db, "ByN").id].failures == 1
        assert state_of(db, "ByN").watermark < state_of(db, "Totals").watermark

    def test_maintain_returns_and_tells_what_is_behind(
        self, db: vk.Database, monkeypatch: pytest.MonkeyPatch, large: None
    ) -> None:
        """Also where a view waits for one that fails, whole or not."""
        monkeypatch.setattr("viewkeeper.pipeline.attempts.FIRST_RETRY", 60.0)
        db.execute("CREATE VIEW Above AS SELECT n FROM ByN WHERE n > 1")
        db.execute("CREATE VIEW Broken AS SELECT id FROM T")
        db.execute("CREATE VIEW OverBroken AS SELECT id FROM Broken")
        trouble = Trouble(monkeypatch, "ByN", ERRORS[0])
        Trouble(monkeypatch, "Broken", ERRORS[0])
        report = db.maintain()
        assert report.failed.keys() == {"ByN", "Above", "Broken", "OverBroken"}
        assert "no luck" in report.failed["ByN"]
        assert report.failed["OverBroken"] == "waits for Broken"
        again = db.maintain()
        assert again.failed == report.failed
        assert trouble.on

    def test_a_fill_that_fails_is_tried_again(
        self, db: vk.Database, monkeypatch: pytest.MonkeyPatch, large: None
    ) -> None:
        db.execute("CREATE VIEW Broken AS SELECT id FROM T")
        trouble = Trouble(monkeypatch, "Broken", ERRORS[0])
        keeping = maintainer(store_of(db))
        assert list(keeping.round().failed) == ["Broken"]
        trouble.on = False
        finish(keeping)
        note = store_of(db).view_tables.notes()[view_of(db, "Broken").id]
        assert (note.error, note.failures) == ("", 0)
        check(db)

    def test_a_view_that_cannot_be_bound_any_more_is_set_aside(
        self, db: vk.Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from viewkeeper.views import bound

        original = bound.bind_again

        def bind_again(catalog: Any, view: View) -> Any:
            if view.name == "ByN":
                raise Unsupported("no longer supported")
            return original(catalog, view)

        monkeypatch.setattr(bound, "bind_again", bind_again)
        monkeypatch.setattr(bound, "_cache", type(bound._cache)())
        store = store_of(db)
        report = db.maintain()
        assert list(report.failed) == ["ByN"]
        assert "no longer supported" in store.view_tables.notes()[view_of(db, "ByN").id].error
        assert state_of(db, "Totals").watermark == store.offset(store.head())
        assert state_of(db, "ByN").watermark < store.offset(store.head())
        monkeypatch.undo()
        monkeypatch.setattr(bound, "_cache", type(bound._cache)())
        finish(maintainer(store))
        check(db)
        assert store.view_tables.notes()[view_of(db, "ByN").id].error == ""


class TestPoison:
    def test_rows_that_fail_give_null_and_are_counted_while_they_are_there(self, path: Path) -> None:
        with vk.open(path, durability="os") as db:
            db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, g STRING, n BIGINT)")
            db.execute("CREATE VIEW Quotients AS SELECT id, 10 DIV n AS q FROM T")
            db.execute("CREATE VIEW Numbers AS SELECT id, CAST(g AS BIGINT) AS v, n + 1 AS more FROM T")
            db.execute("CREATE VIEW Sums AS SELECT SUM(n) AS s FROM T")
            store = store_of(db)

            def errors() -> list[int]:
                db.maintain()
                check(db)
                found = store.view_tables.objects()[1]
                return [found[view_of(db, name).id].errors for name in ("Quotients", "Numbers", "Sums")]

            db.put("T", {"id": 1, "g": "7", "n": 5})
            assert errors() == [0, 0, 0]
            db.put("T", {"id": 2, "g": "seven", "n": 0})
            assert errors() == [1, 1, 0]
            # Two failures in one row are one row that fails.
            db.put("T", {"id": 3, "g": "x", "n": 2**63 - 1})
            assert errors() == [1, 2, 1]
            db.put("T", {"id": 2, "g": "8", "n": 2})
            assert errors() == [0, 1, 1]
            db.delete("T", 3)
            assert errors() == [0, 0, 0]

    def test_a_sum_that_begins_to_fail_is_counted_though_it_was_null_before(self, path: Path) -> None:
        with vk.open(path, durability="os") as db:
            db.execute("CREATE TABLE T (id BIGINT PRIMARY KEY, g STRING, n BIGINT)")
            db.execute("CREATE VIEW Sums AS SELECT g, SUM(n) AS s FROM T GROUP BY g")
            db.put("T", {"id": 1, "g": "a", "n": None})
            db.maintain()
            with db.transaction() as tx:
                tx.put("T", {"id": 2, "g": "a", "n": 2**63 - 1})
                tx.put("T", {"id": 3, "g": "a", "n": 2**63 - 1})
            db.maintain()
            check(db)
            with db.transaction() as tx:
                tx.delete("T", 2)
                tx.delete("T", 3)
            db.maintain()
            check(db)
