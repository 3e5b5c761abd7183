"""Random tables, rows that crowd on few values up to every declared limit, indexes and views over them."""

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
MODES = ("SYNC", "DEFERRED", "LAZY")


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    temporal: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A table or view that a query may read. `key` are the columns that its rows are stored by."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    def of_type(self, type: str) -> list[Column]:
        alike = {type, *({"INT", "BIGINT"} if type in ("INT", "BIGINT") else ())}
        return [column for column in self.columns if column.type in alike]


@dataclass(slots=True)
class World:
    """What exists: statements in the order in which they are run; the same views as SQLite has them."""

    tables: list[Source] = field(default_factory=list)
    views: list[Source] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    theirs: list[str] = field(default_factory=list)


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
        type = rng.choice(["INT", "INT", "BIGINT", "STRING", "STRING", "TIMESTAMP"])
        columns.append(Column(f"c{number}", type, type == "TIMESTAMP" and rng.random() < 0.5))
    key = tuple(column.name for column in columns[:width])
    parts = [f"{one.name} {one.type}{' TEMPORAL' * one.temporal}" for one in columns]
    text = f"CREATE TABLE {name} ({', '.join(parts)}, PRIMARY KEY ({', '.join(key)}))"
    if rng.random() < 0.2:
        text += f" PARTITIONED BY HASH ({key[0]}) INTO 3"
    limits = [f"CARDINALITY ({key[-1]}, {rng.randint(1, 4)})"] if width > 1 and rng.random() < 0.8 else []
    limits += [
        f"CARDINALITY (TOKENS({one.name}), {rng.randint(2, 3)})"
        for one in columns
        if one.type == "STRING" and rng.random() < 0.4
    ]
    if limits:
        text += " WITH " + ", ".join(limits)
    world.statements.append(text)
    world.theirs.append(f"CREATE TABLE {name} ({', '.join(f'{one.name}' for one in columns)})")
    world.tables.append(Source(name, tuple(columns), key))


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


def add_view(rng: Random, world: World, name: str) -> None:
    """A view of groups, or of a join by what two tables have in common."""
    first, second = rng.choice(world.tables), rng.choice(world.tables)
    pair = next(((a, b) for a in first.columns for b in second.of_type(a.type)), None)
    if rng.random() < 0.5 or pair is None:
        group = rng.choice(first.columns)
        measure = rng.choice([one for one in first.columns if one.type in ("INT", "BIGINT")] or [None])
        call = "COUNT(*)" if measure is None else f"{rng.choice(['SUM', 'MIN', 'MAX', 'COUNT'])}({measure.name})"
        select = f"SELECT {group.name} AS g, {call} AS n FROM {first.name} GROUP BY {group.name}"
        columns = (Column("g", group.type), Column("n", measure.type if measure else "BIGINT"))
        source = Source(name, columns, ("g",))
    else:
        one, other = rng.choice([pair, *((a, b) for a in first.columns for b in second.of_type(a.type))])
        shown = [(f"a.{column.name}", f"a{column.name}", column.type) for column in first.columns]
        shown += [(f"b.{column.name}", f"b{column.name}", column.type) for column in second.columns]
        join = rng.choice(["JOIN", "JOIN", "LEFT JOIN"])
        select = f"SELECT {', '.join(f'{text} AS {own}' for text, own, _ in shown)} FROM {first.name} a"
        select += f" {join} {second.name} b ON a.{one.name} = b.{other.name}"
        keys = [f"a{key}" for key in first.key] + [f"b{key}" for key in second.key]
        rng.shuffle(keys)
        source = Source(name, tuple(Column(own, type) for _, own, type in shown), tuple(keys))
    mode = rng.choice(MODES)
    parted = any(f"TABLE {first.name} " in text and "PARTITIONED" in text for text in world.statements)
    if parted and " a " not in select and rng.random() < 0.7:
        mode = "LOCAL"
    key = ", ".join(column + rng.choice(["", "", " DESC"]) for column in source.key)
    world.statements.append(f"CREATE MATERIALIZED VIEW {name} KEY ({key}) MAINTAIN {mode} AS {select}")
    world.theirs.append(f"CREATE VIEW {name} AS {select}")
    world.views.append(source)


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
