"""Random queries of the kinds that can have a bound, as texts for us and for SQLite."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.analysis.answers import Question
from tests.analysis.worlds import Column, Source, World, value

LISTED = 3


@dataclass(slots=True)
class Asking:
    """A query while it is put together; texts of conditions are for us and for SQLite."""

    rng: Random
    world: World
    from_items: list[str] = field(default_factory=list)
    sources: list[tuple[str, Source]] = field(default_factory=list)
    inner: list[str] = field(default_factory=list)
    where: list[tuple[str, str]] = field(default_factory=list)
    params: dict[str, tuple[str, int]] = field(default_factory=dict)

    def parameter(self, type: str, kind: int = 0) -> str:
        """A new one, or one of that type again; `kind` 1 is a list, 2 a pattern."""
        alike = [name for name, one in self.params.items() if one == (type, kind)]
        if alike and kind == 0 and self.rng.random() < 0.3:
            return f":{self.rng.choice(alike)}"
        name = f"p{len(self.params)}"
        self.params[name] = type, kind
        return f":{name}"

    def source(self) -> Source:
        return self.rng.choice([*self.world.tables, *self.world.tables, *self.world.views])

    def column(self, alias: str | None = None) -> tuple[str, Column]:
        chosen = [(a, s) for a, s in self.sources if alias in (None, a)]
        alias, source = self.rng.choice(chosen)
        keys = [one for one in source.columns if one.name in source.key]
        return alias, self.rng.choice([*source.columns, *keys])

    def start(self) -> None:
        source = self.source()
        self.from_items.append(f"{source.name} a")
        self.sources.append(("a", source))
        self.inner.append("a")

    def join(self) -> None:
        alias, source = "bcd"[len(self.sources) - 1], self.source()
        on: list[str] = []
        before = dict(self.params)
        keys = [one for one in source.columns if one.name in source.key]
        wanted = keys if self.rng.random() < 0.6 else [self.rng.choice(source.columns)]
        for column in wanted:
            found = [
                f"{other}.{one.name}"
                for other, theirs in self.sources
                for one in theirs.of_type(column.type)
                if other in self.inner or self.rng.random() < 0.3
            ]
            if found and self.rng.random() < 0.8:
                on.append(f"{alias}.{column.name} = {self.rng.choice(found)}")
            elif self.rng.random() < 0.7:
                on.append(f"{alias}.{column.name} = {self.parameter(column.type)}")
        if not any(f" = {other}." in one for one in on for other, _ in self.sources):
            self.params = before
            return
        left = self.rng.random() < 0.35
        self.from_items.append(f"{'LEFT JOIN' if left else 'JOIN'} {source.name} {alias} ON {' AND '.join(on)}")
        self.sources.append((alias, source))
        if not left:
            self.inner.append(alias)

    def condition(self, alias: str, column: Column) -> None:
        name, rng = f"{alias}.{column.name}", self.rng
        kinds = ["=", "=", "=", "in", "range", "literal", "between", "other"]
        if column.type == "STRING":
            kinds += ["like", "word", "words"]
        kind = rng.choice(kinds)
        if kind == "=":
            self._both(f"{name} = {self.parameter(column.type)}")
        elif kind == "literal" and column.type in ("INT", "BIGINT"):
            self._both(f"{name} {rng.choice(['=', '=', '>', '<='])} {rng.choice([0, 1])}")
        elif kind == "in":
            self._both(f"{name} IN {self.parameter(column.type, 1)} MAX {LISTED}")
        elif kind == "range":
            self._both(f"{name} {rng.choice(['<', '<=', '>', '>='])} {self.parameter(column.type)}")
            if rng.random() < 0.3:
                self._both(f"{name} {rng.choice(['<', '<=', '>', '>='])} {self.parameter(column.type)}")
        elif kind == "between":
            self._both(f"{name} BETWEEN {self.parameter(column.type)} AND {self.parameter(column.type)}")
        elif kind == "other":
            test = rng.choice(["IS NULL", "IS NOT NULL", "<>"])
            self._both(f"{name} {test}" + (f" {self.parameter(column.type)}" if test == "<>" else ""))
        elif kind == "like":
            self._both(
                f"{name} LIKE {self.parameter('STRING', 2) if rng.random() < 0.5 else chr(39) + 'wo%' + chr(39)}"
            )
        elif kind == "word":
            p = self.parameter("STRING", 3)
            self.where.append((f"TOKENS({name}) = {p}", f"HAS_WORD({name}, {p})"))
        elif kind == "words":
            p = self.parameter("STRING", 2)
            self.where.append((f"TOKENS({name}) LIKE {p}", f"HAS_WORD_LIKE({name}, {p})"))

    def _both(self, text: str) -> None:
        self.where.append((text, text))

    def exists(self) -> None:
        source = self.source()
        alias, column = self.column(self.rng.choice(self.inner))
        theirs = source.of_type(column.type)
        if not theirs:
            return
        on = [f"e.{self.rng.choice(theirs).name} = {alias}.{column.name}"]
        if self.rng.random() < 0.7:
            other = next(one for one in source.columns if one.name in source.key)
            on.append(f"e.{other.name} = {self.parameter(other.type)}")
        word = self.rng.choice(["EXISTS", "NOT EXISTS"])
        self._both(f"{word} (SELECT 1 FROM {source.name} e WHERE {' AND '.join(on)})")

    def body(self) -> tuple[str, str]:
        texts = []
        for place in (0, 1):
            text = " FROM " + " ".join(self.from_items)
            if self.where:
                text += " WHERE " + " AND ".join(one[place] for one in self.where)
            texts.append(text)
        return texts[0], texts[1]


def ask(rng: Random, world: World) -> Question:
    if rng.random() < 0.1:
        return _union(rng, world)
    asking = Asking(rng, world)
    asking.start()
    if rng.random() < 0.12:
        _in_from(asking)
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        asking.join()
    _conditions(asking)
    if rng.random() < 0.2:
        asking.exists()
    shape = rng.choice(["rows", "rows", "rows", "groups", "distinct"])
    return {"rows": _rows, "groups": _groups, "distinct": _distinct}[shape](asking)


def _conditions(asking: Asking) -> None:
    """Often on the first columns of a key, so that many queries have a bound."""
    rng = asking.rng
    alias, source = asking.sources[0]
    if rng.random() < 0.5:
        for name in source.key[: rng.randint(1, len(source.key))]:
            column = next(one for one in source.columns if one.name == name)
            asking._both(f"{alias}.{name} = {asking.parameter(column.type)}")
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        asking.condition(*asking.column())


def _in_from(asking: Asking) -> None:
    """The first source is a query in FROM: the first rows of a table in an order that leaves nothing open."""
    alias, source = asking.sources[0]
    keys = [*dict.fromkeys([asking.rng.choice([*source.columns]).name, *source.key])]
    down = asking.rng.choice(["", " DESC"])
    order = ", ".join(key + down for key in keys)
    where = ""
    if asking.rng.random() < 0.5:
        column = asking.rng.choice(source.columns)
        where = f" WHERE {column.name} = {asking.parameter(column.type)}"
    limit = asking.rng.randint(1, 6)
    asking.from_items[0] = f"(SELECT * FROM {source.name}{where} ORDER BY {order} LIMIT {limit}) {alias}"


def _rows(asking: Asking) -> Question:
    rng = asking.rng
    shown = [f"{alias}.{one.name}" for alias, one in (asking.column() for _ in range(rng.randint(1, 3)))]
    order = []
    for _ in range(rng.choice([0, 1, 1, 2])):
        alias, one = asking.column()
        order.append((f"{alias}.{one.name}", rng.random() < 0.4))
    if rng.random() < 0.3:
        alias, source = asking.sources[0]
        order += [(f"{alias}.{name}", False) for name in source.key]
    order = list(dict(order).items())
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
        down = rng.random() < 0.6
        order = (down, *(False for _ in group))
        sorts = "".join(f", {one}" for one in (calls[0], *group))
        place = len(group)
        tail, limit, offset = _tail(asking, [f"s{place}{' DESC' * down}", *(f"s{n}" for n in range(len(group)))])
    return Question(
        ours=f"SELECT {names}{ours}{by}{tail}",
        theirs=f"SELECT {names}{sorts}{theirs}{by}",
        order=order,
        limit=limit,
        offset=offset,
        params=asking.params,
    )


def _distinct(asking: Asking) -> Question:
    rng = asking.rng
    shown = list(
        dict.fromkeys(f"{alias}.{one.name}" for alias, one in (asking.column() for _ in range(rng.randint(1, 2))))
    )
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
        asking.from_items, asking.sources, asking.inner = [f"{table.name} a"], [("a", table)], ["a"]
        _conditions(asking)
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
            found[name] = [value(rng, type, null=0.1) for _ in range(rng.randint(0, LISTED))]
        elif kind == 2:
            found[name] = rng.choice(["wo%", "w%", "word%", "%", "zz%"])
        elif kind == 3:
            found[name] = rng.choice(["wo", "word", "x", "none"])
        else:
            found[name] = value(rng, type, null=0.05)
    return found
