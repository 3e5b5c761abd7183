"""Aggregates over chains of joins, each row with any number of rows below it, against SQLite.

    orgs  ←  teams  ←  members  ←  tasks, notes

Groups are pre-aggregated from below, so that a changed row of any table finds one row of the level under it.
"""

from __future__ import annotations

import sqlite3
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import viewkeeper as vk
from tests.analysis.counting import cost_of_write
from tests.views.kept import finish, maintainer

TABLES = {"orgs": ("town",), "teams": ("org", "color"), "members": ("team", "role"), "tasks": ("member", "points")}
TABLES |= {"notes": ("member", "size")}
CHAIN = (
    "FROM orgs o JOIN teams t ON t.org = o.id JOIN members m ON m.team = t.id JOIN tasks k ON k.member = m.id",
    "FROM teams t JOIN members m ON m.team = t.id JOIN tasks k ON k.member = m.id",
    "FROM tasks k JOIN members m ON k.member = m.id JOIN teams t ON m.team = t.id",
    "FROM teams t, members m, tasks k WHERE m.team = t.id AND m.id = k.member",
    "FROM teams t JOIN members m ON m.team = t.id JOIN tasks k ON k.member = m.id JOIN notes x ON m.id = x.member",
)

CALLS = ["COUNT(*)", "COUNT(k.points)", "SUM(k.points)", "MIN(k.points)", "MAX(k.points)", "SUM(m.role)"]
CALLS += ["SUM(k.points * m.role)", "SUM(m.role * 2 * k.points)", "SUM(t.color * k.points * m.role)"]


def make(path: Path) -> vk.Database:
    db = vk.open(path, durability="os")
    for name, columns in TABLES.items():
        db.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY, {', '.join(f'{one} INT' for one in columns)})")
    return db


def ask(rng: Random) -> str:
    chain = rng.choice(CHAIN)
    top, column = ("o", "town") if " orgs " in chain else ("t", "org")
    calls = rng.sample(CALLS, 2)
    calls += rng.choice([[], ["AVG(k.points)", "AVG(m.role)"], ["MAX(m.id)"], ["MIN(@.id)", "COUNT(DISTINCT @.id)"]])
    calls = [one.replace("@", top) for one in calls]
    group = rng.choice([[], [f"{top}.id"], [f"{top}.{column}"], [f"{top}.{column}", f"{top}.id"]])
    # There is one group, or there are none: of more there might be any number.
    if " notes " in chain:
        calls.append(rng.choice(["SUM(x.size * k.points)", "MAX(x.size)", "SUM(x.size)", "COUNT(*)"]))
    elif rng.random() < 0.2:
        calls.append("COUNT(DISTINCT k.id)")
    where = [f"{top}.id = :x" if f"{top}.id" in group else f"{top}.{column} = :x"]
    where += rng.sample(["k.points > 2", "m.role = 1", "t.color IN (0, 2)", "m.role IS NOT NULL", "k.points = 3"], 1)
    if rng.random() < 0.5:
        where.pop()
    shown = ", ".join(f"{one} AS s{n}" for n, one in enumerate([*group, *calls]))
    text = f"SELECT {shown} {chain}{' AND ' if 'WHERE' in chain else ' WHERE '}{' AND '.join(where)}"
    text += f" GROUP BY {', '.join(group)}" if group else ""
    return text + (" HAVING COUNT(*) > 1" if group and rng.random() < 0.2 else "")


def change(rng: Random, db: vk.Database, other: sqlite3.Connection) -> str:
    """One changed row, in both; the table that it is of."""
    name = rng.choice(list(TABLES))
    row: dict[str, Any] = {"id": rng.randrange(4 if name in ("orgs", "teams") else 9)}
    if rng.random() < 0.25:
        db.delete(name, row["id"])
        other.execute(f"DELETE FROM {name} WHERE id = ?", (row["id"],))
        return name
    row |= {one: rng.choice([None, 0, 1, 1, 2, 3, 4]) for one in TABLES[name]}
    db.put(name, row)
    other.execute(f"INSERT OR REPLACE INTO {name} VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
    return name


def _noting(changed: list[str], rng: Random, db: vk.Database, other: sqlite3.Connection) -> None:
    changed.append(change(rng, db, other))


@settings(max_examples=max(12, settings().max_examples // 5))
@given(st.integers(0, 2**32))
def test_aggregates_over_chains_are_those_of_sqlite_at_the_cost_that_is_said(seed: int) -> None:
    rng = Random(seed)
    sql, mode = ask(rng), rng.choice(["SYNC", "DEFERRED"])
    with TemporaryDirectory() as folder, make(Path(folder) / "db") as db, sqlite3.connect(":memory:") as other:
        for name, columns in TABLES.items():
            other.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, {', '.join(columns)})")
        prepared = db.prepare(sql, create=True, maintain=mode)
        verdict = prepared.verdict
        assert (verdict.level, verdict.needs) == ("SI-2", ()), sql
        for turn in range(120):
            if turn % 12:
                change(rng, db, other)
                continue
            finish(maintainer(db._shared))
            changed: list[str] = []
            cost = cost_of_write(db, partial(_noting, changed, rng, db, other))
            reads, writes = verdict.maintenance.get(changed[0]) or (0, 0)
            assert cost.reads <= reads, (sql, changed, cost)
            assert cost.writes <= writes, (sql, changed, cost)
            for value in range(4):
                rows = prepared(x=value, consistency="latest")
                found = sorted((tuple(row.values()) for row in rows), key=repr)
                wanted = sorted(other.execute(sql, {"x": value}), key=repr)
                assert found == wanted, sql
