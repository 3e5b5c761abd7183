"""Items and their reviews, side by side in a join index, and joined in views.

A JOIN INDEX joins nothing when a row changes: each row has an entry of its own under the item's number, and a reader
finds an item and its reviews together. A view has the joined rows themselves, for those who read them often.

Views follow their tables when they are maintained. A user who has just written does not wait for that: a read says how
far it has to be, and what the view lacks is added to its answer. A session keeps such a position from one page to the
next, and so does a cookie.

Run it with `python examples/04_items_reviews.py`.
"""

from __future__ import annotations

import random
import tempfile
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import viewkeeper as vk

TABLES = """
CREATE TABLE Items (
  ItemID BIGINT PRIMARY KEY, Name STRING, Description STRING, Category STRING, Date DATE, Price DECIMAL(10,2),
  SellerID BIGINT
);
CREATE TABLE Reviews (
  ReviewID BIGINT PRIMARY KEY, ItemID BIGINT, Date DATE, Subject STRING, Rating INT, Text STRING, Reviewer STRING
)
"""

VIEWS = """
CREATE JOIN INDEX ItemsReviews ON Items (ItemID) INCLUDE (Name, Price), Reviews (ItemID) INCLUDE (Rating, Subject);

CREATE MATERIALIZED VIEW AverageRatings AS
SELECT ItemID, AVG(Rating) AS average, COUNT(Rating) AS ratings FROM Reviews GROUP BY ItemID;

CREATE MATERIALIZED VIEW BestRated KEY (average DESC) AS
SELECT r.average, r.ratings, i.Name FROM AverageRatings r JOIN Items i ON r.ItemID = i.ItemID WHERE r.ratings >= 3;

CREATE MATERIALIZED VIEW ReviewsOfItems KEY (ItemID, ReviewID) MAINTAIN DEFERRED AS
SELECT i.ItemID, r.ReviewID, i.Name, r.Rating, r.Subject FROM Items i JOIN Reviews r ON i.ItemID = r.ItemID;

CREATE MATERIALIZED VIEW WithoutReviews AS
SELECT i.ItemID, i.Name FROM Items i LEFT JOIN Reviews r ON i.ItemID = r.ItemID WHERE r.ReviewID IS NULL
"""

NAMES = ["lamp", "desk", "chair", "toaster", "kettle", "radio"]
REVIEWERS = ["Ann", "Bill", "Cleo", "Dan"]
ITEMS, REVIEWS = 40, 160


def fill(db: vk.Database, chance: random.Random) -> None:
    db.load(
        "Items",
        [
            {"ItemID": i, "Name": f"{NAMES[i % 6]} {i}", "Category": "home", "Price": Decimal(i + 5), "SellerID": i % 7}
            for i in range(ITEMS)
        ],
    )
    db.load(
        "Reviews",
        [
            {
                "ReviewID": i,
                "ItemID": chance.randrange(ITEMS),
                "Date": date(2024, 5, 1) + timedelta(days=i),
                "Subject": chance.choice(["fine", "broke", "as shown"]),
                "Rating": chance.randint(1, 5),
                "Reviewer": chance.choice(REVIEWERS),
            }
            for i in range(REVIEWS)
        ],
    )


def reads_own_write(db: vk.Database, item: int) -> None:
    """Cleo reviews an item and looks at its page; no maintainer runs."""
    written = db.put("Reviews", {"ReviewID": 902, "ItemID": item, "Rating": 3, "Subject": "so-so", "Reviewer": "Cleo"})
    page = db.scan("ReviewsOfItems", prefix=(item,))
    print("the view as it is:", [row["Subject"] for row in page], f"({page.meta.path})")
    page = db.scan("ReviewsOfItems", prefix=(item,), consistency=vk.at_least(written))
    subjects = [row["Subject"] for row in page]
    print("with her own review:", subjects, f"({page.meta.path}, {page.meta.folded_changes} change)")
    assert "so-so" in subjects
    assert page.meta.position.covers(written)


def loads_pages(path: Path, item: int) -> None:
    """Dan does the same in a session; his next page is loaded through another handle, which has only his cookie."""
    with vk.open(path) as db, db.session() as session:
        session.put("Reviews", {"ReviewID": 903, "ItemID": item, "Rating": 4, "Subject": "crisp", "Reviewer": "Dan"})
        page = session.scan("ReviewsOfItems", prefix=(item,))
        print("Dan's page:", [row["Subject"] for row in page], f"({page.meta.path})")
        cookie = str(session.position)
    print("his cookie:", cookie)
    with vk.open(path, read_only=True) as db, db.session(cookie) as session:
        page = session.scan("ReviewsOfItems", prefix=(item,))
        subjects = [row["Subject"] for row in page]
        print("his next page:", subjects, f"({page.meta.path}), rated", session.get("AverageRatings", item))
        assert "crisp" in subjects
        assert session.position.covers(vk.Position.parse(cookie))


def main() -> None:
    chance = random.Random(11)
    with tempfile.TemporaryDirectory() as folder, vk.open(path := Path(folder) / "shop") as db:
        db.execute(TABLES)
        fill(db, chance)
        db.execute(VIEWS)

        # A new item is in the join index before anyone reviews it: each side is kept, with or without a partner.
        toaster = 5543
        db.put("Items", {"ItemID": toaster, "Name": "toaster", "Price": 30})
        db.maintain()
        print("a new toaster, without reviews:", list(db.scan("WithoutReviews", prefix=(toaster,))))

        # Bill likes it; then it breaks, and he says so. Ann reviews a lamp, and finds that it was the toaster.
        db.put("Reviews", {"ReviewID": 900, "ItemID": toaster, "Rating": 5, "Subject": "toasts", "Reviewer": "Bill"})
        db.put("Reviews", {"ReviewID": 900, "Rating": 1, "Subject": "toasted itself"})
        db.put("Reviews", {"ReviewID": 901, "ItemID": 0, "Rating": 4, "Subject": "warm", "Reviewer": "Ann"})
        position = db.put("Reviews", {"ReviewID": 901, "ItemID": toaster})
        db.maintain()
        print("reviewed, so no longer there:", list(db.scan("WithoutReviews", prefix=(toaster,))))
        print("its rating:", db.get("AverageRatings", toaster, consistency=vk.at_least(position)))

        reads_own_write(db, toaster)
        loads_pages(path, toaster)
        db.maintain()

        # One scan has the rows of both tables, each tagged with the table that it is of.
        print("side by side:")
        for row in db.scan("ItemsReviews", prefix=(toaster,)):
            print("  ", {name: value for name, value in row.items() if value is not None})

        # A query by the join key joins them when it is read, from that one scan. An item may have any number of
        # reviews, so it has to say that it may read them all; with a CARDINALITY it would not have to.
        joined = db.query(
            "SELECT i.Name, r.Subject, r.Rating FROM Items i LEFT JOIN Reviews r ON i.ItemID = r.ItemID"
            " WHERE i.ItemID = :item",
            item=toaster,
            allow_scan=True,
        )
        print("joined when read:", list(joined), f"{joined.meta.operations} operation")

        # AverageRatings feeds BestRated, in the same batch.
        print("best rated:", [f"{row['Name']} {row['average']:.2f}" for row in db.scan("BestRated", limit=3)])
        db.execute("DELETE FROM Reviews WHERE ReviewID < 100")
        db.maintain()
        print("of the last reviews:", [row["Name"] for row in db.scan("BestRated", limit=3)])
        print("without any:", [row["Name"] for row in db.scan("WithoutReviews")])

        for view in db.views():
            checked = db.verify(view.name)
            print(checked)
            assert checked.ok


if __name__ == "__main__":
    main()
