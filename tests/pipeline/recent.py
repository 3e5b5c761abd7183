"""Orders with their lines, the newest orders of a staging view, and what is joined to these."""

from __future__ import annotations

import random
from typing import Any

import viewkeeper as vk

TABLES = """
CREATE TABLE orders (o_id BIGINT, o_date BIGINT, o_c INT, o_x DOUBLE, PRIMARY KEY (o_id));
CREATE TABLE line (ol_o_id BIGINT, ol_id INT, ol_i_id BIGINT, ol_subject STRING, ol_qty INT,
  PRIMARY KEY (ol_o_id, ol_id));
CREATE TABLE item (i_id INT, i_title STRING, i_maker BIGINT, PRIMARY KEY (i_id));
CREATE TABLE heavy (x DOUBLE, n INT, PRIMARY KEY (x, n));
CREATE VIEW staging KEY (part, o_date DESC, o_id) AS
  SELECT HASH(o_id) INTO 3 AS part, o_date, o_id, o_c, o_x FROM orders;
CREATE VIEW by_item KEY (i DESC, o) AS SELECT ol_i_id AS i, ol_o_id AS o, ol_id, ol_qty FROM line;
"""
RECENT = "(SELECT o_date, o_id, o_c, o_x FROM staging ORDER BY o_date DESC LIMIT {count} OFFSET {offset}) AS w"
BEST_SELLERS = (
    f"SELECT ol_subject, ol_i_id, SUM(ol_qty) AS sold FROM {RECENT} JOIN line ON ol_o_id = o_id GROUP BY 1, 2"
)

LOOKED_UP = {
    "best sellers": (BEST_SELLERS, "line by (ol_o_id)"),
    "the window last": (
        f"SELECT o_id, o_date, ol_id FROM line JOIN {RECENT} ON o_id = ol_o_id",
        "line by (ol_o_id)",
    ),
    "a table twice": (
        f"""SELECT a.ol_i_id AS one, b.ol_i_id AS other, COUNT(*) AS n FROM {RECENT} JOIN line AS a ON a.ol_o_id = o_id
            JOIN line AS b ON b.ol_o_id = a.ol_o_id WHERE a.ol_i_id <> b.ol_i_id GROUP BY 1, 2""",
        "line by (ol_o_id), line by (ol_o_id)",
    ),
    "one after the other": (
        f"""SELECT o_id, v.ol_id, i_title, x.n AS n FROM {RECENT} JOIN line ON ol_o_id = o_id
            JOIN item ON i_id = ol_i_id JOIN by_item AS v ON v.i = i_maker JOIN heavy AS x ON x.x = o_x""",
        "line by (ol_o_id), item by (i_id), by_item by (i), heavy by (x)",
    ),
    "by a value that converts": (
        f"SELECT o_id, ol_id, i_title FROM {RECENT} JOIN line ON ol_o_id = o_c JOIN item ON i_id = ol_qty",
        "line by (ol_o_id), item by (i_id)",
    ),
    "with a constant": (
        f"SELECT o_id, ol_qty FROM {RECENT} JOIN line ON ol_o_id = o_id WHERE ol_id = 1",
        "line by (ol_o_id, ol_id)",
    ),
    "by two columns": (
        f"SELECT o_id, ol_qty FROM {RECENT} JOIN line ON ol_id = o_c AND ol_o_id = o_id",
        "line by (ol_o_id, ol_id)",
    ),
    "what is chosen and shown": (
        f"""SELECT o_id, b.q FROM {RECENT}
            JOIN (SELECT ol_id AS q, ol_o_id AS o FROM line WHERE ol_qty > 2) AS b ON b.o = o_id""",
        "line by (ol_o_id)",
    ),
    "a join": (
        f"""SELECT o_id, t.q, t.i_title FROM {RECENT} JOIN (SELECT DISTINCT ol_o_id AS o, ol_id AS q, i_title FROM line
            JOIN item ON i_id = ol_i_id) AS t ON t.o = o_id""",
        "line by (ol_o_id), item by (i_id)",
    ),
    "groups of the window": (
        f"""SELECT i_title, t.c, t.n FROM item
            JOIN (SELECT o_c AS c, COUNT(*) AS n FROM {RECENT} GROUP BY o_c) AS t ON i_id = t.c""",
        "item by (i_id)",
    ),
    "partners or none": (
        f"""SELECT o_id, ol_id, i_title, x.n AS n FROM {RECENT} LEFT JOIN line ON ol_o_id = o_id AND ol_qty > 1
            LEFT JOIN item ON i_id = ol_i_id LEFT JOIN heavy AS x ON x.x = o_x""",
        "line by (ol_o_id), item by (i_id), heavy by (x)",
    ),
    "some partner": (
        f"SELECT o_id, o_c FROM {RECENT} WHERE EXISTS (SELECT 1 FROM line WHERE ol_o_id = o_id AND ol_qty > 2)",
        "line by (ol_o_id)",
    ),
    "no partner": (
        f"SELECT o_id, o_c FROM {RECENT} WHERE NOT EXISTS (SELECT 1 FROM line WHERE ol_o_id = o_id AND ol_qty > 2)",
        "line by (ol_o_id)",
    ),
    "those that the window has": (
        f"SELECT i_id, i_title FROM item WHERE i_id IN (SELECT o_c FROM {RECENT})",
        "item by (i_id)",
    ),
    "two windows": (
        f"""SELECT w.o_id, t.o_id AS o, ol_id FROM {RECENT} JOIN line ON ol_o_id = w.o_id
            JOIN (SELECT o_date, o_id FROM staging ORDER BY o_date, o_id DESC LIMIT 30) AS t ON t.o_id = ol_i_id""",
        "line by (ol_o_id)",
    ),
}
"""What is looked up by the rows of a window, and by what."""

READ_WHOLE = {
    "not the first columns": f"SELECT o_id, ol_id, ol_o_id FROM {RECENT} JOIN line ON ol_i_id = o_c",
    "only a constant": f"SELECT o_id, ol_id, ol_o_id FROM {RECENT} JOIN line ON ol_i_id = o_c WHERE ol_o_id = 3",
    "what fails on rows": f"""SELECT o_id, b.ol_id, b.q FROM {RECENT}
        JOIN (SELECT ol_o_id, ol_id, 100 / (ol_qty - 3) AS q FROM line) AS b ON ol_o_id = o_id""",
    "a condition that fails": f"""SELECT o_id, b.ol_id FROM {RECENT}
        JOIN (SELECT ol_o_id, ol_id FROM line WHERE 100 / (ol_qty - 3) > 1) AS b ON ol_o_id = o_id""",
    "every row of the other side": f"SELECT o_id, ol_id, ol_o_id FROM {RECENT} FULL JOIN line ON ol_o_id = o_id",
    "left of no partner": f"""SELECT ol_o_id, ol_id FROM line
        WHERE NOT EXISTS (SELECT 1 FROM {RECENT} WHERE o_id = ol_o_id)""",
    "left of a partner": f"SELECT ol_o_id, ol_id, o_date FROM line LEFT JOIN {RECENT} ON o_id = ol_o_id",
    "first rows of the other side": f"""SELECT o_id, b.ol_id FROM {RECENT}
        JOIN (SELECT ol_o_id, ol_id FROM line ORDER BY ol_qty, ol_o_id LIMIT 20) AS b ON ol_o_id = o_id""",
    "a place among all rows": f"""SELECT o_id, b.ol_id, b.r FROM {RECENT} JOIN (SELECT ol_o_id, ol_id,
        RANK() OVER (PARTITION BY ol_subject ORDER BY ol_qty) AS r FROM line) AS b ON ol_o_id = o_id""",
    "a window of all rows": """SELECT w.o_id, ol_id FROM (SELECT o_id, o_c FROM staging ORDER BY o_c LIMIT {count}
        OFFSET {offset}) AS w JOIN line ON ol_o_id = w.o_id""",
}
"""Joins with a window of which `line` is read whole all the same."""


def text_of(query: str, count: int, offset: int = 0) -> str:
    return query.format(count=count, offset=offset)


def make(db: vk.Database) -> None:
    for statement in TABLES.strip().split(";\n"):
        db.execute(statement.rstrip(";\n"))


def some_orders(chance: random.Random, ids: range, *, dates: range) -> dict[str, list[dict[str, Any]]]:
    """Rows of all tables for these orders, by table: some without lines, but not 3, many of one date, some of none."""
    doubles = [None, 0.0, -0.0, 1.5, float("nan"), float("inf")]
    orders = [
        {
            "o_id": number,
            "o_date": None if chance.random() < 0.05 else chance.choice(dates),
            "o_c": chance.choice([None, *range(8)]),
            "o_x": chance.choice(doubles),
        }
        for number in ids
    ]
    lines = [
        {
            "ol_o_id": number,
            "ol_id": place,
            "ol_i_id": place if number == 3 else chance.choice([None, 1 << 40, *range(12)]),
            "ol_subject": chance.choice(["art", "law", None]),
            "ol_qty": chance.choice([None, 1, 2, 3, 4]),
        }
        for number in ids
        for place in range(4 if number == 3 else chance.choice([0, 1, 2, 4]))
    ]
    items = [
        {"i_id": number, "i_title": f"t{number}", "i_maker": chance.choice([None, *range(12)])} for number in range(9)
    ]
    heavy = [{"x": x, "n": n} for x in doubles[1:] if x is not None for n in range(chance.randrange(1, 3))]
    return {"orders": orders, "line": lines, "item": items, "heavy": heavy}


def load(db: vk.Database, tables: dict[str, list[dict[str, Any]]]) -> None:
    for name, rows in tables.items():
        db.load(name, rows)
    db.maintain(views=["staging", "by_item"])
