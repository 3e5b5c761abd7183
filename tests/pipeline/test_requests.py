"""Requests of readers: they go first, by priority, as far as they ask; and readers never starve a long batch."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.faults.maintaining import check, store_of, write
from tests.pipeline.paced import Moment, ask, by_mode, head, lag, make, number, watermark
from tests.views.kept import finish, maintainer
from viewkeeper.errors import Outrun
from viewkeeper.pipeline import moving
from viewkeeper.pipeline.schedule import work_due
from viewkeeper.store.viewstore import ViewStore
from viewkeeper.views.batch import Timing, batch_by_rows
from viewkeeper.views.bound import bound_views

A = "CREATE VIEW A MAINTAIN LAZY AS SELECT g, COUNT(*) AS c FROM T GROUP BY g"
B = "CREATE VIEW B MAINTAIN LAZY AS SELECT id, n FROM T WHERE n > 1"
C = "CREATE INDEX C ON T (n) MAINTAIN LAZY"
ABOVE = "CREATE VIEW Above AS SELECT c, COUNT(*) AS many FROM A GROUP BY c"


def applied(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of views, in the order in which their batches are applied from now on."""
    order: list[str] = []
    apply_all = ViewStore.apply_all

    def noting(views: ViewStore, batches: Any) -> Any:
        known = store_of(db).catalog().views
        order.extend(known[number].name for batch in batches for number in batch.counted)
        return apply_all(views, batches)

    monkeypatch.setattr(ViewStore, "apply_all", noting)
    return order


def test_only_what_is_asked_for_is_moved_and_the_request_is_forgotten(tmp_path: Path) -> None:
    with make(tmp_path / "db", A, B) as db:
        write(db, 2, 3)
        ask(db, "A")
        by_mode(db, Moment()).round()
        assert lag(db, "A") == [0]
        assert lag(db, "B") != [0]
        assert store_of(db).view_tables.asked() == {}
        check(db, at_head=False)


def test_a_view_is_moved_as_far_as_it_is_asked_for(tmp_path: Path) -> None:
    with make(tmp_path / "db", A) as db:
        write(db, 2, 2)
        upto = head(db)
        write(db, 3, 2)
        ask(db, "A", upto)
        by_mode(db, Moment()).round()
        assert watermark(db, "A") == upto < head(db)
        check(db, at_head=False)


def test_the_greatest_priority_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make(tmp_path / "db", A, B, C) as db:
        write(db, 2, 3)
        for name, priority in (("A", 1), ("B", 7), ("C", 3)):
            ask(db, name, priority=priority)
        order = applied(db, monkeypatch)
        by_mode(db, Moment()).round()
        assert order == ["B", "C", "A"]


def test_what_is_asked_for_goes_before_what_is_due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deferred = "CREATE VIEW D AS SELECT id FROM T WHERE n > 2"
    with make(tmp_path / "db", deferred, B) as db:
        write(db, 2, 3)
        ask(db, "B")
        order = applied(db, monkeypatch)
        by_mode(db, Moment()).round()
        assert order == ["B", "D"]


def test_a_view_that_is_asked_for_brings_along_what_it_reads(tmp_path: Path) -> None:
    with make(tmp_path / "db", A, ABOVE) as db:
        write(db, 2, 3)
        by_mode(db, Moment()).round()
        assert lag(db, "Above") != [0]
        ask(db, "Above")
        by_mode(db, Moment()).round()
        assert lag(db, "A", "Above") == [0, 0]
        check(db)


def test_a_request_wakes_the_clock_although_nobody_writes(tmp_path: Path) -> None:
    with make(tmp_path / "db", A) as db:
        clock, store = Moment(), store_of(db)
        keeping = by_mode(db, clock)
        write(db, 2, 3)
        assert work_due(store, clock()) is None
        assert not keeping.is_due()
        ask(db, "A")
        assert work_due(store, clock()) == watermark(db, "A")
        assert keeping.is_due()
        keeping.round()
        assert work_due(store, clock()) is None


def test_a_request_past_its_deadline_is_left_alone(tmp_path: Path) -> None:
    with make(tmp_path / "db", A) as db:
        write(db, 2, 3)
        ask(db, "A", seconds=0)
        by_mode(db, Moment()).round()
        assert lag(db, "A") != [0]


def test_a_request_that_cannot_be_met_does_not_keep_the_clock_busy(tmp_path: Path) -> None:
    with make(tmp_path / "db", A, ABOVE) as db:
        clock, store = Moment(), store_of(db)
        write(db, 2, 3)
        store.view_tables.note(number(db, "A"), error="broken", failures=1, retry_at=clock.now + 60_000_000)
        ask(db, "Above")
        assert work_due(store, clock()) is None
        assert not by_mode(db, clock).round().left
        assert number(db, "Above") in store.view_tables.asked()


def test_running_maintenance_is_alive_and_answers_what_it_is_asked_for(tmp_path: Path, spark: SparkSession) -> None:
    with make(tmp_path / "db", A, B) as db:
        assert db.info().maintainers == ()
        with db.start_maintenance(spark=spark):
            wait(lambda: len(db.info().maintainers) == 1)
            write(db, 2, 3)
            ask(db, "A")
            wait(lambda: lag(db, "A") == [0])
            wait(lambda: not store_of(db).view_tables.asked())
        assert db.info().maintainers == ()
        check(db, at_head=False)


def test_running_maintenance_does_lazy_work_by_and_by(tmp_path: Path, spark: SparkSession) -> None:
    with make(tmp_path / "db", A, B) as db:
        write(db, 2, 3)
        with db.start_maintenance(spark=spark):
            wait(lambda: lag(db, "A", "B") == [0, 0])
        check(db)


def wait(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 120
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


class FoldingReader:
    """Commits a fold of the next transaction whenever a batch comes to a step: at_least just above the watermark."""

    def __init__(self, db: vk.Database, name: str, step: str) -> None:
        self.db, self.name, self.at = db, name, step
        self.committed = self.refused = 0

    def __call__(self, step: str) -> None:
        if step != self.at:
            return
        store = store_of(self.db)
        write(self.db, 100 + self.committed + self.refused, 1)
        found = store.view_tables.standing(number(self.db, self.name))
        assert found is not None
        place, state = found
        upper = store.boundary(state.watermark, 1)
        try:
            store.view_tables.apply(batch_by_rows(store, bound_views(store), place.group, state, upper, Timing()))
            self.committed += 1
        except Outrun:
            self.refused += 1


def test_readers_that_commit_folds_do_not_outrun_a_long_batch(tmp_path: Path) -> None:
    with make(tmp_path / "db", "CREATE VIEW A AS SELECT g, COUNT(*) AS c FROM T GROUP BY g") as db:
        write(db, 2, 20)
        target = head(db)
        reader = FoldingReader(db, "A", "computed")
        done = maintainer(store_of(db), long_batch=10, step=reader).round(target)
        # One batch, and it is not taken from under it.
        assert (done.groups, reader.committed, reader.refused) == (1, 0, 1)
        assert watermark(db, "A") == target
        check(db, at_head=False)


def test_a_short_batch_may_lose_but_claims_its_group_when_it_loses_again(tmp_path: Path) -> None:
    with make(tmp_path / "db", "CREATE VIEW A AS SELECT g, COUNT(*) AS c FROM T GROUP BY g") as db:
        write(db, 2, 20)
        target = head(db)
        reader = FoldingReader(db, "A", "computed")
        rounds = finish(maintainer(store_of(db), step=reader), target)
        assert (len(rounds), reader.committed, reader.refused) == (3, 2, 1)
        assert watermark(db, "A") == target
        check(db, at_head=False)


def test_a_long_batch_leaves_alone_what_another_has_claimed(tmp_path: Path) -> None:
    with make(tmp_path / "db", A, B) as db:
        views = store_of(db).view_tables
        write(db, 2, 20)
        group = views.group_of(number(db, "A"))
        assert group is not None
        assert views.claim(group, "another", 60)
        done = maintainer(store_of(db), long_batch=10).round()
        assert done.left
        assert lag(db, "B") == [0]
        assert lag(db, "A") != [0]
        assert views.groups()[group].holder == "another"
        views.release(group, "another")
        finish(maintainer(store_of(db), long_batch=10))
        check(db)
        assert {state.holder for state in views.groups().values()} == {""}


def test_the_claim_of_a_long_batch_is_renewed_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "CLAIM_SECONDS", 0.3)
    with make(tmp_path / "db", A) as db:
        views = store_of(db).view_tables
        write(db, 2, 20)
        group = views.group_of(number(db, "A"))
        assert group is not None
        claim, renewed = views.claim, []

        def wait_for_renewals(step: str) -> None:
            while step == "computed" and len(renewed) < 4:
                assert not claim(group, "another", 60)

        monkeypatch.setattr(ViewStore, "claim", lambda _, *arguments: renewed.append(arguments) or claim(*arguments))
        done = maintainer(store_of(db), long_batch=10, step=wait_for_renewals).round()
        assert done.groups == 1
        assert lag(db, "A") == [0]
        assert views.groups()[group].holder == ""
