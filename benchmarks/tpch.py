"""Tables of TPC-H in the ratios of the standard, and the two views of the talk on lazy maintenance.

A customer has ten orders on average, an order four line items: a customer that moves changes forty rows of a join.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

import viewkeeper as vk

SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY")
NATIONS = 25
DDL = """
CREATE TABLE nation (n_nationkey INT PRIMARY KEY, n_name STRING);
CREATE TABLE customer (c_custkey BIGINT PRIMARY KEY, c_name STRING, c_nationkey INT, c_mktsegment STRING);
CREATE TABLE supplier (s_suppkey BIGINT PRIMARY KEY, s_name STRING, s_nationkey INT);
CREATE TABLE partsupp (
  ps_partkey BIGINT, ps_suppkey BIGINT, ps_comment STRING, PRIMARY KEY (ps_partkey, ps_suppkey)
);
CREATE TABLE orders (o_orderkey BIGINT PRIMARY KEY, o_custkey BIGINT);
CREATE TABLE lineitem (
  l_orderkey BIGINT, l_linenumber INT, l_partkey BIGINT, l_suppkey BIGINT, l_quantity DECIMAL(15,2),
  l_extendedprice DECIMAL(15,2), PRIMARY KEY (l_orderkey, l_linenumber)
)
"""
V1 = """
CREATE MATERIALIZED VIEW V1 AS
SELECT n_name, c_mktsegment, COUNT(*) AS totalcnt, SUM(l_extendedprice) AS totalprice, SUM(l_quantity) AS totalquan
FROM customer, orders, lineitem, nation
WHERE c_custkey = o_custkey AND o_orderkey = l_orderkey AND n_nationkey = c_nationkey
GROUP BY n_name, c_mktsegment
"""
V2 = """
CREATE MATERIALIZED VIEW V2 KEY (c_custkey) AS
SELECT c_custkey, s_name, c_name, c_mktsegment, ps_comment, l_orderkey, l_linenumber, l_extendedprice
FROM customer, orders, lineitem, supplier, partsupp
WHERE c_custkey = o_custkey AND o_orderkey = l_orderkey AND l_suppkey = s_suppkey
  AND l_partkey = ps_partkey AND l_suppkey = ps_suppkey AND s_nationkey <> c_nationkey
"""


@dataclass
class Shop:
    """What is loaded into each database, drawn once."""

    customers: int
    lines: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """By customer, the keys of its line items."""
    tables: dict[str, pa.Table] = field(default_factory=dict)


def shop(customers: int, seed: int = 4) -> Shop:
    """Tables in the ratios of the standard: 150 customers to 10 suppliers, 200 parts and 1,500 orders."""
    draw = random.Random(seed)
    made = Shop(customers)
    suppliers, parts, orders = max(5, customers // 15), max(5, customers * 4 // 3), customers * 10
    buyers = [draw.randrange(customers) for _ in range(orders)]
    lines: list[tuple[int, int, int, int, int]] = []
    for order, buyer in enumerate(buyers):
        for number in range(draw.randint(1, 7)):
            part = draw.randrange(parts)
            lines.append((order, number, part, (part + draw.randrange(4)) % suppliers, draw.randint(1, 50)))
            made.lines.setdefault(buyer, []).append((order, number))
    order, number, part, supplier, quantity = (pa.array(column, pa.int64()) for column in zip(*lines, strict=True))
    price = pc.multiply(quantity, pc.add(part, 900))
    made.tables = {
        "nation": pa.table({"n_nationkey": _ints(range(NATIONS)), "n_name": [nation(i) for i in range(NATIONS)]}),
        "customer": pa.table(
            {
                "c_custkey": pa.array(range(customers), pa.int64()),
                "c_name": [f"customer {i}" for i in range(customers)],
                "c_nationkey": _ints(draw.randrange(NATIONS) for _ in range(customers)),
                "c_mktsegment": [draw.choice(SEGMENTS) for _ in range(customers)],
            }
        ),
        "supplier": pa.table(
            {
                "s_suppkey": pa.array(range(suppliers), pa.int64()),
                "s_name": [f"supplier {i}" for i in range(suppliers)],
                "s_nationkey": _ints(i % NATIONS for i in range(suppliers)),
            }
        ),
        "partsupp": pa.table(
            {
                "ps_partkey": pa.array([i for i in range(parts) for _ in range(4)], pa.int64()),
                "ps_suppkey": pa.array([(i + more) % suppliers for i in range(parts) for more in range(4)], pa.int64()),
                "ps_comment": [f"part {i} from {more}" for i in range(parts) for more in range(4)],
            }
        ),
        "orders": pa.table({"o_orderkey": pa.array(range(orders), pa.int64()), "o_custkey": buyers}),
        "lineitem": pa.table(
            {
                "l_orderkey": order,
                "l_linenumber": number.cast(pa.int32()),
                "l_partkey": part,
                "l_suppkey": supplier,
                "l_quantity": quantity.cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2)).cast(MONEY),
                "l_extendedprice": price.cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2)).cast(MONEY),
            }
        ),
    }
    return made


MONEY = pa.decimal128(15, 2)


def nation(number: int) -> str:
    return f"NATION {number:02}"


def fill(db: vk.Database, made: Shop) -> None:
    db.execute(DDL)
    for name, rows in made.tables.items():
        db.load(name, rows)


def _ints(values: object) -> pa.Array:
    return pa.array(values, pa.int32())
