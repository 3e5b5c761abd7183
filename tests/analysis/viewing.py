"""Random views: rows of a table or of two, as they are or of a condition, groups, and grouping sets of them."""

from __future__ import annotations

from random import Random

from tests.analysis.groupingsets import grouping_sets
from tests.analysis.querytext import Texts
from tests.analysis.where_clause import Named, bare_condition
from tests.analysis.worlds import Column, Joined, Source, World

MODES = ("SYNC", "DEFERRED", "LAZY")


def add_view(rng: Random, world: World, name: str) -> None:
    kind = rng.choice([_groups, _groups, _joined_rows, _joined_rows, _some_rows])
    kind(rng, world, name)


def _add(rng: Random, world: World, view: Source, texts: Texts, *, local: bool = False) -> None:
    mode = "LOCAL" if local and rng.random() < 0.7 else rng.choice(MODES)
    parts = ", ".join(column + rng.choice(["", "", " DESC"]) for column in view.key)
    ours, theirs = texts
    world.statements.append(f"CREATE MATERIALIZED VIEW {view.name} KEY ({parts}) MAINTAIN {mode} AS {ours}")
    world.theirs.append(f"CREATE VIEW {view.name} AS {theirs}")
    world.views.append(view)


def _some_rows(rng: Random, world: World, name: str) -> None:
    """Of one table; queries that have its condition may read it instead."""
    table = rng.choice(world.tables)
    where = ""
    if rng.random() < 0.8:
        kept = bare_condition(rng, [(f"@.{one.name}", one) for one in table.columns])
        world.kept.setdefault(table.name, []).append(kept)
        where = f" WHERE {kept.replace('@', 'a')}"
    shown = [one for one in table.columns if one.name in table.key or rng.random() < 0.7]
    if rng.random() < 0.1:
        shown = [rng.choice(table.columns)]
    rng.shuffle(shown)
    key = tuple(one.name for one in shown)[: rng.randint(1, len(shown))]
    names = {one.name for one in shown}
    rest = tuple(one for one in table.key if one in names and one not in key)
    text = f"SELECT {', '.join(f'a.{one.name}' for one in shown)} FROM {table.name} a{where}"
    _add(rng, world, Source(name, tuple(shown), key + rest), (text, text), local=table.parted)


def _joined_rows(rng: Random, world: World, name: str) -> None:
    """Of two tables by a column that they have in common; it may lack columns that are no keys."""
    one = _pair(rng, world)
    if one is None:
        return _groups(rng, world, name)
    shown = [
        (f"{alias}.{column.name}", Column(f"{alias}{column.name}", column.type))
        for alias, side in (("a", one.first), ("b", one.second))
        for column in side.columns
        if column.name in side.key or rng.random() < 0.75
    ]
    text = f"SELECT {', '.join(f'{expr} AS {column.name}' for expr, column in shown)}{_joined(rng, one)}"
    keys = [f"a{key}" for key in one.first.key] + [f"b{key}" for key in one.second.key]
    rng.shuffle(keys)
    world.joins.append(one)
    return _add(rng, world, Source(name, tuple(column for _, column in shown), tuple(keys)), (text, text))


def _pair(rng: Random, world: World) -> Joined | None:
    first, second = rng.choice(world.tables), rng.choice(world.tables)
    pairs = [(one, other) for one in first.columns for other in second.of_type(one.type)]
    return Joined(first, second, *rng.choice(pairs)) if pairs else None


def _joined(rng: Random, one: Joined) -> str:
    join = rng.choice(["JOIN", "JOIN", "LEFT JOIN"])
    return f" FROM {one.first.name} a {join} {one.second.name} b ON a.{one.one.name} = b.{one.other.name}"


def _groups(rng: Random, world: World, name: str) -> None:
    """Of a table, or of two joined; now and then also with totals."""
    one = _pair(rng, world) if rng.random() < 0.3 else None
    first = one.first if one else rng.choice(world.tables)
    sides = [("a", first), *([("b", one.second)] if one else [])]
    columns = [(f"{alias}.{column.name}", column) for alias, side in sides for column in side.columns]
    rest = _joined(rng, one) if one else f" FROM {first.name} a"
    if rng.random() < 0.2:
        rest += f" WHERE {bare_condition(rng, columns)}"
    group = rng.sample(columns, rng.choice([1, 1, 2]) if len(columns) > 1 else 1)
    calls = _calls(rng, columns)
    named = [(text, f"g{place}") for place, (text, _) in enumerate(group)]
    texts = _grouped(rng, named, ", ".join(f"{text} AS n{place}" for place, (text, _) in enumerate(calls)), rest)
    shown = [Column(f"g{place}", column.type) for place, (_, column) in enumerate(group)]
    shown += [Column(f"n{place}", type) for place, (_, type) in enumerate(calls)]
    if one is not None:
        world.joins.append(one)
    # How many different values there are does not follow from how many each partition has.
    local = first.parted and not one and not any("DISTINCT" in text for text, _ in calls)
    _add(rng, world, Source(name, tuple(shown), tuple(own for _, own in named)), texts, local=local)


def _grouped(rng: Random, named: list[tuple[str, str]], calls: str, rest: str) -> Texts:
    if len(named) > 1 and rng.random() < 0.5:
        return grouping_sets(rng, named, calls, rest)
    shown = ", ".join(f"{text} AS {own}" for text, own in named)
    text = f"SELECT {shown}, {calls}{rest} GROUP BY {', '.join(text for text, _ in named)}"
    return text, text


def _calls(rng: Random, columns: list[Named]) -> list[tuple[str, str]]:
    """Different aggregates and their types."""
    calls = list(dict.fromkeys(_call(rng, *rng.choice(columns)) for _ in range(rng.choice([1, 1, 2, 3]))))
    return _both_ends(rng, columns) if rng.random() < 0.3 else calls


def _call(rng: Random, name: str, column: Column) -> tuple[str, str]:
    """An aggregate and its type."""
    if rng.random() < 0.3:
        return "COUNT(*)", "BIGINT"
    numbers = ["SUM"] if column.type in ("INT", "BIGINT") else []
    function = rng.choice([*numbers, "MIN", "MAX", "COUNT", "COUNT DISTINCT"])
    text = f"{function}({name})".replace(" DISTINCT(", "(DISTINCT ")
    return text, column.type if function in ("MIN", "MAX") else "BIGINT"


def _both_ends(rng: Random, columns: list[Named]) -> list[tuple[str, str]]:
    """Aggregates that look for other values where one goes, together."""
    (one, column), (other, _) = rng.choice(columns), rng.choice(columns)
    calls = [(f"MIN({one})", column.type), (f"MAX({one})", column.type), (f"COUNT(DISTINCT {other})", "BIGINT")]
    return rng.sample(calls, rng.randint(2, 3))
