"""LAZY views: no work unless somebody asks, or clients leave time; then the oldest task first, and one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.faults.maintaining import check, store_of, write
from tests.pipeline.paced import Moment, by_mode, head, lag, make, number, watermark
from tests.views.kept import NoSpark
from viewkeeper.errors import StoreFull
from viewkeeper.execute import chain, changetable
from viewkeeper.execute.changetable import Weighted
from viewkeeper.pipeline.lazy import LazySettings, LazyTurn, tasks
from viewkeeper.pipeline.load import Load, LoadMeter
from viewkeeper.pipeline.schedule import schedule, work_due
from viewkeeper.store.viewstore import ViewStore
from viewkeeper.views import deltas

A = "CREATE VIEW A MAINTAIN LAZY AS SELECT g, COUNT(*) AS c FROM T GROUP BY g"
B = "CREATE VIEW B MAINTAIN LAZY AS SELECT id, n FROM T WHERE n > 1"
C = "CREATE INDEX C ON T (n) MAINTAIN LAZY"
IDLE = Load()
BUSY = Load(writes=1e6)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with make(tmp_path / "db", A, B, C) as db:
        yield db


def lazy(db: vk.Database, load: Load = IDLE, clock: Moment | None = None, **settings: Any) -> LazyTurn:
    chosen = LazySettings(**{"patience": 1e12, **settings})
    return LazyTurn(
        store_of(db),
        NoSpark(),  # type: ignore[arg-type]
        settings=chosen,
        load=lambda: load,
        clock=clock or Moment(),
    )


def move_alone(db: vk.Database, name: str) -> None:
    db.maintain(views=[name])


def test_rounds_leave_it_alone_and_the_clock_rests(db: vk.Database) -> None:
    clock = Moment()
    keeping = by_mode(db, clock)
    write(db, 2, 4)
    for _ in range(3):
        clock.pass_ms(3_600_000)
        assert work_due(store_of(db), clock()) is None
        done = keeping.round()
        assert (done.groups, done.left) == (0, False)
    assert 0 not in lag(db, "A", "B", "C")


def test_a_turn_runs_one_job(db: vk.Database) -> None:
    turn = lazy(db)
    write(db, 2, 4)
    for count in (1, 2, 3):
        done = turn.turn()
        assert done is not None
        assert done.groups == 1
        assert lag(db, "A", "B", "C").count(0) == count
    assert turn.turn() is None
    check(db)


def test_the_oldest_task_goes_first(db: vk.Database) -> None:
    write(db, 2, 2)
    move_alone(db, "A")
    write(db, 3, 2)
    move_alone(db, "C")
    write(db, 4, 2)
    turn = lazy(db)
    for name in ("B", "A", "C"):
        turn.turn()
        assert lag(db, name) == [0]
    check(db)


def test_of_tasks_as_old_as_each_other_that_of_the_view_that_is_read_next_goes_first(db: vk.Database) -> None:
    views = store_of(db).view_tables
    # Read often but long ago, read lately but seldom, and never.
    for moments in ({"C": 1_000, "B": 500_000}, {"C": 1_100, "B": 900_000}):
        views.note_reads({number(db, name): at for name, at in moments.items()})
    write(db, 2, 2)
    turn = lazy(db)
    for name in ("C", "B", "A"):
        assert lag(db, name) != [0]
        turn.turn()
        assert lag(db, name) == [0]


@pytest.mark.parametrize("load", [Load(writes=101), Load(latency=0.02), Load(reads=17)])
def test_it_sleeps_on_while_clients_are_busy(db: vk.Database, load: Load) -> None:
    write(db, 2, 4)
    assert lazy(db, load).turn() is None
    assert 0 not in lag(db, "A", "B", "C")
    assert lazy(db, Load(writes=100, latency=0.01, reads=16)).turn() is not None


def test_a_task_that_has_waited_too_long_is_done_although_clients_are_busy(db: vk.Database) -> None:
    write(db, 2, 4)
    clock = Moment()
    committed = store_of(db).committed_behind(watermark(db, "A"))
    assert committed is not None
    clock.now = committed + 599_000_000
    turn = lazy(db, BUSY, clock, patience=600)
    assert turn.turn() is None
    clock.pass_ms(1000)
    assert turn.turn() is not None


def test_a_job_takes_in_no_more_than_its_cap_and_goes_on_where_it_ended(db: vk.Database) -> None:
    begin = watermark(db, "A")
    for key in range(10):
        db.put("T", {"id": key, "g": "new", "n": key})
    move_alone(db, "B")
    move_alone(db, "C")
    turn = lazy(db, job_changes=4)
    reached = []
    while turn.turn() is not None:
        reached.append(watermark(db, "A") - begin)
        check(db, at_head=False)
    assert reached == [4, 8, 10]


def test_a_failing_view_does_not_stop_the_others(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    write(db, 2, 4)
    bad = number(db, "A")
    apply_all = ViewStore.apply_all

    def failing(views: ViewStore, batches: Any) -> Any:
        if any(bad in batch.counted for batch in batches):
            raise StoreFull("the disk is full")
        return apply_all(views, batches)

    monkeypatch.setattr(ViewStore, "apply_all", failing)
    clock = Moment()
    clock.now = 0  # before it is to be tried again
    turn = lazy(db, clock=clock)
    first = turn.turn()
    assert first is not None
    assert list(first.failed) == ["A"]
    assert [turn.turn() is not None for _ in range(3)] == [True, True, False]
    assert lag(db, "B", "C") == [0, 0]
    monkeypatch.undo()
    clock.now = 4 * 10**15
    turn.turn()
    check(db)


def test_a_task_survives_a_restart(tmp_path: Path) -> None:
    with make(tmp_path / "db", A) as db:
        write(db, 2, 3)
    with vk.open(tmp_path / "db") as db:
        assert [task.watermark for task in tasks(schedule(store_of(db)))] == [watermark(db, "A")]
        lazy(db).turn()
        check(db)


def test_a_view_above_one_of_another_mode_waits_for_it_and_then_follows(tmp_path: Path) -> None:
    texts = (
        "CREATE VIEW Below MAINTAIN EVERY 1 SECOND AS SELECT g, COUNT(*) AS c FROM T GROUP BY g",
        "CREATE VIEW Above MAINTAIN LAZY AS SELECT c, COUNT(*) AS many FROM Below GROUP BY c",
        "CREATE VIEW Top AS SELECT many, COUNT(*) AS n FROM Above GROUP BY many",
    )
    with make(tmp_path / "db", *texts) as db:
        clock = Moment()
        keeping, turn = by_mode(db, clock), lazy(db)
        write(db, 2, 3)
        assert turn.turn() is None
        keeping.round()
        assert lag(db, "Below") == [0]
        assert 0 not in lag(db, "Above", "Top")
        assert not keeping.is_due()
        assert turn.turn() is not None
        assert lag(db, "Above") == [0]
        assert lag(db, "Top") != [0]
        assert keeping.is_due()
        keeping.round()
        check(db)


def test_a_view_that_reads_a_quick_and_a_slow_one_stands_only_where_both_have_stood(tmp_path: Path) -> None:
    texts = (
        "CREATE VIEW Slow MAINTAIN LAZY AS SELECT g, COUNT(*) AS c FROM T GROUP BY g",
        "CREATE VIEW Quick AS SELECT g, SUM(n) AS s FROM T GROUP BY g",
        "CREATE VIEW Both AS SELECT x.g, x.c, y.s FROM Slow AS x JOIN Quick AS y ON x.g = y.g",
    )
    with make(tmp_path / "db", *texts) as db:
        keeping, turn = by_mode(db, Moment()), lazy(db)
        for seed in range(2, 6):
            write(db, seed, 2)
            keeping.round()
            check(db, at_head=False)
        quick = watermark(db, "Quick")
        write(db, 6, 2)
        turn.turn()
        # Not to the head: there the other one has not stood, and never will.
        assert watermark(db, "Slow") == quick < head(db)
        keeping.round()
        assert watermark(db, "Both") == quick
        check(db, at_head=False)
        db.maintain()
        check(db)


def test_a_view_above_and_one_below_one_of_another_mode_do_not_wait_for_each_other(tmp_path: Path) -> None:
    texts = (
        "CREATE VIEW Low AS SELECT g, COUNT(*) AS c FROM T GROUP BY g",
        "CREATE VIEW Middle MAINTAIN LAZY AS SELECT g, c FROM Low WHERE c > 0",
        "CREATE VIEW High AS SELECT l.g, b.c FROM Low AS l JOIN Middle AS b ON l.g = b.g",
    )
    with make(tmp_path / "db", *texts) as db:
        keeping, turn = by_mode(db, Moment()), lazy(db)
        for seed in range(2, 5):
            write(db, seed, 3)
            keeping.round()
            assert lag(db, "Low") == [0]
            assert 0 not in lag(db, "Middle", "High")
            turn.turn()
            keeping.round()
            check(db)


def test_where_one_of_two_was_brought_by_a_reader_the_other_has_not_stood(tmp_path: Path) -> None:
    texts = (
        "CREATE VIEW Slow MAINTAIN LAZY AS SELECT g, COUNT(*) AS c FROM T GROUP BY g",
        "CREATE VIEW Quick AS SELECT g, SUM(n) AS s FROM T GROUP BY g",
        "CREATE VIEW Both AS SELECT x.g, x.c, y.s FROM Slow AS x JOIN Quick AS y ON x.g = y.g",
    )
    with make(tmp_path / "db", *texts) as db:
        keeping = by_mode(db, Moment())
        begin = head(db)
        middle = db.put("T", {"id": 90, "g": "a", "n": 1})
        db.put("T", {"id": 91, "g": "a", "n": 1})
        db.maintain(views=["Slow"], until=middle)
        keeping.round()
        # One batch brought the quick one past the middle: what it was there, nobody knows.
        assert (watermark(db, "Quick"), watermark(db, "Slow"), watermark(db, "Both")) == (begin + 2, begin + 1, begin)
        assert not keeping.is_due()
        check(db, at_head=False)
        lazy(db).turn()
        keeping.round()
        check(db)


def test_a_view_of_two_that_have_drifted_apart_is_filled_where_they_last_stood_together(tmp_path: Path) -> None:
    texts = (
        "CREATE VIEW Slow MAINTAIN LAZY AS SELECT g, COUNT(*) AS c FROM T GROUP BY g",
        "CREATE VIEW Quick AS SELECT g, SUM(n) AS s FROM T GROUP BY g",
    )
    with make(tmp_path / "db", *texts) as db:
        together = head(db)
        write(db, 2, 3)
        by_mode(db, Moment()).round()
        db.execute("CREATE VIEW Both AS SELECT x.g, x.c, y.s FROM Slow AS x JOIN Quick AS y ON x.g = y.g")
        assert watermark(db, "Both") == together < watermark(db, "Quick")
        check(db, at_head=False)
        db.maintain()
        check(db)


def test_views_that_never_stood_together_are_brought_together_for_a_view_over_both(tmp_path: Path) -> None:
    with make(tmp_path / "db") as db:
        db.execute("CREATE VIEW Slow MAINTAIN LAZY AS SELECT g, COUNT(*) AS c FROM T GROUP BY g")
        write(db, 2, 3)
        db.execute("CREATE VIEW Quick AS SELECT g, SUM(n) AS s FROM T GROUP BY g")
        db.execute("CREATE VIEW Both AS SELECT x.g, x.c, y.s FROM Slow AS x JOIN Quick AS y ON x.g = y.g")
        keeping = by_mode(db, Moment())
        for _ in range(3):
            keeping.round()
        check(db)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW V MAINTAIN LAZY AS SELECT a.id, b.g FROM T AS a JOIN T AS b ON a.n = b.n",
        "CREATE VIEW V MAINTAIN LAZY AS SELECT g, SUM(n) AS s FROM T GROUP BY g",
    ],
)
def test_updates_of_one_row_again_and_again_are_condensed_to_what_they_change_in_all(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make(tmp_path / "db", text) as db:
        db.put("T", {"id": 1, "g": "a", "n": 0})
        db.put("T", {"id": 2, "g": "b", "n": 3})
        db.maintain()
        for value in range(1, 50):
            db.put("T", {"id": 1, "g": "a", "n": value})
            db.put("T", {"id": 2, "g": "b", "n": value})
        db.put("T", {"id": 2, "g": "b", "n": 3})
        sizes: list[int] = []
        net_rows = changetable.net_rows

        def counted(rows: Sequence[Weighted], *, has_doubles: bool) -> list[Weighted]:
            net = net_rows(rows, has_doubles=has_doubles)
            sizes.append(len(net))
            return net

        for module in (deltas, chain):
            monkeypatch.setattr(module, "net_rows", counted)
        lazy(db).turn()
        # Row 1 as it was and as it is; of row 2, which is what it was, nothing.
        assert set(sizes) == {2}
        check(db)


class TestLoad:
    def test_transactions_are_counted_since_the_last_look(self, db: vk.Database) -> None:
        moments = iter([10.0, 12.0, 12.0, 12.001, 13.0, 13.0, 13.005])
        meter = LoadMeter(store_of(db), clock=lambda: next(moments))
        write(db, 2, 3)
        with db.transaction() as tx:
            for key in range(5):
                tx.put("T", {"id": key, "g": "x", "n": 77})
        first = meter()
        assert first.writes == 4 / 2
        assert first.latency == pytest.approx(0.001)
        assert meter().writes == 0

    def test_the_probe_waits_for_a_writer_and_changes_nothing(self, db: vk.Database) -> None:
        before = head(db)
        LoadMeter(store_of(db))()
        assert head(db) == before
        db.put("T", {"id": 1, "g": "x", "n": 1})

    def test_open_reads_are_counted(self, db: vk.Database) -> None:
        store = store_of(db)
        meter = LoadMeter(store)
        before = meter().reads
        with store.view_tables.reading([number(db, "A")]):
            assert meter().reads == before + 1

    def test_a_log_that_was_truncated_meanwhile_is_no_error(self, db: vk.Database) -> None:
        meter = LoadMeter(store_of(db))
        meter._head = -5
        assert meter().writes > 0
