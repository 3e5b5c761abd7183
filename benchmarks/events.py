"""The table that the benchmarks of views share, and a log of mixed changes to it."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

import viewkeeper as vk

DDL = """
CREATE TABLE Events (
  ID BIGINT PRIMARY KEY, Timestamp TIMESTAMP, ProdID BIGINT, ShopID BIGINT, Type STRING, Cost DECIMAL(10,2)
)
"""
GROUPS = 1000
SUMS = "SELECT ProdID, COUNT(*) AS n, SUM(Cost) AS total FROM Events GROUP BY ProdID"
ENDS = "SELECT ProdID, MIN(Cost) AS least, MAX(Cost) AS most FROM Events GROUP BY ProdID"
SELECTION = "SELECT ID, ProdID, Cost FROM Events WHERE Type = 'buy'"


def events(start: int, count: int) -> pa.Table:
    """Rows with the keys start <= ID < start + count."""
    ids = pa.array(range(start, start + count), pa.int64())
    cents = pc.add(pc.multiply(pc.bit_wise_and(ids, 8191), 7), 99)
    return pa.table(
        {
            "ID": ids,
            "Timestamp": pc.multiply(ids, 1000).cast(pa.timestamp("us", "UTC")),
            "ProdID": pc.subtract(ids, pc.multiply(pc.divide(ids, GROUPS), GROUPS)),
            "ShopID": pc.bit_wise_and(ids, 63),
            "Type": pc.if_else(pc.equal(pc.bit_wise_and(ids, 3), 0), "buy", "view"),
            "Cost": pa.Array.from_buffers(pa.decimal128(10, 2), count, cents.cast(pa.decimal128(19, 0)).buffers()),
        }
    )


def mixed(count: int, rows: int, size: int, seed: int = 7) -> Iterator[list[tuple[str, dict[str, object]]]]:
    """Transactions of `size` changes, `count` in all: 50 % inserts, 35 % updates, 15 % deletes.

    The table holds the keys below `rows` before them."""
    draw = random.Random(seed)
    fresh, alive = rows, list(range(rows))
    made: list[tuple[str, dict[str, object]]] = []
    for _ in range(count):
        what = draw.random()
        if what < 0.5:
            made.append(("put", _event(fresh, draw)))
            alive.append(fresh)
            fresh += 1
        elif what < 0.85:
            made.append(("put", _event(alive[draw.randrange(len(alive))], draw)))
        else:
            place = draw.randrange(len(alive))
            alive[place], alive[-1] = alive[-1], alive[place]
            made.append(("delete", {"ID": alive.pop()}))
        if len(made) == size:
            yield made
            made = []
    if made:
        yield made


def _event(number: int, draw: random.Random) -> dict[str, object]:
    return {
        "ID": number,
        "ProdID": draw.randrange(GROUPS),
        "ShopID": number & 63,
        "Type": "buy" if draw.random() < 0.25 else "view",
        "Cost": draw.randrange(1, 60_000) / 100,
    }


def write(db: vk.Database, transactions: Iterator[list[tuple[str, dict[str, object]]]]) -> None:
    for changes in transactions:
        if len(changes) == 1:
            ((what, row),) = changes
            db.put("Events", row) if what == "put" else db.delete("Events", row["ID"])
            continue
        with db.transaction() as tx:
            for what, row in changes:
                if what == "put":
                    tx.put("Events", row)
                else:
                    tx.delete("Events", row["ID"])
