"""Tables, writes, transactions, reads of now and of the past, and the change feed.

The same steps as in the README, with a word on each. Run it with `python examples/01_tables.py`.
"""

from __future__ import annotations

import tempfile
from decimal import Decimal
from pathlib import Path

import viewkeeper as vk


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, vk.open(Path(folder) / "shop") as db:
        db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING, price DECIMAL(8,2))")

        # A write returns its position: the place in the log right behind it.
        monday = db.put("items", {"id": 1, "name": "lamp", "price": 30})

        # All or nothing. A put merges the columns it is given into the row that is there.
        with db.transaction() as tx:
            tx.put("items", {"id": 1, "price": 25})
            tx.insert("items", {"id": 2, "name": "desk", "price": Decimal("120.50")})

        # A transaction whose block fails leaves nothing behind.
        try:
            with db.transaction() as tx:
                tx.delete("items", 1)
                tx.insert("items", {"id": 2, "name": "another desk"})
        except vk.KeyExists as error:
            print("refused:", error.message)

        # By key, by range of keys, and in SQL with bound parameters.
        print("by key:", db.get("items", 2))
        print("by range:", [row["name"] for row in db.scan("items", lower=1, limit=10)])
        print("in SQL:", list(db.query("SELECT name, price FROM items WHERE id = :id", id=1)))

        # The table as it was on Monday: the price before, and no desk yet.
        with db.snapshot(at=monday) as past:
            print("on Monday:", list(past.scan("items")))

        # What happened since, in order, with the row before and the row after.
        for change in db.changes("items", since=monday):
            verb = "insert" if change.before is None else "delete" if change.after is None else "update"
            print("change:", verb, change.key, "->", change.after)


if __name__ == "__main__":
    main()
