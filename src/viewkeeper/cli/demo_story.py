"""The scenes of the demo, in order. Everything they do goes through the public API."""

from __future__ import annotations

import random
import tempfile
import threading
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from time import perf_counter
from typing import Any

import viewkeeper as vk
from viewkeeper.cli.demo_crash import kill_a_writer
from viewkeeper.cli.demo_stage import Stage, microseconds
from viewkeeper.cli.demo_views import fill, follow, prove

ITEMS = 100_000
BAD = 17
CATEGORIES = ("book", "chair", "desk", "lamp", "shelf")

ITEMS_SQL = """
CREATE TABLE Items (
  ItemID BIGINT PRIMARY KEY, Name STRING, Category STRING,
  Price DECIMAL(10,2), SellerID BIGINT
) PARTITIONED BY HASH (ItemID) INTO 8
"""
TAGS_SQL = """
CREATE TABLE Tags (
  docId BIGINT, tag STRING, timestamp TIMESTAMP TEMPORAL,
  PRIMARY KEY (docId, tag)
) WITH CARDINALITY (tag, 10)
"""


def tell(stage: Stage, path: Path) -> bool:
    """Tells the whole story with a new database at `path`; whether it ended well."""
    began = perf_counter()
    with vk.open(path) as db:
        _tables(stage, db, path)
        _load(stage, db)
        _reads(stage, db)
        _conflict(stage, db)
        _cardinality(stage, db)
        _past(stage, db)
        fill(stage, db)
        follow(stage, db)
        proven = prove(stage, db)
    ended_well = kill_a_writer(stage, path) and proven
    stage.say(f"\nAll of this took {perf_counter() - began:.1f} s.")
    return ended_well


def _tables(stage: Stage, db: vk.Database, path: Path) -> None:
    stage.scene("A database is a folder, and tables are made in SQL")
    stage.say(f"   {path}")
    stage.say('   durability "sync": a write returns when it is on the disk')
    for statement in (ITEMS_SQL, TAGS_SQL):
        stage.code(statement)
        db.execute(statement)


def _write_csv(path: Path) -> None:
    """Generated items, one of them with a price that is none."""
    draw = random.Random(7)
    with path.open("w", encoding="utf-8") as file:
        file.write("ItemID,Name,Category,Price,SellerID\n")
        for number in range(1, ITEMS + 1):
            category = draw.choice(CATEGORIES)
            price = "n/a" if number == BAD else f"{draw.randrange(100, 50_000) / 100:.2f}"
            file.write(f"{number},{category} {number},{category},{price},{draw.randrange(1, 500)}\n")


def _load(stage: Stage, db: vk.Database) -> None:
    stage.scene(f"Load {ITEMS:,} rows from a CSV file")
    with tempfile.TemporaryDirectory(prefix="viewkeeper-demo-") as folder:
        file, bad = Path(folder) / "items.csv", Path(folder) / "bad.jsonl"
        _write_csv(file)
        stage.code('db.load("Items", "items.csv")')
        try:
            db.load("Items", file)
        except vk.BadRow as error:
            stage.refusal(vk.BadRow(error.message.replace(str(file), file.name), detail=error.detail, hint=error.hint))
        stage.code('db.load("Items", "items.csv", skip_bad="bad.jsonl")')
        start = perf_counter()
        position = db.load("Items", file, skip_bad=bad)
        seconds = perf_counter() - start
        left_out = len(bad.read_text(encoding="utf-8").splitlines())
    rows = ITEMS - left_out
    stage.say(f"   {rows:,} rows in {seconds:.2f} s, {rows / seconds:,.0f} rows/s; {left_out} bad row left out.")
    stage.say(f"   The log stands at position {position}.")


def _reads(stage: Stage, db: vk.Database) -> None:
    stage.scene("Read by key and by range")
    draw = random.Random(11)
    keys = iter([draw.randrange(1, ITEMS) for _ in range(2000)])
    one = microseconds(lambda: db.get("Items", next(keys)), 2000)
    ranges = iter([draw.randrange(1, ITEMS - 100) for _ in range(500)])
    many = microseconds(lambda: db.scan("Items", lower=next(ranges), limit=20).all(), 500)
    select = "SELECT ItemID, Name, Price FROM Items WHERE ItemID >= :a LIMIT 3"
    stage.code(select)
    stage.rows(db.query(select, a=42).all())
    stage.say(f"   get: {one:.1f} µs, scan of 20 rows: {many:.1f} µs (medians, on this machine, just now)")


def _conflict(stage: Stage, db: vk.Database) -> None:
    stage.scene("Two threads, one row: the slower one is told, and tries again")
    both_read = threading.Barrier(2)
    lines: list[str] = []

    def raise_price(name: str, amount: int) -> None:
        for attempt in (1, 2):
            try:
                with db.transaction() as tx:
                    row = tx.get("Items", 42)
                    assert row is not None
                    if attempt == 1:
                        both_read.wait(timeout=10)
                    tx.put("Items", {"ItemID": 42, "Price": row["Price"] + amount})
                lines.append(f"   {name}: {row['Price']} + {amount} committed, attempt {attempt}")
                return
            except vk.Conflict as error:
                lines.append(f"   {name}: error[{error.code}]")
                lines.append(f"     {error.message}")

    before = _price(db)
    threads = [threading.Thread(target=raise_price, args=given) for given in (("thread A", 1), ("thread B", 10))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for line in lines:
        stage.say(line)
    stage.say(f"   {before} has become {_price(db)}: no update was lost.")


def _price(db: vk.Database) -> Decimal:
    row = db.get("Items", 42)
    assert row is not None
    price: Decimal = row["Price"]
    return price


def _cardinality(stage: Stage, db: vk.Database) -> None:
    stage.scene("A limit that is kept: at most 10 tags for a document")
    now = datetime.now(UTC)
    for number in range(10):
        db.put("Tags", {"docId": 42, "tag": f"tag{number}", "timestamp": now})
    stage.code('db.put("Tags", {"docId": 42, "tag": "one too many"})')
    try:
        db.put("Tags", {"docId": 42, "tag": "one too many"})
    except vk.CardinalityExceeded as error:
        stage.refusal(error)


def _past(stage: Stage, db: vk.Database) -> None:
    stage.scene("Read the past, and follow what happened since")
    then = db.head()
    db.put("Items", {"ItemID": 7, "Price": Decimal("1.00")})
    db.delete("Items", 42)
    with db.snapshot(at=then) as past:
        old: list[dict[str, Any]] = [
            {
                "ItemID": key,
                f"price at {then}": (past.get("Items", key) or {}).get("Price"),
                "price now": (db.get("Items", key) or {"Price": "deleted"})["Price"],
            }
            for key in (7, 42)
        ]
    stage.rows(old)
    stage.code(f'db.changes("Items", since="{then}")')
    for change in db.changes("Items", since=then):
        what = "delete" if change.after is None else "update" if change.before else "insert"
        price = "" if change.after is None else f", price now {change.after['Price']}"
        stage.say(f"   {change.position}: {what} of {change.key}{price}")
