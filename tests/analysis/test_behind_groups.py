"""Conditions on whole groups: what is left out of them by a parameter, and HAVING beside an order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import viewkeeper as vk

LEAVES_OUT = {
    "branch <> :b": lambda branch, one: branch != one,
    "NOT branch = :b": lambda branch, one: branch != one,
    "branch NOT IN (:b, 'z')": lambda branch, one: branch not in (one, "z"),
}
ORDERED = (
    "SELECT title, COUNT(*) AS n, MAX(id) AS m FROM copies GROUP BY title HAVING COUNT(*) > 2 ORDER BY m DESC LIMIT 3"
)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE copies (id INT PRIMARY KEY, title INT, branch STRING)")
        yield db


def change(db: vk.Database, chance: Random) -> None:
    if chance.random() < 0.3:
        db.delete("copies", chance.randrange(40))
    else:
        row = {"id": chance.randrange(40), "title": chance.randrange(6), "branch": chance.choice([None, *"abcz"])}
        db.put("copies", row)


@pytest.mark.parametrize("condition", LEAVES_OUT)
def test_groups_that_a_parameter_leaves_out_are_skipped(db: vk.Database, condition: str) -> None:
    sql = (
        f"SELECT branch, COUNT(*) AS n FROM copies WHERE title = :t AND {condition} GROUP BY branch"
        " ORDER BY n DESC, branch LIMIT 2"
    )
    asked = db.prepare(sql, create=True, maintain="SYNC")
    assert asked.verdict.level == "SI-2"
    chance = Random(3)
    for turn in range(150):
        change(db, chance)
        if turn % 10 == 9:
            title, one = chance.randrange(6), chance.choice("abcz")
            mine = [row["branch"] for row in db.scan("copies") if row["title"] == title and row["branch"] is not None]
            counts = Counter(branch for branch in mine if LEAVES_OUT[condition](branch, one))
            wanted = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:2]
            rows = asked(t=title, b=one)
            assert [tuple(row.values()) for row in rows] == wanted
            assert rows.meta.operations <= (asked.verdict.operations_max or 0)
            assert rows.meta.rows <= (asked.verdict.rows_max or 0)


def test_what_is_left_out_of_the_rows_of_a_group_stays_inside(db: vk.Database) -> None:
    """It is no condition on whole groups."""
    sql = (
        "SELECT branch, COUNT(*) AS n FROM copies WHERE title = :t AND id <> :i GROUP BY branch ORDER BY n DESC LIMIT 2"
    )
    assert db.explain(sql).level == "unbounded"


def test_groups_that_having_keeps_are_rows_of_one_more_view(db: vk.Database) -> None:
    asked = db.prepare(ORDERED, create=True, maintain="SYNC")
    assert asked.verdict.level == "SI-2"
    chance = Random(5)
    for turn in range(200):
        change(db, chance)
        if turn % 10 == 9:
            groups: dict[int, list[int]] = {}
            for row in db.scan("copies"):
                groups.setdefault(row["title"], []).append(row["id"])
            found: list[tuple[Any, ...]] = [(one, len(ids), max(ids)) for one, ids in groups.items() if len(ids) > 2]
            rows = asked()
            assert [tuple(row.values()) for row in rows] == sorted(found, key=lambda row: -row[2])[:3]
            assert rows.meta.operations <= (asked.verdict.operations_max or 0)
