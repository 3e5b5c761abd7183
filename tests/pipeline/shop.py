"""A small database with one view of each kind, ways to maintain it without Spark, and ways to damage it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import viewkeeper as vk
from viewkeeper.errors import Outrun
from viewkeeper.execute.groupstate import decode_state, encode_state
from viewkeeper.model.types import Kind, Row, Type
from viewkeeper.pipeline.comparing import apart
from viewkeeper.pipeline.stored import StoredTable, stored_tables
from viewkeeper.pipeline.storedview import stored_view
from viewkeeper.store import groups
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.environment import Database, Txn
from viewkeeper.store.keyspace import stored_key
from viewkeeper.views.batch import Timing, batch_by_rows
from viewkeeper.views.bound import BoundView, bound_views
from viewkeeper.views.settle import settle_views

TABLE = """
CREATE TABLE Sales (
  id BIGINT PRIMARY KEY, shop STRING, item STRING, amount DECIMAL(10,2), weight DOUBLE, at TIMESTAMP, big DECIMAL(30,2)
)
"""
VIEWS = {
    "selection": "CREATE MATERIALIZED VIEW V AS SELECT id, amount, weight FROM Sales WHERE amount > 2",
    "hidden key": "CREATE MATERIALIZED VIEW V KEY (shop) AS SELECT shop, amount * 2 AS twice, big FROM Sales",
    "index": "CREATE INDEX V ON Sales (amount DESC) INCLUDE (item)",
    "words": "CREATE INDEX V ON Sales (TOKENS(item), item)",
    "distinct": "CREATE MATERIALIZED VIEW V AS SELECT DISTINCT shop, item FROM Sales",
    "aggregates": """
        CREATE MATERIALIZED VIEW V AS SELECT shop, COUNT(*) AS n, COUNT(amount) AS known, COUNT(DISTINCT item) AS items,
        SUM(amount) AS total, AVG(amount) AS mean, MIN(amount) AS least, MAX(at) AS latest, VARIANCE(amount) AS spread,
        STDDEV(amount) AS deviation, SUM(big) AS big FROM Sales GROUP BY shop
    """,
    "doubles": """
        CREATE MATERIALIZED VIEW V AS SELECT shop, SUM(weight) AS total, AVG(weight) AS mean,
        STDDEV(weight) AS deviation, MAX(weight) AS top FROM Sales GROUP BY shop
    """,
    "having": """
        CREATE MATERIALIZED VIEW V AS SELECT shop, COUNT(*) AS n, SUM(weight) AS weight,
        STDDEV(weight) AS deviation FROM Sales GROUP BY shop HAVING COUNT(*) > 1
    """,
    "global": "CREATE MATERIALIZED VIEW V AS SELECT COUNT(*) AS n, MAX(amount) AS top FROM Sales",
    "cube": "CREATE MATERIALIZED VIEW V AS SELECT shop, item, SUM(amount) AS s FROM Sales GROUP BY CUBE (shop, item)",
    "window": """
        CREATE MATERIALIZED VIEW V AS SELECT WINDOW(at, '1 minute', '30 seconds') AS epoch, COUNT(*) AS n,
        MIN(item) AS first FROM Sales GROUP BY WINDOW(at, '1 minute', '30 seconds')
    """,
    "errors": "CREATE MATERIALIZED VIEW V AS SELECT id, amount / (id - 3) AS share FROM Sales",
    "two aggregates": """
        CREATE MATERIALIZED VIEW V AS SELECT n, COUNT(*) AS shops, MAX(shop) AS last FROM
        (SELECT shop, COUNT(*) AS n, MIN(amount) AS low FROM Sales GROUP BY shop) AS s GROUP BY n
    """,
    "join": """
        CREATE MATERIALIZED VIEW V AS SELECT a.shop, COUNT(*) AS n, SUM(b.amount) AS s, MAX(b.weight) AS w
        FROM Sales a JOIN Sales b ON a.item = b.item WHERE a.amount > 2 GROUP BY a.shop
    """,
    "partners": """
        CREATE MATERIALIZED VIEW V AS SELECT a.id, b.id AS other FROM Sales a FULL JOIN Sales b
        ON a.shop = b.shop AND a.amount < b.amount
    """,
    "joined groups": """
        CREATE MATERIALIZED VIEW V AS SELECT a.id, s.n FROM Sales a LEFT JOIN
        (SELECT shop, COUNT(*) AS n FROM Sales GROUP BY shop) AS s ON a.shop = s.shop
    """,
    "anti": """
        CREATE MATERIALIZED VIEW V AS SELECT id, item FROM Sales a WHERE NOT EXISTS
        (SELECT 1 FROM Sales b WHERE b.shop = a.shop AND b.id > a.id)
    """,
    "union": "CREATE MATERIALIZED VIEW V AS SELECT shop, amount FROM Sales UNION ALL SELECT item, amount FROM Sales",
    "join index": "CREATE JOIN INDEX V ON Sales (shop) INCLUDE (amount), Sales (item) INCLUDE (amount)",
}
BELOW = "CREATE MATERIALIZED VIEW Below AS SELECT shop, COUNT(*) AS n, MAX(amount) AS top FROM Sales GROUP BY shop"
ABOVE = {
    "selection above": "CREATE MATERIALIZED VIEW V AS SELECT shop, n FROM Below WHERE n > 1",
    "aggregate above": "CREATE MATERIALIZED VIEW V AS SELECT n, COUNT(*) AS shops, MAX(top) AS t FROM Below GROUP BY n",
}
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)


def sale(number: int) -> dict[str, Any]:
    """A row with a NULL here and there."""
    return {
        "id": number,
        "shop": None if number % 7 == 6 else f"shop {number % 3}",
        "item": f"old lamp {number % 4}" if number % 2 else "desk",
        "amount": None if number % 5 == 4 else number,
        "weight": number * 0.1,
        "at": NOON + timedelta(seconds=13 * number),
        "big": number * 10**20,
    }


def make_shop(path: Path, *statements: str, rows: int = 12, table: str = TABLE) -> vk.Database:
    """A database with sales and views, of which some rows came after the views were filled."""
    db = vk.open(path, durability="os")
    db.execute(table)
    for number in range(rows // 2):
        db.put("Sales", sale(number))
    for statement in statements:
        db.execute(statement)
    for number in range(rows // 2, rows):
        db.put("Sales", sale(number))
    db.put("Sales", {"id": 2, "amount": 99, "weight": 0.7})
    db.delete("Sales", 1)
    maintain(store_of(db))
    return db


def store_of(db: vk.Database) -> EmbeddedStore:
    return db._shared


def maintain(store: EmbeddedStore) -> None:
    """Bring every group to the head, by rows, as far as nobody has claimed or outrun it."""
    bound = bound_views(store)
    head = store.offset(store.head())
    for group, state in store.view_tables.groups().items():
        try:
            store.view_tables.apply(batch_by_rows(store, bound, group, state, head, Timing()))
        except Outrun:
            continue
    settle_views(store)


def bound_view(store: EmbeddedStore, name: str = "V") -> BoundView:
    view = store.catalog().view(name)
    assert view is not None
    one = bound_views(store).get(view.id)
    assert one is not None
    return one


def contents(store: EmbeddedStore, name: str = "V") -> dict[int, dict[bytes, bytes]]:
    """Everything that is stored of a view: by object, by stored key."""
    view = bound_view(store, name).whole
    with stored_view(store, view) as stored:
        return {number: dict(stored.reading.stored(number)) for number in view.objects}


@dataclass(frozen=True)
class Damage:
    """One thing that is stored and is not as it was: `before` and `after` are encoded rows, None: absent."""

    what: str
    table: StoredTable
    key: bytes
    before: bytes | None
    after: bytes | None

    def do(self, store: EmbeddedStore) -> None:
        beside = store.catalog().databases.tables.get(self.table.number)
        if beside is not None:
            store.write(lambda txn: self._write(txn, beside))
            return
        with store.views.begin(write=True) as txn:
            place = groups.get_object(txn, store.view_tables.objects_db, self.table.number)
            assert place is not None
            db = store.views.opened(b"v%08x" % place.slot)
            assert db is not None
            self._write(txn, db)

    def _write(self, txn: Txn, db: Database) -> None:
        if self.after is None:
            assert txn.delete(self.key, db=db)
        else:
            txn.put(self.key, self.after, db=db)


def kept_tables(store: EmbeddedStore, name: str = "V") -> list[StoredTable]:
    """The tables of a view, each once: both sides of a self-join may share one; those of all its parts."""
    view = bound_view(store, name).whole
    parts = [one for number in view.tables if (one := bound_views(store).get(number)) is not None]
    with stored_view(store, view) as stored:
        return [table for one in parts for table in apart(stored_tables(one), stored.reading)]


def damages(store: EmbeddedStore, name: str = "V") -> Iterator[Damage]:
    """Each column of a row changed, each part of a state, a row removed, a row added, bytes that say nothing."""
    stored = contents(store, name)
    for table in kept_tables(store, name):
        rows = sorted(stored[table.number].items())
        key, value = rows[len(rows) // 2]
        row = table.codec.decode(value)
        for number, column in enumerate(table.codec.table.columns):
            if table.compared is not None and number not in table.compared:
                # Room for a column that another view may use of a shared join index.
                continue
            if table.stage is not None and number == len(row) - 1:
                for what, state in _states(table, row[-1]):
                    yield Damage(f"{what} of {table.name}", table, key, value, table.codec.encode((*row[:-1], state)))
            else:
                changed = table.codec.encode((*row[:number], other(row[number], column.type), *row[number + 1 :]))
                yield Damage(f"{column.name} of {table.name}", table, key, value, changed)
        yield Damage(f"row of {table.name}", table, key, value, None)
        yield Damage(f"bytes of {table.name}", table, key, value, b"\xc1 damaged")
        strange = _strange(table, row)
        if strange is not None:
            assert strange[0] not in stored[table.number]
            yield Damage(f"new row of {table.name}", table, strange[0], None, strange[1])


def _strange(table: StoredTable, row: Row) -> tuple[bytes, bytes] | None:
    """A row like another, but for its key; None for the one row of a global aggregate."""
    columns = table.codec.table.columns
    if not table.codec.table.key_ids:
        return None
    number = table.codec.table.key_ids[-1]
    cell = row[number]
    strange = cell + 1_000_000 if type(cell) is int else other(cell, columns[number].type)
    changed = (*row[:number], strange, *row[number + 1 :])
    return stored_key(table.codec.key.encode(changed)), table.codec.encode(changed)


def _states(table: StoredTable, encoded: Any) -> Iterator[tuple[str, bytes]]:
    assert table.stage is not None
    sink = table.stage.sink
    state = decode_state(sink, encoded)
    state.weight += 1
    yield "weight", encode_state(sink, state)
    for number, total in enumerate(decode_state(sink, encoded).sums):
        state = decode_state(sink, encoded)
        if isinstance(total, list):
            for place in range(4):
                state = decode_state(sink, encoded)
                state.sums[number][place] += 1
                yield f"sum {number}, {place}", encode_state(sink, state)
        else:
            state.sums[number] += 1
            yield f"sum {number}", encode_state(sink, state)
    for number, kept in enumerate(sink.preaggregations):
        state = decode_state(sink, encoded)
        state.values[number].different += 1
        yield f"different {number}", encode_state(sink, state)
        state = decode_state(sink, encoded)
        state.values[number].least = other(state.values[number].least, kept.type)
        yield f"least {number}", encode_state(sink, state)


def other(cell: Any, type: Type) -> Any:
    """Another value of a type, near to it."""
    if cell is None:
        return {Kind.STRING: "", Kind.BINARY: b"", Kind.DOUBLE: 0.0, Kind.BOOLEAN: True}.get(type.kind, 0)
    match type.kind:
        case Kind.STRING:
            return cell + "!"
        case Kind.BINARY:
            return cell + b"!"
        case Kind.BOOLEAN:
            return not cell
        case Kind.DOUBLE:
            return cell + 1e-6
        case _:
            return cell + 1
