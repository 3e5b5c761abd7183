"""Epochs leave a view by rule: the same view for any split of the log, verified by the same cut; late changes count."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import viewkeeper as vk
from tests.views.kept import finish, maintainer

START = datetime(2026, 1, 1, tzinfo=UTC)
RETAIN = 100
LENGTH, SLIDE = 20, 10
VIEW = f"""
CREATE MATERIALIZED VIEW recent AS
  SELECT WINDOW(at, '{LENGTH} seconds', '{SLIDE} seconds') AS began, shop,
         COUNT(*) AS n, MAX(cost) AS most, COUNT(DISTINCT cost) AS costs
  FROM events GROUP BY WINDOW(at, '{LENGTH} seconds', '{SLIDE} seconds') RETAIN '{RETAIN} seconds', shop
"""
ABOVE = "CREATE MATERIALIZED VIEW shops AS SELECT shop, COUNT(*) AS epochs, SUM(n) AS n FROM recent GROUP BY shop"
HAVING = VIEW.replace("recent", "busy") + " HAVING COUNT(*) > 1"


class Clock:
    """What commits take for the time: seconds behind START."""

    def __init__(self) -> None:
        self.seconds = 0

    def time_ns(self) -> int:
        return int((START + timedelta(seconds=self.seconds)).timestamp()) * 10**9


@contextmanager
def database() -> Iterator[tuple[vk.Database, Clock]]:
    clock = Clock()
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch("viewkeeper.store.log.time", clock),
        vk.open(Path(folder) / "db", durability="os") as db,
    ):
        db.execute("CREATE TABLE events (id BIGINT PRIMARY KEY, at TIMESTAMP, shop STRING, cost BIGINT)")
        yield db, clock


def wanted(rows: list[dict[str, Any]], now: int, least: int = 1) -> set[tuple[Any, ...]]:
    """The plainest way: for every epoch that is kept, the rows in it."""
    found = set()
    seen = [row for row in rows if row["at"] is not None]
    for shop in {row["shop"] for row in seen}:
        for began in range(-1000, now + 1000, SLIDE):
            cut = now - RETAIN
            here = [
                row["cost"]
                for row in seen
                if row["shop"] == shop and 0 <= (row["at"] - START).total_seconds() - began < LENGTH
            ]
            if len(here) >= least and began >= cut:
                known = [cost for cost in here if cost is not None]
                moment = START + timedelta(seconds=began)
                found.add((moment, shop, len(here), max(known, default=None), len(set(known))))
    return found


def shown(db: vk.Database, view: str) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in db.scan(view)}


def check(db: vk.Database, clock: Clock) -> None:
    rows = list(db.scan("events"))
    assert shown(db, "recent") == wanted(rows, clock.seconds)
    assert shown(db, "busy") == wanted(rows, clock.seconds, least=2)
    by_shop: dict[Any, list[int]] = {}
    for _, shop, n, _, _ in wanted(rows, clock.seconds):
        by_shop.setdefault(shop, []).append(n)
    assert shown(db, "shops") == {(shop, len(counts), sum(counts)) for shop, counts in by_shop.items()}


events = st.fixed_dictionaries(
    {
        "id": st.integers(0, 8),
        "at": st.one_of(st.none(), st.integers(-40, 10)),
        "shop": st.sampled_from(["a", "b", None]),
        "cost": st.one_of(st.none(), st.integers(0, 3)),
    }
)
histories = st.lists(
    st.tuples(st.integers(1, 45), st.lists(st.tuples(st.booleans(), events), min_size=1, max_size=4)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(history=histories, split=st.integers(1, 4), made_at=st.integers(0, 4))
def test_old_epochs_leave_the_view_however_the_log_is_split(history: list[Any], split: int, made_at: int) -> None:
    with database() as (db, clock):
        for number, (pause, changes) in enumerate(history):
            if number == min(made_at, len(history) - 1):
                for statement in (VIEW, HAVING, ABOVE):
                    db.execute(statement)
            clock.seconds += pause
            # A change that changes nothing is not logged and moves no clock; this one does.
            db.put("events", {"id": 100, "cost": number})
            with db.transaction() as tx:
                for is_delete, row in changes:
                    if is_delete:
                        tx.delete("events", row["id"])
                        continue
                    at = None if row["at"] is None else START + timedelta(seconds=clock.seconds + row["at"])
                    tx.put("events", {**row, "at": at})
            if number % split == 0 and db.views():
                db.maintain()
                check(db, clock)
        db.maintain()
        check(db, clock)
        for view in ("recent", "busy", "shops"):
            assert db.verify(view).ok


def test_a_change_to_an_epoch_that_has_left_is_counted_and_nothing_else() -> None:
    with database() as (db, clock):
        db.execute(VIEW)
        db.put("events", {"id": 1, "at": START + timedelta(seconds=5), "shop": "a", "cost": 1})
        db.maintain()
        assert len(shown(db, "recent")) == 2
        clock.seconds = 500
        db.put("events", {"id": 2, "at": START + timedelta(seconds=495), "shop": "a", "cost": 1})
        db.maintain()
        before = shown(db, "recent")
        assert len(before) == 2
        assert db.status()[0].late == 0
        db.put("events", {"id": 3, "at": START + timedelta(seconds=6), "shop": "a", "cost": 9})
        db.delete("events", 1)
        db.maintain()
        assert shown(db, "recent") == before
        # Each in the two epochs that would hold it, one more and one less: none of them is left out of the count.
        assert db.status()[0].late > 0
        assert db.verify("recent").ok


def test_epochs_leave_though_nothing_else_changes_in_the_view() -> None:
    with database() as (db, clock):
        db.execute("CREATE TABLE other (id BIGINT PRIMARY KEY)")
        db.execute(VIEW)
        db.put("events", {"id": 1, "at": START, "shop": "a", "cost": 1})
        db.maintain()
        assert shown(db, "recent")
        clock.seconds = 300
        db.put("other", {"id": 1})
        finish(maintainer(db._shared))
        assert not shown(db, "recent")
        gone = [change for change in db.changes("recent", since=db.oldest("recent")) if change.after is None]
        assert len(gone) == 2
