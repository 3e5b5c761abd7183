"""EVERY n: a group is moved when n has passed since it was last moved, or when it is asked for."""

from __future__ import annotations

from pathlib import Path

from tests.faults.maintaining import check, store_of, write
from tests.pipeline.paced import Moment, ask, by_mode, head, lag, make, watermark
from viewkeeper.pipeline.schedule import work_due

SOON = "CREATE VIEW Soon MAINTAIN EVERY 200 MILLISECONDS AS SELECT g, COUNT(*) AS c FROM T GROUP BY g"
LATER = "CREATE VIEW Later MAINTAIN EVERY 2 HOURS AS SELECT g, SUM(n) AS s FROM T GROUP BY g"
DEFERRED = "CREATE VIEW Deferred AS SELECT id, n FROM T WHERE n > 1"


def test_it_is_moved_at_its_interval_and_not_between(tmp_path: Path) -> None:
    with make(tmp_path / "db", SOON, LATER, DEFERRED) as db:
        clock = Moment()
        keeping = by_mode(db, clock)
        write(db, 2, 3)
        keeping.round()
        assert lag(db, "Soon", "Later", "Deferred") == [0, 0, 0]
        write(db, 3, 3)
        behind = head(db) - watermark(db, "Soon")
        for _ in range(3):
            clock.pass_ms(60)
            keeping.round()
        assert lag(db, "Soon", "Later", "Deferred") == [behind, behind, 0]
        clock.pass_ms(20)
        keeping.round()
        assert lag(db, "Soon", "Later", "Deferred") == [0, behind, 0]
        clock.pass_ms(2 * 3_600_000)
        keeping.round()
        assert lag(db, "Soon", "Later", "Deferred") == [0, 0, 0]
        check(db)


def test_the_clock_ticks_when_it_is_due_and_not_before(tmp_path: Path) -> None:
    with make(tmp_path / "db", SOON, LATER) as db:
        clock, store = Moment(), store_of(db)
        keeping = by_mode(db, clock)
        write(db, 2, 3)
        assert work_due(store, clock()) == watermark(db, "Soon")
        assert keeping.is_due()
        keeping.round()
        write(db, 3, 3)
        clock.pass_ms(199)
        assert work_due(store, clock()) is None
        assert not keeping.is_due()
        assert keeping.next_due() == 0.001
        clock.pass_ms(1)
        assert work_due(store, clock()) == watermark(db, "Soon")
        keeping.round()
        # The other one is due in hours.
        assert work_due(store, clock()) is None
        assert keeping.next_due() is not None


def test_nothing_is_due_while_nobody_writes(tmp_path: Path) -> None:
    with make(tmp_path / "db", SOON) as db:
        clock = Moment()
        keeping = by_mode(db, clock)
        clock.pass_ms(1_000_000)
        assert (work_due(store_of(db), clock()), keeping.next_due(), keeping.is_due()) == (None, None, False)


def test_a_new_maintainer_knows_from_the_notes_when_it_was_last_moved(tmp_path: Path) -> None:
    with make(tmp_path / "db", SOON) as db:
        clock = Moment()
        write(db, 2, 3)
        by_mode(db, clock).round()
        write(db, 3, 3)
        clock.pass_ms(150)
        by_mode(db, clock).round()
        assert lag(db, "Soon") != [0]
        clock.pass_ms(50)
        by_mode(db, clock).round()
        assert lag(db, "Soon") == [0]


def test_it_is_moved_before_it_is_due_if_a_reader_asks_for_it(tmp_path: Path) -> None:
    with make(tmp_path / "db", SOON, LATER) as db:
        clock = Moment()
        keeping = by_mode(db, clock)
        write(db, 2, 3)
        keeping.round()
        write(db, 3, 3)
        ask(db, "Later")
        assert work_due(store_of(db), clock()) == watermark(db, "Later")
        keeping.round()
        assert lag(db, "Later") == [0]
        assert lag(db, "Soon") != [0]


def test_maintain_once_brings_it_up_whenever_it_was_moved(tmp_path: Path) -> None:
    with make(tmp_path / "db", SOON, LATER) as db:
        for seed in range(2, 5):
            write(db, seed, 2)
            db.maintain()
            assert lag(db, "Soon", "Later") == [0, 0]


def test_views_of_one_interval_are_one_group_and_those_of_others_are_apart(tmp_path: Path) -> None:
    texts = (
        "CREATE VIEW A MAINTAIN EVERY 1 SECOND AS SELECT id, g, n FROM T WHERE n > 0",
        "CREATE VIEW B MAINTAIN EVERY 1000 MILLISECONDS AS SELECT g, COUNT(*) AS c FROM A GROUP BY g",
        "CREATE VIEW C MAINTAIN EVERY 5 SECONDS AS SELECT g, SUM(n) AS s FROM A GROUP BY g",
        "CREATE VIEW D AS SELECT g, SUM(n) AS s FROM A GROUP BY g",
    )
    with make(tmp_path / "db", *texts) as db:
        objects = store_of(db).view_tables.objects()[1]
        places = {view.name: objects[view.id].group for view in db.views()}
        assert places["A"] == places["B"]
        assert len(set(places.values())) == 3


def test_a_view_above_follows_when_what_it_reads_has_moved(tmp_path: Path) -> None:
    texts = (
        "CREATE VIEW Below MAINTAIN EVERY 5 SECONDS AS SELECT g, COUNT(*) AS c FROM T GROUP BY g",
        "CREATE VIEW Above AS SELECT c, COUNT(*) AS many FROM Below GROUP BY c",
    )
    with make(tmp_path / "db", *texts) as db:
        clock = Moment()
        keeping = by_mode(db, clock)
        write(db, 2, 3)
        keeping.round()
        write(db, 3, 3)
        clock.pass_ms(4000)
        assert not keeping.is_due()
        keeping.round()
        assert lag(db, "Below") == lag(db, "Above") != [0]
        check(db, at_head=False)
        clock.pass_ms(1000)
        keeping.round()
        assert lag(db, "Below", "Above") == [0, 0]
        check(db)
