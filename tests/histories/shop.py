"""The tables and views of the histories: each view once in SQL and once in plain Python."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import viewkeeper as vk
from tests.histories.history import Row
from tests.histories.model import Definition, Tables, table

ORDERS, BUYERS = "Orders", "Buyers"
TABLES = (
    f"CREATE TABLE {ORDERS} (id BIGINT PRIMARY KEY, buyer BIGINT, kind STRING, n BIGINT)",
    f"CREATE TABLE {BUYERS} (buyer BIGINT PRIMARY KEY, name STRING)",
)
BASE = (table(ORDERS, "id"), table(BUYERS, "buyer"))


def _orders(tables: Tables) -> list[Row]:
    return list(tables[ORDERS].values())


def _totals(tables: Tables) -> list[Row]:
    found: dict[str, list[int]] = {}
    for row in _orders(tables):
        found.setdefault(row["kind"], []).append(row["n"])
    return [{"kind": kind, "c": len(ns), "s": sum(ns), "low": min(ns), "high": max(ns)} for kind, ns in found.items()]


def _sums(tables: Tables) -> list[Row]:
    return [{"kind": row["kind"], "c": row["c"], "s": row["s"]} for row in _totals(tables)]


def _sizes(tables: Tables) -> list[Row]:
    return [{"c": c, "many": many} for c, many in Counter(row["c"] for row in _totals(tables)).items()]


def _joined(tables: Tables) -> list[Row]:
    buyers = tables[BUYERS]
    return [
        {"id": row["id"], "n": row["n"], "name": buyers[row["buyer"],]["name"]}
        for row in _orders(tables)
        if (row["buyer"],) in buyers
    ]


def _named(tables: Tables) -> list[Row]:
    buyers = tables[BUYERS]
    return [
        {"id": row["id"], "kind": row["kind"], "name": buyers.get((row["buyer"],), {}).get("name")}
        for row in _orders(tables)
    ]


def _spent(tables: Tables) -> list[Row]:
    found: dict[str, list[int]] = {}
    for row in _joined(tables):
        found.setdefault(row["name"], []).append(row["n"])
    return [{"name": name, "c": len(ns), "most": max(ns)} for name, ns in found.items()]


def _by_n(tables: Tables) -> list[Row]:
    return [{"n": row["n"], "kind": row["kind"]} for row in _orders(tables)]


def _plenty(tables: Tables) -> list[Row]:
    return [{"n": row["n"], "id": row["id"], "kind": row["kind"]} for row in _orders(tables) if row["n"] > 1]


_JOIN = f"FROM {ORDERS} o JOIN {BUYERS} b ON o.buyer = b.buyer"
VIEWS = (
    Definition(
        name="Totals",
        key=("kind",),
        group="aggregates",
        rows=_totals,
        text="VIEW Totals {maintain} AS SELECT kind, COUNT(*) AS c, SUM(n) AS s, MIN(n) AS low, MAX(n) AS high "
        f"FROM {ORDERS} GROUP BY kind",
    ),
    Definition(
        name="Sizes",
        key=("c",),
        group="aggregates",
        rows=_sizes,
        text="VIEW Sizes {maintain} AS SELECT c, COUNT(*) AS many FROM Totals GROUP BY c",
    ),
    Definition(
        name="Joined",
        key=("id",),
        rows=_joined,
        text=f"VIEW Joined KEY (id) {{maintain}} AS SELECT o.id, o.n, b.name {_JOIN}",
    ),
    Definition(
        name="Named",
        key=("id",),
        rows=_named,
        text="VIEW Named KEY (id) {maintain} AS SELECT o.id, o.kind, b.name "
        f"FROM {ORDERS} o LEFT JOIN {BUYERS} b ON o.buyer = b.buyer",
    ),
    Definition(
        name="Spent",
        key=("name",),
        rows=_spent,
        text=f"VIEW Spent {{maintain}} AS SELECT b.name, COUNT(*) AS c, MAX(o.n) AS most {_JOIN} GROUP BY b.name",
    ),
    Definition(
        name="ByN",
        key=("n",),
        descending=frozenset({"n"}),
        unique=False,
        rows=_by_n,
        text=f"INDEX ByN ON {ORDERS} (n DESC) INCLUDE (kind) {{maintain}}",
    ),
    Definition(
        name="Plenty",
        key=("n", "id"),
        descending=frozenset({"n"}),
        rows=_plenty,
        text=f"VIEW Plenty KEY (n DESC, id) {{maintain}} AS SELECT n, id, kind FROM {ORDERS} WHERE n > 1",
    ),
)
PARTIAL = (
    replace(VIEWS[0], name="Totals", group=""),
    Definition(
        name="Sums",
        key=("kind",),
        rows=_sums,
        text=f"VIEW Sums {{maintain}} AS SELECT kind, COUNT(*) AS c, SUM(n) AS s FROM {ORDERS} GROUP BY kind",
    ),
)
"""What can be kept as partial aggregates in each partition."""


def views_in(mode: str) -> tuple[Definition, ...]:
    """The views, in a mode as it stands behind MAINTAIN."""
    word = mode.split(maxsplit=1)[0]
    return tuple(replace(view, mode=word) for view in (PARTIAL if word == "LOCAL" else VIEWS))


def create(view: Definition, mode: str, *, again: bool = False) -> str:
    """The statement that makes a view, or puts the same one in its place."""
    return f"CREATE {'OR REPLACE ' if again else ''}{view.text.format(maintain=f'MAINTAIN {mode}')}"


def open_shop(path: object, mode: str = "DEFERRED", views: tuple[Definition, ...] | None = None) -> vk.Database:
    """A new database with the tables and, in a mode, the views."""
    db = vk.open(str(path), durability="os")
    for text in TABLES:
        db.execute(text)
    for view in views_in(mode) if views is None else views:
        db.execute(create(view, mode))
    return db


def order(number: int, buyer: int, kind: str, n: int) -> tuple[str, tuple[int], Row]:
    return ORDERS, (number,), {"id": number, "buyer": buyer, "kind": kind, "n": n}


def buyer(number: int, name: str) -> tuple[str, tuple[int], Row]:
    return BUYERS, (number,), {"buyer": number, "name": name}


def gone(table_name: str, key: int) -> tuple[str, tuple[int], None]:
    return table_name, (key,), None
