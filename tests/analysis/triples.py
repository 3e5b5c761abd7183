"""Random views that join two or three sides of two tables by the same column: they share join indexes."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.analysis.worlds import Column, Source, World

Change = tuple[str, int, dict[str, Any] | None]
"""A table, a key of it, and the new row; None where it goes."""

COLUMNS = (Column("id", "BIGINT"), Column("k", "INT"), Column("m", "INT"), Column("s", "STRING"))


def make_triples(rng: Random) -> World:
    """Two tables, and two to four views over them in one mode."""
    world = World()
    for name in ("A", "B"):
        world.tables.append(Source(name, COLUMNS, ("id",)))
        world.statements.append(f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, k INT, m INT, s STRING)")
        world.theirs.append(f"CREATE TABLE {name} (id, k, m, s)")
    mode = rng.choice(["DEFERRED", "LAZY"])
    for number in range(rng.randint(2, 4)):
        _add_view(rng, world, f"V{number}", mode)
    return world


def _add_view(rng: Random, world: World, name: str, mode: str) -> None:
    aliases = "abc"[: rng.choice([2, 3, 3, 3])]
    rest = _joined(rng, aliases)
    columns = (_groups if rng.random() < 0.4 else _rows)(rng, aliases)
    by = ", ".join(text for text, _ in columns if "(" not in text)
    text = f"SELECT {', '.join(f'{text} AS {one.name}' for text, one in columns)}{rest}"
    if any("(" in text for text, _ in columns):
        text += f" GROUP BY {by}"
    world.statements.append(f"CREATE VIEW {name} MAINTAIN {mode} AS {text}")
    world.theirs.append(f"CREATE VIEW {name} AS {text}")
    world.views.append(Source(name, tuple(one for _, one in columns), ()))


def _joined(rng: Random, aliases: str) -> str:
    """All by k; the last one, now and then, also by another column of the one before it or of the first."""
    text = f" FROM {rng.choice('AAB')} a"
    for alias in aliases[1:]:
        join = rng.choice(["JOIN"] * 5 + ["LEFT JOIN"])
        text += f" {join} {rng.choice('ABB')} {alias} ON {alias}.k = a.k"
        if alias == aliases[-1] and rng.random() < 0.5:
            column = rng.choice("ms")
            text += f" AND {alias}.{column} = {rng.choice(aliases[:-1])}.{column}"
    return text


def _rows(rng: Random, aliases: str) -> list[tuple[str, Column]]:
    chosen = [(f"{alias}.id", "BIGINT") for alias in aliases if rng.random() < 0.7]
    for _ in range(rng.randint(1, 2)):
        one = rng.choice(COLUMNS)
        chosen.append((f"{rng.choice(aliases)}.{one.name}", one.type))
    return [(text, Column(f"c{place}", type)) for place, (text, type) in enumerate(dict.fromkeys(chosen))]


def _groups(rng: Random, aliases: str) -> list[tuple[str, Column]]:
    group = rng.choice(["k", "k", "m", "s"])
    call = rng.choice(["COUNT(*)", "COUNT(*)", f"SUM({aliases[-1]}.m)", f"MAX({rng.choice(aliases)}.m)"])
    type = "STRING" if group == "s" else "INT"
    return [(f"{rng.choice(aliases)}.{group}", Column("g", type)), (call, Column("n", "BIGINT"))]


def write_some(rng: Random, world: World, count: int) -> list[Change]:
    """Changes of few keys."""
    found: list[Change] = []
    for _ in range(count):
        row = {"k": rng.choice([None, 1, 1, 2]), "m": rng.randrange(3), "s": rng.choice(["x", "y", None])}
        found.append((rng.choice(world.tables).name, rng.randrange(5), None if rng.random() < 0.2 else row))
    return found
