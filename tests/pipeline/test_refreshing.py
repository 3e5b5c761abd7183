"""PERIODIC views under maintenance: refreshed at their interval, when they are asked for, and by maintaining once."""

from __future__ import annotations

from pathlib import Path

import pytest

import viewkeeper as vk
from tests.faults.maintaining import check, store_of, write
from tests.pipeline.paced import Moment, ask, by_mode, lag, make, number
from tests.views.kept import NoSpark
from viewkeeper.errors import StoreFull
from viewkeeper.pipeline import refreshing
from viewkeeper.pipeline.attempts import Attempts
from viewkeeper.pipeline.refreshing import Refreshing
from viewkeeper.pipeline.schedule import work_due

TOP = "CREATE VIEW Top MAINTAIN PERIODIC 1 MINUTE AS SELECT g, SUM(n) AS s FROM T GROUP BY g"
OTHER = "CREATE VIEW Other MAINTAIN PERIODIC 2 MINUTES AS SELECT id, n FROM T WHERE n > 1"
ABOVE = "CREATE VIEW Above AS SELECT s, COUNT(*) AS c FROM Top GROUP BY s"


def refreshes(db: vk.Database, clock: Moment) -> Refreshing:
    return Refreshing(store_of(db), NoSpark(), Attempts(store_of(db)), clock)  # type: ignore[arg-type]


def noted(db: vk.Database, clock: Moment, *names: str) -> None:
    """As if these had just been refreshed by the clock of the test."""
    for name in names:
        store_of(db).view_tables.note(number(db, name), batch_at=clock.now)


def test_it_is_refreshed_when_its_interval_has_passed(tmp_path: Path) -> None:
    with make(tmp_path / "db", TOP, OTHER) as db:
        clock = Moment()
        turning = refreshes(db, clock)
        noted(db, clock, "Top", "Other")
        write(db, 2, 3)
        clock.pass_ms(59_999)
        assert turning.turn().groups == 0
        clock.pass_ms(1)
        assert turning.turn().groups == 1
        assert lag(db, "Top") == [0]
        assert lag(db, "Other") != [0]
        check(db, at_head=False)


def test_rounds_and_the_clock_leave_it_alone(tmp_path: Path) -> None:
    with make(tmp_path / "db", TOP, ABOVE) as db:
        clock = Moment()
        write(db, 2, 3)
        clock.pass_ms(1e9)
        ask(db, "Top")
        assert work_due(store_of(db), clock()) is None
        assert by_mode(db, clock).round().groups == 0
        refreshes(db, clock).turn()
        # What stands on it follows in the next round.
        assert work_due(store_of(db), clock()) is not None
        by_mode(db, clock).round()
        assert lag(db, "Top", "Above") == [0, 0]
        check(db)


def test_a_reader_that_asks_need_not_wait_for_the_interval(tmp_path: Path) -> None:
    with make(tmp_path / "db", TOP, OTHER) as db:
        clock = Moment()
        noted(db, clock, "Top", "Other")
        write(db, 2, 3)
        ask(db, "Other")
        assert refreshes(db, clock).turn().groups == 1
        assert lag(db, "Other") == [0]
        assert lag(db, "Top") != [0]
        assert store_of(db).view_tables.asked() == {}


def test_maintain_once_refreshes_it_and_brings_what_stands_on_it(tmp_path: Path) -> None:
    with make(tmp_path / "db", TOP, OTHER, ABOVE) as db:
        write(db, 2, 3)
        db.maintain(views=["Above"])
        assert lag(db, "Top", "Above") == [0, 0]
        assert lag(db, "Other") != [0]
        write(db, 3, 3)
        report = db.maintain()
        assert report.failed == {}
        assert lag(db, "Top", "Other", "Above") == [0, 0, 0]
        check(db)


def test_one_that_fails_is_set_aside_and_the_others_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make(tmp_path / "db", TOP, OTHER) as db:
        clock = Moment()
        write(db, 2, 3)
        refresh = refreshing.refresh

        def failing(store: object, spark: object, view: vk.View, **options: object) -> object:
            if view.name == "Top":
                raise StoreFull("the disk is full")
            return refresh(store, spark, view, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(refreshing, "refresh", failing)
        done = refreshes(db, clock).turn()
        assert (list(done.failed), done.groups) == (["Top"], 1)
        assert lag(db, "Other") == [0]
        assert {status.view: status.state for status in db.status()} == {"Top": "failing", "Other": "live"}
        monkeypatch.undo()
        refreshes(db, clock).turn()
        check(db)
