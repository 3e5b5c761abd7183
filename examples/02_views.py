"""A view that stays true, in ten lines. Run it with `python examples/02_views.py`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import viewkeeper as vk


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, vk.open(Path(folder) / "shop") as db:
        db.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, shop STRING, cost DECIMAL(10,2))")
        db.execute(
            "CREATE MATERIALIZED VIEW sales AS SELECT shop, COUNT(*) AS n, SUM(cost) AS total FROM orders GROUP BY shop"
        )
        for number, (shop, cost) in enumerate([("north", 30), ("south", 20), ("north", 12)]):
            db.put("orders", {"id": number, "shop": shop, "cost": cost})
        db.maintain()
        print(db.get("sales", "north"))
        db.delete("orders", 0)
        db.maintain()
        print(db.get("sales", "north"), db.verify("sales").ok)


if __name__ == "__main__":
    main()
