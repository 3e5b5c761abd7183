"""A dashboard: totals by category, a star of five tables and a cube, kept while products move between categories.

Run it with `python examples/03_dashboard.py`.
"""

from __future__ import annotations

import random
import tempfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import viewkeeper as vk

TABLES = """
CREATE TABLE Categories (ID INT PRIMARY KEY, Name STRING, Parent INT);
CREATE TABLE Shops (ID INT PRIMARY KEY, Name STRING);
CREATE TABLE Address (
  ShopID INT PRIMARY KEY, Street STRING, City STRING, Province STRING, Code STRING, Country STRING
);
CREATE TABLE Products (
  ID INT PRIMARY KEY, ShopID INT, CatID INT, Name STRING, Description STRING, ClusterID INT
);
CREATE TABLE Events (
  ID BIGINT PRIMARY KEY, Timestamp TIMESTAMP TEMPORAL, ProdID INT, ShopID INT, Type STRING, Cost DECIMAL(10,2)
)
"""

VIEWS = """
CREATE MATERIALIZED VIEW CostByCategory AS
SELECT p.CatID, COUNT(*) AS n, SUM(e.Cost) AS total
FROM Events e JOIN Products p ON e.ProdID = p.ID
GROUP BY p.CatID;

CREATE MATERIALIZED VIEW Board KEY (country, shop, total DESC) AS
SELECT a.Country AS country, s.Name AS shop, c.Name AS category, COUNT(*) AS n, SUM(e.Cost) AS total
FROM Events e
JOIN Products p ON e.ProdID = p.ID
JOIN Categories c ON p.CatID = c.ID
JOIN Shops s ON e.ShopID = s.ID
JOIN Address a ON a.ShopID = s.ID
GROUP BY a.Country, s.Name, c.Name;

CREATE MATERIALIZED VIEW Cube AS
SELECT e.ShopID, p.CatID, e.Type, SUM(e.Cost) AS total, COUNT(*) AS n, GROUPING_ID() AS level
FROM Events e JOIN Products p ON e.ProdID = p.ID
GROUP BY CUBE (e.ShopID, p.CatID, e.Type)
"""

CATEGORIES = ["books", "films", "games", "music", "tools"]
COUNTRIES = ["Bulgaria", "Japan", "Netherlands"]
SHOPS, PRODUCTS, EVENTS = 8, 60, 1_500


def fill(db: vk.Database, chance: random.Random) -> None:
    db.load("Categories", [{"ID": i, "Name": name} for i, name in enumerate(CATEGORIES)])
    db.load("Shops", [{"ID": i, "Name": f"shop {i}"} for i in range(SHOPS)])
    db.load("Address", [{"ShopID": i, "City": f"city {i}", "Country": COUNTRIES[i % 3]} for i in range(SHOPS)])
    db.load(
        "Products",
        [
            {"ID": i, "ShopID": i % SHOPS, "CatID": i % len(CATEGORIES), "Name": f"product {i}", "ClusterID": i // 2}
            for i in range(PRODUCTS)
        ],
    )
    db.load("Events", [event(i, chance) for i in range(EVENTS)])


def event(number: int, chance: random.Random) -> dict[str, object]:
    product = chance.randrange(PRODUCTS)
    return {
        "ID": number,
        "Timestamp": datetime(2024, 5, 1, tzinfo=UTC) + timedelta(seconds=number),
        "ProdID": product,
        "ShopID": product % SHOPS,
        "Type": chance.choice(["view", "view", "view", "click"]),
        "Cost": Decimal(chance.randrange(1, 500)) / 100,
    }


def events_by_category(db: vk.Database) -> dict[int, int]:
    return {row["CatID"]: row["n"] for row in db.scan("CostByCategory")}


def main() -> None:
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as folder, vk.open(Path(folder) / "dashboard") as db:
        db.execute(TABLES)
        fill(db, chance)
        # The input is small, so each view is filled as soon as it is made.
        db.execute(VIEWS)
        print("cost by category:", {row["CatID"]: str(row["total"]) for row in db.scan("CostByCategory")})

        # A product that moves takes all of its events along: they are found by its ID, in a join index.
        print("events by category:", events_by_category(db))
        db.put("Products", {"ID": 0, "CatID": 4})
        db.maintain()
        print("product 0 goes from 0 to 4:", events_by_category(db))

        # Events come, change and go while products move; a transaction is in all views or in none.
        for number in range(EVENTS, EVENTS + 300):
            with db.transaction() as tx:
                tx.put("Events", event(number, chance))
                tx.delete("Events", chance.randrange(number))
                if number % 10 == 0:
                    tx.put("Products", {"ID": chance.randrange(PRODUCTS), "CatID": chance.randrange(len(CATEGORIES))})
        db.put("Shops", {"ID": 2, "Name": "Kinokuniya"})
        report = db.maintain()
        print(f"{report.changes} changes later, by categories at Kinokuniya:")
        for row in db.scan("Board", prefix=("Netherlands", "Kinokuniya"), limit=2):
            print(f"  {row['category']}: {row['n']} events, {row['total']}")

        # NULL stands for all values where the bit of its column is set in GROUPING_ID().
        [everything] = db.scan("Cube", prefix=(None, None, None, 0b111))
        [clicks] = db.scan("Cube", prefix=(None, None, "click", 0b110))
        print(f"of {everything['total']} in all, clicks are {clicks['total']}")

        for view in db.views():
            checked = db.verify(view.name)
            print(checked)
            assert checked.ok


if __name__ == "__main__":
    main()
