"""Both engines, one view: whatever is computed in bulk on Spark is what the row executor gives, batch by batch."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from viewkeeper.pipeline.maintainer import Maintainer
from viewkeeper.pipeline.session import SparkSource

TABLE = "CREATE TABLE Events (ID BIGINT PRIMARY KEY, At TIMESTAMP, Shop STRING, Kind INT, Cost DECIMAL(10,2), W DOUBLE)"
VIEWS = {
    "sums": "SELECT Shop, COUNT(*) AS n, COUNT(Cost) AS c, SUM(Cost) AS s, AVG(Cost) AS a FROM Events GROUP BY Shop",
    "spread": "SELECT Kind, VARIANCE(Cost) AS v, STDDEV(Kind) AS d FROM Events GROUP BY Kind",
    "ends": "SELECT Shop, MIN(Cost) AS l, MAX(Cost) AS m, COUNT(DISTINCT Kind) AS k FROM Events GROUP BY Shop",
    "doubles": "SELECT Kind, SUM(W) AS w FROM Events GROUP BY Kind",
    "chosen": "SELECT ID, Shop, Cost * 2 AS twice FROM Events WHERE Kind > 2",
    "kinds": "SELECT DISTINCT Shop, Kind FROM Events",
    "cube": "SELECT Shop, Kind, COUNT(*) AS n, GROUPING_ID(Shop, Kind) AS g FROM Events GROUP BY CUBE (Shop, Kind)",
    "often": "SELECT Shop, COUNT(*) AS n FROM Events GROUP BY Shop HAVING COUNT(*) > 20",
    "windows": (
        "SELECT WINDOW(At, '1 minute', '30 seconds') AS w, COUNT(*) AS n FROM Events"
        " GROUP BY WINDOW(At, '1 minute', '30 seconds')"
    ),
    "failing": "SELECT ID, 100 DIV Kind AS part FROM Events",
    "whole": "SELECT COUNT(*) AS n, SUM(Cost) AS s FROM Events",
    "above": "SELECT n, COUNT(*) AS shops FROM sums GROUP BY n",
}
INDEX = "CREATE INDEX dear ON Events (Cost DESC, Shop) INCLUDE (Kind)"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute(TABLE)
        yield opened


def make(db: vk.Database) -> None:
    for name, query in VIEWS.items():
        db.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    db.execute(INDEX)


def write(db: vk.Database, draw: random.Random, count: int) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with db.transaction() as tx:
        for _ in range(count):
            number = draw.randrange(200)
            if draw.random() < 0.25:
                tx.delete("Events", number)
                continue
            tx.put(
                "Events",
                {
                    "ID": number,
                    "At": start + timedelta(seconds=draw.randrange(600)),
                    "Shop": draw.choice(["north", "south", "east", None]),
                    "Kind": draw.choice([None, 0, 1, 2, 3, 4]),
                    "Cost": draw.choice([None, Decimal(draw.randrange(-5000, 5000)) / 100]),
                    "W": draw.choice([None, 0.0, -0.0, 1.5, 2.25, float("nan"), float("inf")]),
                },
            )


def bag(db: vk.Database, view: str) -> Counter[str]:
    return Counter(repr(tuple(map(_rounded, row.values()))) for row in db.scan(view))


def _rounded(cell: Any) -> Any:
    return float(f"{cell:.9g}") + 0.0 if isinstance(cell, float) else cell


def contents(db: vk.Database) -> dict[str, Any]:
    return {name: bag(db, name) for name in (*VIEWS, "dear")}


@pytest.mark.parametrize("filled_first", [True, False])
def test_spark_and_rows_give_the_same_views_after_every_batch(
    tmp_path: Path, spark: SparkSession, filled_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = []
    for engine in ("rows", "spark"):
        db = vk.open(tmp_path / engine, durability="os")
        db.execute(TABLE)
        sides.append(db)
    by_rows, on_spark = sides
    source = SparkSource(spark)
    bulk = Maintainer(on_spark._shared, source, small_work=0)
    if not filled_first:
        # Nothing is small: also the first fills run on Spark.
        monkeypatch.setattr("viewkeeper.write.views.SMALL", -1)
        monkeypatch.setattr("viewkeeper.pipeline.backfill.SMALL", -1)
    for number, db in enumerate(sides):
        draw = random.Random(5)
        if filled_first:
            make(db)
        for _ in range(3):
            write(db, draw, 120)
        if not filled_first:
            if number == 0:
                monkeypatch.setattr("viewkeeper.write.views.SMALL", 50_000)
            make(db)
            monkeypatch.setattr("viewkeeper.write.views.SMALL", -1)
    draws = [random.Random(9), random.Random(9)]
    for _ in range(2):
        by_rows.maintain()
        done = bulk.round()
        while done.left:
            done = bulk.round()
        assert not done.failed
        assert contents(by_rows) == contents(on_spark)
        states = [{status.view: (status.rows, status.errors) for status in db.status()} for db in sides]
        assert states[0] == states[1]
        for db, draw in zip(sides, draws, strict=True):
            write(db, draw, 150)
    assert all(on_spark.verify(name).ok for name in (*VIEWS, "dear"))
    for db in sides:
        db.close()


def test_a_task_that_fails_is_run_again_and_counts_once(db: vk.Database, spark: SparkSession) -> None:
    """Tasks are stateless, so Spark may repeat them; here the whole job is repeated, as for a lost stage."""
    db.execute(f"CREATE MATERIALIZED VIEW sums AS {VIEWS['sums']}")
    write(db, random.Random(1), 100)
    from viewkeeper.errors import BatchFailed
    from viewkeeper.pipeline import bulk

    failures = iter([True])
    really = bulk.log_frame

    def log_frame(*args: Any, **given: Any) -> Any:
        frame = really(*args, **given)
        if next(failures, False):
            from pyspark.sql import functions as sf

            return frame.withColumn("_w", sf.raise_error(sf.lit("a task died")).cast("bigint"))
        return frame

    bulk.log_frame = log_frame  # type: ignore[assignment]
    try:
        maintainer = Maintainer(db._shared, SparkSource(spark), small_work=0)
        done = maintainer.round()
        assert list(done.failed) == ["sums"]
        assert "a task died" in done.failed["sums"]
        (status,) = db.status()
        assert status.state == "failing"
        assert status.lag_changes > 0
        db._shared.view_tables.note(db.views()[0].id, retry_at=0)
        done = maintainer.round()
        assert done.engine == "spark"
        assert not done.failed
    finally:
        bulk.log_frame = really  # type: ignore[assignment]
    assert issubclass(BatchFailed, vk.MaintenanceError)
    assert db.status()[0].state == "live"
    assert db.verify("sums").ok


def test_views_of_two_databases_that_have_the_same_id_are_told_apart(tmp_path: Path, spark: SparkSession) -> None:
    source = SparkSource(spark)
    shown = {}
    for name, query in (("one", "SELECT COUNT(*) AS n FROM Events"), ("two", "SELECT MAX(ID) AS n FROM Events")):
        with vk.open(tmp_path / name, durability="os") as db:
            db.execute(TABLE)
            db.execute(f"CREATE MATERIALIZED VIEW v AS {query}")
            for number in (3, 5):
                db.put("Events", {"ID": number})
            assert db.views()[0].id == 2
            Maintainer(db._shared, source, small_work=0).round()
            shown[name] = db.get("v")
    assert shown == {"one": {"n": 2}, "two": {"n": 5}}
