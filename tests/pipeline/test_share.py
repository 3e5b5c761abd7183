"""A share of the time: after work comes rest, in proportion; the backlog grows, is seen, and is caught up with."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.cli.running import run
from tests.faults.maintaining import TABLE, check, write
from viewkeeper.errors import WrongType
from viewkeeper.pipeline.backfill import Filled
from viewkeeper.pipeline.share import LEAST_BATCH, PACED_BATCH, Share


class Clock:
    """Seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def work(share: Share, clock: Clock, seconds: float) -> None:
    with share.busy():
        clock.now += seconds


@pytest.mark.parametrize("part", [0.1, 0.25, 0.5, 0.9])
def test_work_takes_its_share_of_the_time_and_no_more(part: float) -> None:
    clock = Clock()
    share = Share(part, clock=clock)
    began, worked = clock.now, 0.0
    for seconds in (0.5, 0.01, 3.0, 0.2, 0.2, 1.0):
        work(share, clock, seconds)
        worked += seconds
        rest = share.rest()
        assert rest == pytest.approx(seconds * (1 - part) / part)
        clock.now += rest
    assert worked / (clock.now - began) == pytest.approx(part)


def test_all_of_the_time_never_rests() -> None:
    clock = Clock()
    share = Share(clock=clock)
    work(share, clock, 1000)
    assert share.rest() == 0
    assert share.batch(1_000_000) == 1_000_000


def test_time_that_was_not_used_is_not_saved_up() -> None:
    clock = Clock()
    share = Share(0.5, clock=clock)
    clock.now += 1000
    work(share, clock, 2)
    assert share.rest() == pytest.approx(2)


def test_the_work_of_threads_side_by_side_adds_up() -> None:
    clock = Clock()
    share = Share(0.5, clock=clock)
    began = clock.now
    clock.now += 3
    share.spent(began)
    share.spent(began)
    # Six seconds of work: nobody is to go on before twelve have passed.
    assert share.rest() == pytest.approx(9)


def test_what_fails_was_work_too() -> None:
    clock = Clock()
    share = Share(0.5, clock=clock)
    with pytest.raises(ZeroDivisionError), share.busy():
        clock.now += 2
        raise ZeroDivisionError
    assert share.rest() == pytest.approx(2)


def test_batches_are_small_where_the_share_is() -> None:
    assert Share(0.2).batch(1_000_000) == PACED_BATCH // 5
    assert Share(0.001).batch(1_000_000) == LEAST_BATCH
    assert Share(0.2).batch(50) == 50


def test_a_fill_rests_before_it_begins_and_between_its_steps() -> None:
    clock = Clock()
    share = Share(0.25, clock=clock)
    rests: list[float] = []

    def wait(seconds: float) -> None:
        rests.append(seconds)
        clock.now += seconds

    seen: list[int] = []
    paced = share.paced(wait, lambda filled: seen.append(filled.rows))
    work(share, clock, 1)
    paced.begin()
    for rows in (10, 20):
        clock.now += 2
        paced(Filled("V", rows, 20, 1.0))
    assert rests == [pytest.approx(seconds) for seconds in (3, 6, 6)]
    assert seen == [10, 20]


@pytest.mark.parametrize("part", [0, -0.5, 1.01, float("nan"), float("inf"), "half", None, True])
def test_what_is_no_share_is_refused(part: Any, tmp_path: Path) -> None:
    with pytest.raises(WrongType) as refused:
        Share(part)
    assert f"share is {part!r}" in refused.value.message
    with vk.open(tmp_path / "db", durability="os") as db, pytest.raises(WrongType):
        # Before anything is started: there is no session, and none is asked for.
        db.start_maintenance(share=part)


def test_the_command_line_refuses_it_too(tmp_path: Path) -> None:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLE)
    done = run("maintain", tmp_path / "db", "--share", "1.5")
    assert done.code == 1
    assert "share is 1.5" in done.err
    assert run("maintain", tmp_path / "db", "--once", "--share", "0.5").code == 2


def test_a_small_share_lags_and_still_catches_up(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rests: list[float] = []
    rest = Share.rest

    def noted(share: Share) -> float:
        rests.append(rest(share))
        return rests[-1]

    monkeypatch.setattr(Share, "rest", noted)
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLE)
        db.execute("CREATE VIEW V AS SELECT g, COUNT(*) AS c FROM T GROUP BY g")
        with db.start_maintenance(spark=spark, share=0.3):
            for seed in range(5):
                write(db, seed, 5)
                time.sleep(0.05)
            until = time.monotonic() + 120
            while db.status()[0].lag_changes:
                assert time.monotonic() < until
                time.sleep(0.05)
        assert max(rests) > 0
        check(db)
