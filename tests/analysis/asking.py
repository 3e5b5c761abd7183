"""Random queries of the kinds that can have a bound, as texts for us and for SQLite."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.analysis.answers import Question
from tests.analysis.from_clause import add_source, from_items
from tests.analysis.querytext import LISTED, Asking
from tests.analysis.where_clause import behind_a_row, conditions, semi_joins
from tests.analysis.worlds import World, value


def ask(rng: Random, world: World) -> Question:
    if rng.random() < 0.08:
        return _union(rng, world)
    asking = Asking(rng, world)
    chosen = rng.random()
    if chosen < 0.2:
        return _first_of_one(asking) if chosen < 0.1 else _next_page(asking)
    from_items(asking)
    conditions(asking)
    if rng.random() < 0.25:
        semi_joins(asking)
    if rng.random() < 0.08:
        return _extreme(asking)
    shape = rng.choice(["rows", "rows", "rows", "groups", "distinct"])
    return {"rows": _rows, "groups": _groups, "distinct": _distinct}[shape](asking)


def _first_of_one(asking: Asking) -> Question:
    """Rows of one table or view, of one value at most: an index that follows the order is enough."""
    add_source(asking, asking.source())
    if asking.rng.random() < 0.6:
        alias, column = asking.column()
        asking.both(f"{alias}.{column.name} = {asking.parameter(column.type)}")
    return _rows(asking)


def _next_page(asking: Asking) -> Question:
    """The rows behind one, in an order."""
    if asking.rng.random() < 0.7:
        add_source(asking, asking.source())
        if asking.rng.random() < 0.5:
            alias, column = asking.column()
            asking.both(f"{alias}.{column.name} = {asking.parameter(column.type)}")
    else:
        from_items(asking)
        conditions(asking)
    return _rows(asking, behind_a_row(asking))


def _rows(asking: Asking, order: list[tuple[str, bool]] | None = None) -> Question:
    rng = asking.rng
    shown = [f"{alias}.{one.name}" for alias, one in (asking.column() for _ in range(rng.randint(1, 3)))]
    order = order or []
    for _ in range(0 if order else rng.choice([0, 1, 1, 2])):
        alias, one = asking.column()
        order.append((f"{alias}.{one.name}", rng.random() < 0.4))
    if rng.random() < 0.3:
        alias, source = asking.sources[0]
        order += [(f"{alias}.{name}", False) for name in source.key]
    if order and rng.random() < 0.1:
        order.append((order[0][0], not order[0][1]))
    ours, theirs = asking.body()
    names = ", ".join(f"{text} AS s{n}" for n, text in enumerate(shown))
    sorts = "".join(f", {text}" for text, _ in order)
    tail, limit, offset = _tail(asking, [f"{text}{' DESC' * down}" for text, down in order])
    return Question(
        ours=f"SELECT {names}{ours}{tail}",
        theirs=f"SELECT {names}{sorts}{theirs}",
        order=tuple(down for _, down in order),
        limit=limit,
        offset=offset,
        params=asking.params,
    )


def _tail(asking: Asking, order: list[str]) -> tuple[str, int | str | None, int]:
    rng = asking.rng
    tail = f" ORDER BY {', '.join(order)}" if order else ""
    limit: int | str | None = None
    offset = 0
    chosen = rng.random()
    if chosen < 0.5:
        limit = rng.randint(0, 6)
        tail += f" LIMIT {limit}"
    elif chosen < 0.7:
        asking.params["n"] = "LIMIT", 5
        limit = "n"
        tail += " LIMIT :n MAX 5"
    if limit is not None and rng.random() < 0.25:
        offset = rng.randint(1, 3)
        tail += f" OFFSET {offset}"
    return tail, limit, offset


def _groups(asking: Asking) -> Question:
    rng = asking.rng
    group = [f"{a}.{one.name}" for a, one in (asking.column() for _ in range(rng.choice([0, 0, 1, 1, 2])))]
    group = list(dict.fromkeys(group))
    calls = ["COUNT(*)"]
    for _ in range(rng.choice([0, 1, 2])):
        alias, one = asking.column()
        whole = (
            ["COUNT", "COUNT DISTINCT"]
            if one.type in ("STRING", "TIMESTAMP")
            else ["SUM", "MIN", "MAX", "AVG", "COUNT"]
        )
        calls.append(f"{rng.choice(whole)}({alias}.{one.name})".replace(" DISTINCT(", "(DISTINCT "))
    rng.shuffle(calls)
    ours, theirs = asking.body()
    names = ", ".join(f"{text} AS s{n}" for n, text in enumerate([*group, *calls]))
    by = f" GROUP BY {', '.join(group)}" if group else ""
    if group and rng.random() < 0.2:
        by += " HAVING COUNT(*) > 1"
    order: tuple[bool, ...] = ()
    tail, sorts, limit, offset = "", "", None, 0
    if group and rng.random() < 0.4:
        # By the first of the aggregates, or by the first two, which may be the same; groups decide the rest.
        first = calls[: rng.choice([1, 1, 2])]
        names_of = [f"s{len(group) + place}" for place in range(len(first))] + [f"s{n}" for n in range(len(group))]
        order = (*(rng.random() < 0.6 for _ in first), *(False for _ in group))
        sorts = "".join(f", {one}" for one in (*first, *group))
        tail, limit, offset = _tail(
            asking, [f"{one}{' DESC' * down}" for one, down in zip(names_of, order, strict=True)]
        )
    return Question(
        ours=f"SELECT {names}{ours}{by}{tail}",
        theirs=f"SELECT {names}{sorts}{theirs}{by}",
        order=order,
        limit=limit,
        offset=offset,
        params=asking.params,
    )


def _extreme(asking: Asking) -> Question:
    """The least or the greatest of all."""
    alias, one = asking.column()
    ours, theirs = asking.body()
    call = f"SELECT {asking.rng.choice(['MIN', 'MAX'])}({alias}.{one.name}) AS s0"
    return Question(ours=call + ours, theirs=call + theirs, params=asking.params)


def _distinct(asking: Asking) -> Question:
    rng = asking.rng
    shown = [f"{alias}.{one.name}" for alias, one in (asking.column() for _ in range(rng.randint(1, 2)))]
    if rng.random() < 0.1:
        shown.append(shown[0])
    ours, theirs = asking.body()
    names = ", ".join(f"{text} AS s{n}" for n, text in enumerate(shown))
    down = [rng.random() < 0.4 for _ in shown]
    tail, limit, offset = _tail(asking, [f"s{n}{' DESC' * one}" for n, one in enumerate(down)])
    sorts = "".join(f", {text}" for text in shown)
    return Question(
        ours=f"SELECT DISTINCT {names}{ours}{tail}",
        theirs=f"SELECT DISTINCT {names}{sorts}{theirs}",
        order=tuple(down),
        limit=limit,
        offset=offset,
        params=asking.params,
    )


def _union(rng: Random, world: World) -> Question:
    """Two queries of a column of one type each."""
    texts: list[tuple[str, str]] = []
    params: dict[str, tuple[str, int]] = {}
    type = rng.choice(["INT", "BIGINT", "STRING", "TIMESTAMP"])
    for table in (
        rng.choices([one for one in world.tables if any(c.type == type for c in one.columns)] or [], k=2)
        if any(c.type == type for one in world.tables for c in one.columns)
        else []
    ):
        asking = Asking(rng, world, params=params)
        add_source(asking, table)
        conditions(asking)
        column = rng.choice([one for one in table.columns if one.type == type])
        ours, theirs = asking.body()
        texts.append((f"SELECT a.{column.name} AS s0{ours}", f"SELECT a.{column.name} AS s0{theirs}"))
    if not texts:
        return ask(rng, world)
    return Question(
        ours=" UNION ALL ".join(one for one, _ in texts),
        theirs=" UNION ALL ".join(one for _, one in texts),
        params=params,
    )


def arguments(rng: Random, question: Question) -> dict[str, Any]:
    """Values of the parameters: most often ones that many rows have."""
    found: dict[str, Any] = {}
    for name, (type, kind) in (question.params or {}).items():
        if type == "LIMIT":
            found[name] = rng.randint(0, kind)
        elif kind == 1:
            found[name] = [value(rng, type, null=0.15) for _ in range(rng.randint(0, LISTED))]
        elif kind == 2:
            found[name] = rng.choice(["wo%", "w%", "word%", "%", "zz%"])
        elif kind == 3:
            found[name] = rng.choice(["wo", "word", "x", "none"])
        else:
            found[name] = value(rng, type, null=0.05)
    return found
