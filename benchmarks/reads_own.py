"""Reads of one's own write through deferred views: at_least its position, and a page load in a session."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from functools import partial

import viewkeeper as vk
from benchmarks.harness import Figure, median, micros, percentile, scratch, sized, timed
from viewkeeper.read.consistency import Consistency

REVIEWS = sized(10_000, 1_000)
TIMES = sized(200, 10)
TABLES = """
CREATE TABLE Items (ItemID BIGINT PRIMARY KEY, Name STRING, Price DECIMAL(10,2));
CREATE TABLE Reviews (ReviewID BIGINT PRIMARY KEY, ItemID BIGINT, Subject STRING, Rating INT)
"""
JOINED = """
CREATE MATERIALIZED VIEW ItemReviews KEY (ItemID) AS
SELECT i.ItemID, i.Name, r.ReviewID, r.Subject, r.Rating FROM Reviews r JOIN Items i ON r.ItemID = i.ItemID;
CREATE MATERIALIZED VIEW Ratings AS
SELECT ItemID, COUNT(*) AS reviews, SUM(Rating) AS total FROM Reviews GROUP BY ItemID
"""
ITEMS = 1_000


def own_writes() -> Iterator[Figure]:
    with scratch() as folder, vk.open(folder / "db", durability="os") as db:
        _fill(db)
        draw = random.Random(6)
        own: list[float] = []
        as_it_is: list[float] = []
        page: list[float] = []
        page_as_it_is: list[float] = []
        for number in range(TIMES + 2):
            item = draw.randrange(ITEMS)
            position = db.put("Reviews", _review(1_000_000 + number, item, draw))
            as_it_is.append(timed(partial(_reviews, db, item, "any")))
            began = time.perf_counter()
            rows = _reviews(db, item, vk.at_least(position))
            own.append(time.perf_counter() - began)
            assert any(row["ReviewID"] == 1_000_000 + number for row in rows)
            cookie = _reviewed(db, 2_000_000 + number, item, draw)
            page_as_it_is.append(timed(partial(_page, db, item)))
            began = time.perf_counter()
            with db.session(cookie) as session:
                rows = _page(session, item)
            page.append(time.perf_counter() - began)
            assert any(row["ReviewID"] == 2_000_000 + number for row in rows)
    pairs = (
        ("one's own write in a deferred view of two tables, at_least against any", own, as_it_is),
        ("a page of three reads in a session behind a write, against the same at any", page, page_as_it_is),
    )
    for question, mine, reference in pairs:
        yield Figure(
            question=f"{question} (median; 95 % in {percentile(mine[2:], 0.95) * 1e3:.2f} ms)",
            ours=micros(median(mine[2:])),
            reference=micros(median(reference[2:])),
            ratio=median(mine[2:]) / median(reference[2:]),
            target="none",
            met=True,
        )


def _fill(db: vk.Database) -> None:
    draw = random.Random(7)
    db.execute(TABLES)
    db.load(
        "Items", [{"ItemID": number, "Name": f"item {number}", "Price": number % 90 + 5} for number in range(ITEMS)]
    )
    db.load("Reviews", [_review(number, draw.randrange(ITEMS), draw) for number in range(REVIEWS)])
    db.execute(JOINED)


def _review(number: int, item: int, draw: random.Random) -> dict[str, object]:
    return {"ReviewID": number, "ItemID": item, "Subject": "as shown", "Rating": draw.randint(1, 5)}


def _reviewed(db: vk.Database, number: int, item: int, draw: random.Random) -> str:
    """What a web application keeps in a cookie after the request that wrote."""
    with db.session() as session:
        session.put("Reviews", _review(number, item, draw))
        return str(session.position)


def _reviews(db: vk.Database, item: int, level: Consistency) -> list[dict[str, object]]:
    return db.scan("ItemReviews", prefix=(item,), consistency=level).all()


def _page(reader: vk.Database | vk.Session, item: int) -> list[dict[str, object]]:
    """The item, its rating, and its reviews."""
    reader.get("Items", item)
    reader.get("Ratings", item)
    return reader.scan("ItemReviews", prefix=(item,)).all()
