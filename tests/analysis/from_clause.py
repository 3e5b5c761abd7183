"""What stands in FROM: tables, views and queries, and how they are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from tests.analysis.groupingsets import grouping_sets
from tests.analysis.querytext import Asking, Texts
from tests.analysis.worlds import Column, Source

InFrom = Callable[[Random, Source, str], tuple[Source, Texts]]
"""A query in FROM, of a table and a text of conditions."""


def from_items(asking: Asking) -> None:
    """One to three sources: a join that a view has, LEFT JOINs each of the one before it, or any."""
    rng = asking.rng
    chosen = rng.random()
    if chosen < 0.12 and asking.world.joins:
        _as_in_a_view(asking)
    elif chosen < 0.22:
        _start(asking)
        _join(asking, left=True, behind="a")
        _join(asking, left=True, behind=asking.sources[-1][0])
    else:
        _start(asking)
        for _ in range(rng.choice([0, 0, 1, 1, 2])):
            _join(asking, left=rng.random() < 0.35)


def add_source(asking: Asking, source: Source, text: Texts | None = None) -> None:
    """The first one."""
    ours, theirs = text or (source.name, source.name)
    asking.from_items.append((f"{ours} a", f"{theirs} a"))
    asking.sources.append(("a", source))
    asking.inner.append("a")


def _start(asking: Asking) -> None:
    if asking.rng.random() < 0.15:
        add_source(asking, *_in_from(asking, [_first_rows, _first_rows, _groups, _distinct, _grouping_sets]))
    else:
        add_source(asking, asking.source())


def _as_in_a_view(asking: Asking) -> None:
    """The join of a view, of which it may lack columns that are asked for."""
    one = asking.rng.choice(asking.world.joins)
    add_source(asking, one.first)
    on = [f"b.{one.other.name} = a.{one.one.name}"]
    _add_joined(asking, "b", one.second, None, on, left=asking.rng.random() < 0.2)


def _join(asking: Asking, *, left: bool, behind: str | None = None) -> None:
    """With `behind`, all that it is compared with is of that one, if there is something."""
    rng = asking.rng
    alias, before = "bcd"[len(asking.sources) - 1], dict(asking.params)
    source, text = asking.source(), None
    if rng.random() < 0.12:
        source, text = _in_from(asking, [_groups, _groups, _distinct])
    on = _compared(asking, alias, source, behind)
    if not any(f" = {other}." in one for one in on for other, _ in asking.sources):
        asking.params = before
        return
    _add_joined(asking, alias, source, text, on, left=left)


def _compared(asking: Asking, alias: str, source: Source, behind: str | None) -> list[str]:
    rng = asking.rng
    keys = [one for one in source.columns if one.name in source.key]
    wanted = keys if keys and rng.random() < 0.6 else [rng.choice(source.columns)]
    on = []
    for column in wanted:
        found = [
            f"{other}.{one.name}"
            for other, theirs in asking.sources
            for one in theirs.of_type(column.type)
            if other == behind or (behind is None and (other in asking.inner or rng.random() < 0.3))
        ]
        if found and rng.random() < 0.8:
            on.append(f"{alias}.{column.name} = {rng.choice(found)}")
        elif rng.random() < 0.7:
            on.append(f"{alias}.{column.name} = {asking.parameter(column.type)}")
    kept = asking.world.kept.get(source.name, [])
    return on + [text.replace("@", alias) for text in kept if rng.random() < 0.3]


def _add_joined(asking: Asking, alias: str, source: Source, text: Texts | None, on: list[str], *, left: bool) -> None:
    word, condition = "LEFT JOIN" if left else "JOIN", " AND ".join(on)
    ours, theirs = text or (source.name, source.name)
    asking.from_items.append((f"{word} {ours} {alias} ON {condition}", f"{word} {theirs} {alias} ON {condition}"))
    asking.sources.append((alias, source))
    if not left:
        asking.inner.append(alias)


def _in_from(asking: Asking, kinds: Sequence[InFrom]) -> tuple[Source, Texts]:
    """A query of a table, in parentheses, and the columns that it has."""
    table = asking.rng.choice(asking.world.tables)
    where = ""
    if asking.rng.random() < 0.5:
        column = asking.rng.choice([*table.columns, *(one for one in table.columns if one.name in table.key)])
        where = f" WHERE {column.name} = {asking.parameter(column.type)}"
    source, (ours, theirs) = asking.rng.choice(kinds)(asking.rng, table, where)
    return source, (f"({ours})", f"({theirs})")


def _first_rows(rng: Random, table: Source, where: str) -> tuple[Source, Texts]:
    """The first rows, or all but the first, in an order that leaves nothing open."""
    down = rng.choice(["", " DESC"])
    keys = dict.fromkeys([rng.choice(table.columns).name, *table.key])
    text = f"SELECT * FROM {table.name}{where} ORDER BY {', '.join(key + down for key in keys)}"
    limit, offset = rng.randint(1, 6), rng.randint(1, 3)
    kind = rng.choice(["limit", "limit", "both", "offset"])
    if kind == "limit":
        return table, (f"{text} LIMIT {limit}",) * 2
    if kind == "both":
        return table, (f"{text} LIMIT {limit} OFFSET {offset}",) * 2
    return table, (f"{text} OFFSET {offset}", f"{text} LIMIT -1 OFFSET {offset}")


def _groups(rng: Random, table: Source, where: str) -> tuple[Source, Texts]:
    by = rng.sample(table.columns, rng.choice([1, 1, 2]) if len(table.columns) > 1 else 1)
    if rng.random() < 0.6:
        by = [one for one in table.columns if one.name == table.key[0]]
    measured = rng.choice(table.columns)
    names = ", ".join(one.name for one in by)
    text = f"SELECT {names}, COUNT(*) AS n, MAX({measured.name}) AS m FROM {table.name}{where} GROUP BY {names}"
    if rng.random() < 0.25:
        text += " HAVING COUNT(*) > 1"
    columns = (*by, Column("n", "BIGINT"), Column("m", measured.type))
    return Source("", columns, tuple(one.name for one in by)), (text, text)


def _distinct(rng: Random, table: Source, where: str) -> tuple[Source, Texts]:
    chosen = rng.sample(table.columns, min(2, len(table.columns)))
    names = tuple(one.name for one in chosen)
    text = f"SELECT DISTINCT {', '.join(names)} FROM {table.name}{where}"
    return Source("", tuple(chosen), names), (text, text)


def _grouping_sets(rng: Random, table: Source, where: str) -> tuple[Source, Texts]:
    chosen = rng.sample(table.columns, min(2, len(table.columns)))
    names = [one.name for one in chosen]
    texts = grouping_sets(rng, list(zip(names, names, strict=True)), "COUNT(*) AS n", f" FROM {table.name}{where}")
    return Source("", (*chosen, Column("n", "BIGINT")), tuple(names)), texts
