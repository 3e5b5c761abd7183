"""The scenes of the demo about views: filled from what is there, following live writes, proven right."""

from __future__ import annotations

import random
import threading
import time
from time import perf_counter
from typing import Any

import viewkeeper as vk
from viewkeeper.cli.demo_stage import Stage

SALES = """
CREATE MATERIALIZED VIEW ByCategory AS
  SELECT Category, COUNT(*) AS items, SUM(Price) AS worth, MAX(Price) AS dearest
  FROM Items GROUP BY Category
"""
DEAREST = "CREATE INDEX ByPrice ON Items (Price DESC) INCLUDE (Name)"
LARGE = "CREATE MATERIALIZED VIEW Large AS SELECT Category, items FROM ByCategory WHERE items > 20000"
WRITE_SECONDS = 6.0
WRITES_A_SECOND = 300


def fill(stage: Stage, db: vk.Database) -> None:
    """Views over the items, filled on Spark."""
    stage.scene("Views in SQL: an aggregate, an index, a view on a view")
    for statement in (SALES, DEAREST, LARGE):
        stage.code(statement)
        db.execute(statement)
    stage.say("   They are large enough for Spark, which is started now; a small one would be there already.")
    started = perf_counter()
    report = db.maintain()
    stage.code("db.maintain()")
    stage.say(f"   filled {', '.join(report.filled)} in {perf_counter() - started:.1f} s, the start of Spark included")
    stage.rows(list(db.scan("ByCategory")))
    stage.code('db.scan("ByPrice", limit=3)')
    stage.rows(list(db.scan("ByPrice", limit=3)))


def follow(stage: Stage, db: vk.Database) -> None:
    """Writes go on, a maintainer follows; the lag is shown each second."""
    stage.scene(f"Views follow live writes: {WRITES_A_SECOND} a second for {WRITE_SECONDS:.0f} seconds")
    stage.code("with db.start_maintenance(): …")
    with db.start_maintenance():
        # The first batch of a stream takes longer than those behind it.
        first = db.put("Items", {"ItemID": 1, "Price": 5})
        db.get("ByCategory", "lamp", consistency=vk.at_least(first))
        over = threading.Event()
        writer = threading.Thread(target=_write, args=(db, over))
        writer.start()
        began = perf_counter()
        lines: list[dict[str, Any]] = []
        while perf_counter() - began < WRITE_SECONDS:
            time.sleep(1.0)
            lines.append(_line(db, perf_counter() - began))
        over.set()
        writer.join()
        head = db.head()
        waited = perf_counter()
        last = db.get("ByCategory", "lamp", consistency=vk.at_least(head))
        seconds = perf_counter() - waited
    stage.rows(lines)
    stage.code('db.get("ByCategory", "lamp", consistency=vk.at_least(position of the last write))')
    stage.say(f"   waited {seconds * 1000:.0f} ms for {last}")


def _write(db: vk.Database, over: threading.Event) -> None:
    draw = random.Random(3)
    while not over.wait(1 / WRITES_A_SECOND):
        number = draw.randrange(1, 100_000)
        if draw.random() < 0.15:
            db.delete("Items", number)
        else:
            category = draw.choice(("book", "chair", "desk", "lamp", "shelf"))
            price = draw.randrange(100, 50_000) / 100
            db.put("Items", {"ItemID": number, "Name": f"{category} {number}", "Category": category, "Price": price})


def _line(db: vk.Database, seconds: float) -> dict[str, Any]:
    statuses = {status.view: status for status in db.status()}
    line: dict[str, Any] = {"second": f"{seconds:.0f}", "head": str(db.head()).partition("@")[2]}
    for name in ("ByCategory", "ByPrice", "Large"):
        status = statuses[name]
        line[f"{name} lags by"] = f"{status.lag_changes} changes, {status.lag_ms:.0f} ms"
    return line


def prove(stage: Stage, db: vk.Database) -> bool:
    """Compares a view with its definition; whether it was right."""
    stage.scene("Prove a view right: computed anew as of its watermark, and compared both ways")
    db.maintain()
    good = True
    for name in ("ByCategory", "ByPrice", "Large"):
        report = db.verify(name)
        good = good and report.ok
        stage.say(f"   {report}")
    return good
