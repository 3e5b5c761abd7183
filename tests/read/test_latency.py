"""What reads take here: how samples of single reads come from those of whole queries, and what is asked for."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from viewkeeper.errors import WrongType
from viewkeeper.read import latency
from viewkeeper.read.latency import BATCH, GROUPS, ROWS, goal_of, measured, quietest, samples_of


def test_a_read_takes_what_a_query_with_it_takes_longer() -> None:
    found = samples_of([5.0] * 3, [5.0 + 2 * ROWS], [5.0 + 2 * ROWS + 3 * ROWS], [5.0 + 7 * (GROUPS - 1)])
    assert (found.row, found.get, found.range, found.query) == ([2.0], [3.0], [7.0], [2.0, 2.0, 2.0])


def test_a_pause_counts_for_a_query_and_not_for_each_of_its_reads() -> None:
    calm = [5.0 + ROWS] * 18
    found = samples_of([5.0] * 19 + [900.0], [*calm, 900.0, 900.0], [5.0 + 2 * ROWS] * 20, [5.0] * 20)
    assert set(found.row) == {1.0}
    assert max(found.query) == 899.0


def test_what_took_less_than_nothing_took_nothing() -> None:
    found = samples_of([5.0], [4.0], [3.0], [2.0])
    assert (found.row, found.get, found.range, found.query) == ([0.0], [0.0], [0.0], [5.0])


def test_reads_are_measured_once_and_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(latency, "_known", [])
    found = measured()
    assert measured() is found
    assert list(tmp_path.iterdir()) == []
    assert len(found.query) == BATCH
    # Each of its queries does what it is there for, so none of them can take nothing at all.
    assert all(max(times) > 0 for times in (found.query, found.get, found.range, found.row))


def test_what_is_slow_in_every_batch_counts_and_a_pause_in_one_does_not() -> None:
    assert quietest([[1.0, 9.0, 2.0], [80.0, 1.5, 8.0], [1.0, 70.0, 60.0]]) == [1.0, 2.0, 9.0]


def test_pauses_of_the_machine_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    now, runs = 0.0, 0

    def query(number: int) -> None:
        """Takes a millisecond, every third one two; five times the machine is busy for long."""
        nonlocal now, runs
        runs += 1
        now += (1 + (number % 3 == 0)) / 1000
        now += 0.9 if runs in (5, 9, 30, 41, 42) else 0

    monkeypatch.setattr(latency, "time", SimpleNamespace(thread_time=lambda: now, perf_counter=lambda: now))
    [found] = latency._timed([query])
    slow = len(range(0, BATCH, 3))
    assert found == pytest.approx([1.0] * (BATCH - slow) + [2.0] * slow)


@pytest.mark.parametrize(("slo", "goal"), [("10ms", 10), ("0.5ms", 0.5), (" 2 s ", 2000), (3, 3), (0.25, 0.25)])
def test_goals_are_milliseconds(slo: str | float, goal: float) -> None:
    assert goal_of(slo) == goal


@pytest.mark.parametrize("slo", ["fast", "10", "", "0ms", 0, -1, float("nan")])
def test_what_is_no_time_above_zero_is_refused(slo: str | float) -> None:
    with pytest.raises(WrongType):
        goal_of(slo)
