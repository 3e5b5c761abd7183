"""Random tables and indexes, and rows that crowd on few values up to every declared limit."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import viewkeeper as vk

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
WORDS = ("wo", "word", "wood", "x")
VALUES: dict[str, list[Any]] = {
    "INT": [0, 1, 2, 3, 7],
    "BIGINT": [0, 1, 2, 3, 7, 1 << 40],
    "STRING": ["", "wo", "word x", "wood word", "x", "wo wo X", "wo%"],
    "TIMESTAMP": [MOMENT + timedelta(seconds=n) for n in range(5)],
}


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    temporal: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """What a query may read: a table, a view or a query in FROM. `key` are the columns that its rows are stored by."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    parted: bool = False

    def of_type(self, type: str) -> list[Column]:
        alike = {type, *({"INT", "BIGINT"} if type in ("INT", "BIGINT") else ())}
        return [column for column in self.columns if column.type in alike]


@dataclass(frozen=True, slots=True)
class Joined:
    """Two tables, and the column of each by which a view joins them."""

    first: Source
    second: Source
    one: Column
    other: Column


@dataclass(slots=True)
class World:
    """What exists: statements in the order in which they are run; the same views as SQLite has them.

    Queries ask now and then for what a view has: `kept` are conditions of views by their table, with @ for its alias.
    """

    tables: list[Source] = field(default_factory=list)
    views: list[Source] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    theirs: list[str] = field(default_factory=list)
    kept: dict[str, list[str]] = field(default_factory=dict)
    joins: list[Joined] = field(default_factory=list)


def make_world(rng: Random) -> World:
    world = World()
    for number in range(rng.randint(2, 3)):
        _add_table(rng, world, f"T{number}")
    for number in range(rng.choice([0, 0, 1, 2])):
        _add_index(rng, world, f"I{number}")
    return world


def _add_table(rng: Random, world: World, name: str) -> None:
    width = rng.randint(1, 3)
    columns = []
    for number in range(width + rng.randint(1, 3)):
        type = rng.choice(["INT", "INT", "INT", "BIGINT", "STRING", "STRING", "TIMESTAMP"])
        columns.append(Column(f"c{number}", type, type == "TIMESTAMP" and rng.random() < 0.5))
    key = tuple(column.name for column in columns[:width])
    parts = [f"{one.name} {one.type}{' TEMPORAL' * one.temporal}" for one in columns]
    text = f"CREATE TABLE {name} ({', '.join(parts)}, PRIMARY KEY ({', '.join(key)}))"
    parted = rng.random() < 0.25
    if parted:
        text += f" PARTITIONED BY HASH ({rng.choice(key)}) INTO 3"
    limits = [f"CARDINALITY ({key[-1]}, {rng.randint(1, 4)})"] if width > 1 and rng.random() < 0.8 else []
    if rng.random() < 0.15:
        limits.append(f"CARDINALITY ({', '.join(key)}, {rng.randint(3, 12)})")
    limits += [
        f"CARDINALITY (TOKENS({one.name}), {rng.randint(2, 3)})"
        for one in columns
        if one.type == "STRING" and rng.random() < 0.4
    ]
    if limits:
        text += " WITH " + ", ".join(limits)
    world.statements.append(text)
    world.theirs.append(f"CREATE TABLE {name} ({', '.join(f'{one.name}' for one in columns)})")
    world.tables.append(Source(name, tuple(columns), key, parted))


def _add_index(rng: Random, world: World, name: str) -> None:
    table = rng.choice(world.tables)
    chosen = rng.sample(table.columns, rng.randint(1, min(2, len(table.columns))))
    parts = [one.name + rng.choice(["", "", " DESC"]) for one in chosen]
    texts = [one for one in table.columns if one.type == "STRING"]
    if texts and rng.random() < 0.3:
        text = rng.choice(texts)
        parts = [f"TOKENS({text.name})", *(one.name for one in chosen[:1] if one != text)]
    rest = [one.name for one in table.columns if one not in chosen]
    more = f" INCLUDE ({rng.choice(rest)})" if rest and rng.random() < 0.3 and "TOKENS" not in parts[0] else ""
    mode = rng.choice(["", " MAINTAIN SYNC", " MAINTAIN LAZY"])
    world.statements.append(f"CREATE INDEX {name} ON {table.name} ({', '.join(parts)}){more}{mode}")


def value(rng: Random, type: str, *, null: float = 0.0) -> Any:
    """Most often one of two values; now and then NULL, or one that no row has."""
    if rng.random() < null:
        return None
    values = VALUES[type]
    return values[min(int(rng.paretovariate(1.2)) - 1, len(values) - 1)]


def fill(rng: Random, db: vk.Database, world: World, count: int) -> None:
    """Rows of every table; those that a limit refuses are left out."""
    empty = rng.choice([*world.tables, None, None]) if count else None
    for table in world.tables:
        for _ in range(count if table is not empty else 0):
            put_one(rng, db, table)


def put_one(rng: Random, db: vk.Database, table: Source) -> bool:
    row = {one.name: value(rng, one.type, null=0.0 if one.name in table.key else 0.25) for one in table.columns}
    # Spread the first column of the key now and then, so that there are more rows than values.
    if rng.random() < 0.5:
        row |= {one.name: spread(rng, one.type) for one in table.columns if one.name in table.key[:1]}
    return _put(db, table, row)


def change_one(rng: Random, db: vk.Database, table: Source, row: dict[str, Any]) -> bool:
    """The row of that key gets other values in most of its other columns."""
    rest = [one for one in table.columns if one.name not in table.key and rng.random() < 0.7]
    return _put(db, table, row | {one.name: value(rng, one.type, null=0.25) for one in rest})


def _put(db: vk.Database, table: Source, row: dict[str, Any]) -> bool:
    """False if a limit refuses it."""
    try:
        db.put(table.name, row)
    except vk.ViewkeeperError as error:
        if "cardinality" not in error.code:
            raise
        return False
    return True


def spread(rng: Random, type: str) -> Any:
    number = rng.randint(0, 300)
    return {"STRING": f"wo{number}", "TIMESTAMP": MOMENT + timedelta(seconds=number)}.get(type, number)
