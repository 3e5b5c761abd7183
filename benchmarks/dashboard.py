"""The shop of the dashboard: events of products, products of categories, and a log in which products move."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

import viewkeeper as vk

PRODUCTS, SHOPS, CATEGORIES = 5000, 50, 20
DDL = """
CREATE TABLE Events (
  ID BIGINT PRIMARY KEY, Timestamp TIMESTAMP, ProdID BIGINT, ShopID BIGINT, Type STRING, Cost DECIMAL(10,2)
);
CREATE TABLE Products (
  ID BIGINT PRIMARY KEY, ShopID BIGINT, CatID BIGINT, Name STRING, Description STRING, ClusterID BIGINT
);
"""
JOIN = "FROM Events e JOIN Products p ON e.ProdID = p.ID"
BY_CATEGORY = f"SELECT p.CatID, COUNT(*) AS n, SUM(e.Cost) AS total {JOIN} GROUP BY p.CatID"
BY_SHOP = f"SELECT p.ShopID, COUNT(*) AS n, SUM(e.Cost) AS total {JOIN} GROUP BY p.ShopID"
BY_TYPE = f"SELECT p.CatID, e.Type, COUNT(*) AS n, SUM(e.Cost) AS total {JOIN} GROUP BY p.CatID, e.Type"

Write = tuple[str, str, dict[str, object]]
"""What is done, to which table, with which row."""


def products() -> list[dict[str, object]]:
    return [
        {"ID": number, "ShopID": number % SHOPS, "CatID": number % CATEGORIES, "Name": f"product {number}"}
        for number in range(PRODUCTS)
    ]


def events(start: int, count: int) -> pa.Table:
    """Rows with the keys start <= ID < start + count, spread over all products but the first."""
    ids = pa.array(range(start, start + count), pa.int64())
    cents = pc.add(pc.multiply(pc.bit_wise_and(ids, 8191), 7), 99)
    rest = pc.subtract(ids, pc.multiply(pc.divide(ids, PRODUCTS - 1), PRODUCTS - 1))
    return pa.table(
        {
            "ID": ids,
            "Timestamp": pc.multiply(ids, 1000).cast(pa.timestamp("us", "UTC")),
            "ProdID": pc.add(rest, 1),
            "ShopID": pc.bit_wise_and(ids, 31),
            "Type": pc.if_else(pc.equal(pc.bit_wise_and(ids, 3), 0), "buy", "view"),
            "Cost": pa.Array.from_buffers(pa.decimal128(10, 2), count, cents.cast(pa.decimal128(19, 0)).buffers()),
        }
    )


def mixed(count: int, rows: int, size: int, moves: int, seed: int = 7) -> Iterator[list[Write]]:
    """Transactions of `size` event changes, 50 % inserts, 35 % updates, 15 % deletes, and `moves` products each."""
    draw = random.Random(seed)
    fresh, alive = rows, list(range(rows))
    for _ in range(count // size):
        made: list[Write] = []
        for _ in range(size):
            what = draw.random()
            if what < 0.5:
                made.append(("put", "Events", event(fresh, draw)))
                alive.append(fresh)
                fresh += 1
            elif what < 0.85:
                made.append(("put", "Events", event(alive[draw.randrange(len(alive))], draw)))
            else:
                place = draw.randrange(len(alive))
                alive[place], alive[-1] = alive[-1], alive[place]
                made.append(("delete", "Events", {"ID": alive.pop()}))
        made += [("put", "Products", move(draw)) for _ in range(moves)]
        yield made


def event(number: int, draw: random.Random) -> dict[str, object]:
    return {
        "ID": number,
        "ProdID": draw.randrange(1, PRODUCTS),
        "ShopID": number & 31,
        "Type": "buy" if draw.random() < 0.25 else "view",
        "Cost": draw.randrange(1, 60_000) / 100,
    }


def move(draw: random.Random) -> dict[str, object]:
    return {"ID": draw.randrange(1, PRODUCTS), "CatID": draw.randrange(CATEGORIES)}


def write(db: vk.Database, transactions: Iterator[list[Write]]) -> int:
    """How many changes were written."""
    count = 0
    for changes in transactions:
        count += len(changes)
        with db.transaction() as tx:
            for what, table, row in changes:
                if what == "put":
                    tx.put(table, row)
                else:
                    tx.delete(table, row["ID"])
    return count
