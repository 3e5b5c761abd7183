"""Groups that are chosen by a range of what rows are grouped by: charts and calendars."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

import viewkeeper as vk

START = datetime(2026, 1, 1, tzinfo=UTC)
USED = "SUM(amount) AS used, COUNT(*) AS n FROM usage WHERE tenant = :t AND"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE usage (id INT PRIMARY KEY, tenant INT, day DATE, at TIMESTAMP TEMPORAL, amount INT)")
        yield db


def fill(db: vk.Database, rng: Random, count: int) -> None:
    for _ in range(count):
        at = START + timedelta(minutes=rng.randrange(60 * 24 * 5))
        row = {"id": rng.randrange(80), "tenant": rng.randrange(2), "day": at.date(), "at": at, "amount": 1}
        if rng.random() < 0.2:
            db.delete("usage", row["id"])
        else:
            db.put("usage", row | ({"day": None} if rng.random() < 0.1 else {}))


FROM, TO = date(2026, 1, 2), date(2026, 1, 4)
HOUR = "DATE_TRUNC('hour', at)"


@pytest.mark.parametrize(
    ("chosen", "behind", "params", "keep"),
    [
        ("day >= :from", "ORDER BY day LIMIT 3", {"from": FROM}, lambda day: day >= FROM),
        ("day >= :from", "ORDER BY day DESC LIMIT 3", {"from": FROM}, lambda day: day >= FROM),
        ("day > :from AND day < :to", "LIMIT 9", {"from": FROM, "to": TO}, lambda day: FROM < day < TO),
        ("day BETWEEN :from AND :to", "LIMIT 9", {"from": FROM, "to": TO}, lambda day: FROM <= day <= TO),
        (f"{HOUR} >= :from", f"ORDER BY {HOUR} LIMIT 9", {"from": START}, lambda hour: hour >= START),
    ],
)
def test_a_view_of_the_groups_is_read_from_where_the_range_begins(
    db: vk.Database, chosen: str, behind: str, params: dict[str, Any], keep: Callable[[Any], bool]
) -> None:
    rng = Random(3)
    fill(db, rng, 40)
    by = HOUR if HOUR in chosen else "day"
    sql = f"SELECT {by} AS place, {USED} {chosen} GROUP BY {by} {behind}"
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert (prepared.verdict.level, prepared.verdict.operations_max) == ("SI-2", 1)
    for _ in range(10):
        fill(db, rng, 20)
        for tenant in (0, 1):
            found: dict[Any, int] = {}
            for row in db.scan("usage"):
                place = row["at"].replace(minute=0) if by == HOUR else row["day"]
                if row["tenant"] == tenant and place is not None and keep(place):
                    found[place] = found.get(place, 0) + 1
            order = sorted(found, reverse="DESC" in behind)[: int(behind.rsplit(maxsplit=1)[-1])]
            expected = [{"place": place, "used": found[place], "n": found[place]} for place in order]
            assert list(prepared(t=tenant, **params)) == expected


@pytest.mark.parametrize(
    "sql",
    [
        # Some rows of a group are in the range, and others not.
        f"SELECT day, {USED} at >= :from GROUP BY day ORDER BY day LIMIT 3",
        f"SELECT {USED} day >= :from",
        f"SELECT {HOUR} AS h, {USED} at >= :from GROUP BY {HOUR} ORDER BY h LIMIT 9",
    ],
)
def test_a_range_of_something_else_chooses_no_whole_groups(db: vk.Database, sql: str) -> None:
    assert db.explain(sql).level == "unbounded"


def test_it_is_suggested_to_compare_what_rows_are_grouped_by(db: vk.Database) -> None:
    found = db.explain(f"SELECT {HOUR} AS h, {USED} at >= :from GROUP BY {HOUR} ORDER BY h LIMIT 9")
    told = f"Compare {HOUR} with :from in place of at, so that whole groups are chosen."
    assert (told, "SI-2") in [(one.text, one.level) for one in found.suggestions]
