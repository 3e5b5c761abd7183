"""A view defined in Python instead of SQL; it is the same view. Run it with `python examples/07_in_python.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import viewkeeper as vk

PRODUCTS = [(1, "lamp", 10), (2, "desk", 10), (3, "novel", 20)]
EVENTS = [(1, 1, "view", 3), (2, 1, "click", 20), (3, 2, "view", 4), (4, 3, "view", 1), (5, 3, "click", 25)]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, vk.open(Path(folder) / "dashboard") as db:
        db.execute("CREATE TABLE Products (ID INT PRIMARY KEY, Name STRING, CatID INT)")
        db.execute("CREATE TABLE Events (ID BIGINT PRIMARY KEY, ProdID INT, Type STRING, Cost DECIMAL(10,2))")
        db.load("Products", [dict(zip(["ID", "Name", "CatID"], row, strict=True)) for row in PRODUCTS])
        db.load("Events", [dict(zip(["ID", "ProdID", "Type", "Cost"], row, strict=True)) for row in EVENTS])

        # Each step gives a new definition and leaves the one before as it was, so beginnings can be shared.
        joined = vk.table("Events").join("Products", on={"ProdID": "ID"})
        by_category = joined.group_by("CatID").agg(n="COUNT(*)", total="SUM(Cost)")
        clicks = joined.where("Type = 'click'").group_by("CatID", "Name").agg(total="SUM(Cost)")
        print(by_category.sql(), end="\n\n")

        # What is created is the statement that is given back.
        print(db.create_view("CostByCategory", by_category, key=["CatID"]), end="\n\n")
        db.create_view("Clicks", clicks, key=["total DESC"], maintain="DEFERRED")

        # A definition can be a source: products that nobody clicked, next to a total of their category.
        quiet = (
            vk.table("Products", alias="p")
            .join(clicks, on=["CatID", "Name"], how="anti", alias="c")
            .join("CostByCategory", on={"p.CatID": "CatID"}, alias="t")
            .select("p.ID", "p.Name", rest="t.total")
        )
        db.create_view("Quiet", quiet)
        print("quiet:", list(db.scan("Quiet")))

        db.put("Products", {"ID": 2, "CatID": 20})
        db.put("Events", {"ID": 6, "ProdID": 2, "Type": "click", "Cost": 60})
        db.maintain()
        print("quiet:", list(db.scan("Quiet")))
        print("clicks:", [(row["Name"], str(row["total"])) for row in db.scan("Clicks")])
        print("costs:", {row["CatID"]: str(row["total"]) for row in db.scan("CostByCategory")})

        for view in db.views():
            assert db.verify(view.name).ok


if __name__ == "__main__":
    main()
