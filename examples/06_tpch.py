"""Two views of TPC-H, and customers that move to another nation or segment.

V1 joins four tables and groups them; V2 joins five, with an inequality beside the equalities. A customer has some forty
line items: a change of the customer finds just these, by way of the orders.

Run it with `python examples/06_tpch.py`.
"""

from __future__ import annotations

import random
import tempfile
from decimal import Decimal
from pathlib import Path

import viewkeeper as vk

TABLES = """
CREATE TABLE nation (n_nationkey INT PRIMARY KEY, n_name STRING);
CREATE TABLE customer (c_custkey BIGINT PRIMARY KEY, c_name STRING, c_nationkey INT, c_mktsegment STRING);
CREATE TABLE supplier (s_suppkey BIGINT PRIMARY KEY, s_name STRING, s_nationkey INT);
CREATE TABLE partsupp (
  ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INT, ps_comment STRING, PRIMARY KEY (ps_partkey, ps_suppkey)
);
CREATE TABLE orders (o_orderkey BIGINT PRIMARY KEY, o_custkey BIGINT, o_orderstatus STRING);
CREATE TABLE lineitem (
  l_orderkey BIGINT, l_linenumber INT, l_partkey BIGINT, l_suppkey BIGINT,
  l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), PRIMARY KEY (l_orderkey, l_linenumber)
)
"""

VIEWS = """
CREATE MATERIALIZED VIEW V1 AS
SELECT n_name, c_mktsegment, COUNT(*) AS totalcnt, SUM(l_extendedprice) AS totalprice, SUM(l_quantity) AS totalquan
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND o_orderkey = l_orderkey AND n_nationkey = c_nationkey
GROUP BY n_name, c_mktsegment;

CREATE MATERIALIZED VIEW V2 KEY (c_custkey) AS
SELECT c_custkey, s_name, c_name, c_mktsegment, ps_comment, l_orderkey, l_linenumber
FROM customer, orders, lineitem, supplier, partsupp
WHERE c_custkey = o_custkey AND o_orderkey = l_orderkey AND l_suppkey = s_suppkey
  AND l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND s_nationkey <> c_nationkey
"""

NATIONS = ["ALGERIA", "BRAZIL", "CANADA", "EGYPT", "FRANCE"]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
CUSTOMERS, ORDERS, PARTS, SUPPLIERS = 60, 600, 100, 10


def fill(db: vk.Database, chance: random.Random) -> None:
    db.load("nation", [{"n_nationkey": i, "n_name": name} for i, name in enumerate(NATIONS)])
    db.load(
        "customer",
        [
            {"c_custkey": i, "c_name": f"customer {i}", "c_nationkey": i % 5, "c_mktsegment": chance.choice(SEGMENTS)}
            for i in range(CUSTOMERS)
        ],
    )
    db.load("supplier", [{"s_suppkey": i, "s_name": f"supplier {i}", "s_nationkey": i % 5} for i in range(SUPPLIERS)])
    # Four suppliers have each part.
    db.load(
        "partsupp",
        [
            {"ps_partkey": part, "ps_suppkey": (part + i) % SUPPLIERS, "ps_availqty": 10, "ps_comment": f"part {part}"}
            for part in range(PARTS)
            for i in range(4)
        ],
    )
    db.load("orders", [{"o_orderkey": i, "o_custkey": chance.randrange(CUSTOMERS)} for i in range(ORDERS)])
    db.load("lineitem", [line(order, i, chance) for order in range(ORDERS) for i in range(chance.randint(1, 7))])


def line(order: int, number: int, chance: random.Random) -> dict[str, object]:
    part, quantity = chance.randrange(PARTS), chance.randint(1, 50)
    return {
        "l_orderkey": order,
        "l_linenumber": number,
        "l_partkey": part,
        "l_suppkey": (part + chance.randrange(4)) % SUPPLIERS,
        "l_quantity": quantity,
        "l_extendedprice": quantity * Decimal(90_000 + part) / 100,
    }


def main() -> None:
    chance = random.Random(3)
    with tempfile.TemporaryDirectory() as folder, vk.open(Path(folder) / "tpch") as db:
        db.execute(TABLES)
        fill(db, chance)
        db.execute(VIEWS)
        print("before:", {view.view: view.rows for view in db.status()})

        # One customer moves: out of one row of V1 and into another; and other suppliers are abroad now.
        rows = db.scan("V2", prefix=(7,))
        abroad = {row["s_name"] for row in rows}
        print("customer 7:", db.get("customer", 7))
        db.put("customer", {"c_custkey": 7, "c_nationkey": 0, "c_mktsegment": "BUILDING"})
        print("moves to", NATIONS[0], "and BUILDING:", str(db.maintain()).split(";")[0])
        for change in db.changes("V1", since=rows.meta.position):
            before, after = change.before or {}, change.after or {}
            print(f"  V1 {change.key}: {before.get('totalcnt')} → {after.get('totalcnt')} line items")
        now = {row["s_name"] for row in db.scan("V2", prefix=(7,))}
        print("  V2: no longer abroad", sorted(abroad - now), "but now", sorted(now - abroad))

        # A hundred updates, as the talk has them, brought into both views as one batch.
        for _ in range(100):
            with db.transaction() as tx:
                for number in chance.sample(range(CUSTOMERS), 10):
                    if chance.random() < 0.5:
                        tx.put("customer", {"c_custkey": number, "c_nationkey": chance.randrange(5)})
                    else:
                        tx.put("customer", {"c_custkey": number, "c_mktsegment": chance.choice(SEGMENTS)})
        print("100 updates of ten customers each:", str(db.maintain()).split(";")[0])

        for view in db.views():
            checked = db.verify(view.name)
            print(checked)
            assert checked.ok


if __name__ == "__main__":
    main()
