"""What does a first fill cost, and what does a batch cost as the table grows?"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import viewkeeper as vk
from benchmarks.events import DDL, SUMS, events, mixed, write
from benchmarks.harness import Figure, median, note, rate, scratch, timed
from benchmarks.views_backlog import warm
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.spark import Viewkeeper

FILL_ROWS = 5_000_000
SIZES = (100_000, 1_000_000, 10_000_000)
CHUNK = 250_000
ROUNDS = 15
FILLS = 7
"""The first ones run before the JVM has compiled what they need."""


def run() -> Iterator[Figure]:
    spark = SparkSource(master="local[2]")
    try:
        warm(spark)
        yield from backfill(spark)
        yield from growth(spark)
    finally:
        spark.stop()


def _load(db: vk.Database, rows: int) -> None:
    db.execute(DDL)
    for start in range(0, rows, CHUNK):
        db.load("Events", events(start, min(CHUNK, rows - start)))


def _parquet(folder: Path, rows: int) -> str:
    from pyarrow import parquet

    folder.mkdir()
    for start in range(0, rows, CHUNK * 4):
        parquet.write_table(events(start, min(CHUNK * 4, rows - start)), folder / f"{start}.parquet")
    return str(folder)


def backfill(spark: SparkSource) -> Iterator[Figure]:
    with scratch() as folder, vk.open(folder / "db", durability="os") as db:
        _load(db, FILL_ROWS)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = []
        for _ in range(FILLS):
            db.execute(f"CREATE MATERIALIZED VIEW sums AS {SUMS}")
            found.append(timed(lambda: db.maintain(spark=spark)))
            db.execute("DROP VIEW sums")
        note(f"fills: {', '.join(f'{one:.1f} s' for one in found)}")
        seconds = median(found)
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        ready = _parquet(folder / "parquet", FILL_ROWS)
        session = spark.session()

        def on_parquet() -> object:
            return session.read.parquet(ready).groupBy("ProdID").agg({"*": "count", "Cost": "sum"}).toArrow()

        on_parquet()
        reference = min(timed(on_parquet) for _ in range(3))
        note(f"the driver grew by {grown:.0f} MB")
    yield Figure(
        question=f"first fill of COUNT and SUM over {FILL_ROWS:,} rows (median of {FILLS} in one session)",
        ours=rate(FILL_ROWS / seconds),
        reference="1,000,000/s",
        ratio=FILL_ROWS / seconds / 1e6,
        target="at least 1.00",
        met=FILL_ROWS / seconds >= 1e6,
    )
    yield Figure(
        question="the same, against Spark's own aggregation of ready-made Parquet (for comparison)",
        ours=f"{seconds:.2f} s",
        reference=f"{reference:.2f} s",
        ratio=seconds / reference,
        target="none",
        met=True,
    )


def growth(spark: SparkSource) -> Iterator[Figure]:
    """0.1 % of the largest table changed, at every size."""
    changes = SIZES[-1] // 1000
    with scratch() as folder, ExitStack() as opened:
        bases = {rows: opened.enter_context(vk.open(folder / f"db{rows}", durability="os")) for rows in SIZES}
        for rows, db in bases.items():
            _load(db, rows)
            db.execute(f"CREATE MATERIALIZED VIEW sums AS {SUMS}")
            db.maintain(spark=spark)
        found: dict[int, list[float]] = {rows: [] for rows in SIZES}
        for seed in range(ROUNDS):
            # In turns, so that a slow moment of the machine hits all of them.
            for rows, db in bases.items():
                write(db, mixed(changes, rows, 1000, seed))
                found[rows].append(timed(partial(db.maintain, spark=spark)))
        costs = {rows: median(seconds) for rows, seconds in found.items()}
        note(", ".join(f"{rows:,} rows: {seconds:.3f} s" for rows, seconds in costs.items()))
        largest = SIZES[-1]
        whole = _recompute(spark, folder / f"db{largest}")
        ready = _parquet(folder / "parquet", largest)
        parquet = min(
            timed(
                lambda: (
                    spark.session().read.parquet(ready).groupBy("ProdID").agg({"*": "count", "Cost": "sum"}).toArrow()
                )
            )
            for _ in range(3)
        )
    batch = costs[largest]
    yield Figure(
        question=f"{changes:,} of {largest:,} rows changed, against a recompute on Spark that reads the store",
        ours=f"{batch:.3f} s",
        reference=f"{whole:.2f} s",
        ratio=whole / batch,
        target="at least 20.00",
        met=whole / batch >= 20,
    )
    yield Figure(
        question="the same, against a recompute that reads a ready-made Parquet copy",
        ours=f"{batch:.3f} s",
        reference=f"{parquet:.2f} s",
        ratio=parquet / batch,
        target="above 1.00",
        met=parquet > batch,
    )
    flat = max(costs.values()) / min(costs.values())
    yield Figure(
        question=f"cost of that batch from {SIZES[0]:,} to {largest:,} rows, greatest against least",
        ours=f"{max(costs.values()):.3f} s",
        reference=f"{min(costs.values()):.3f} s",
        ratio=flat,
        target="at most 1.30",
        met=flat <= 1.3,
    )


def _recompute(spark: SparkSource, path: Path) -> float:
    session = spark.session()
    session.dataSource.register(Viewkeeper)
    reader = session.read.format("viewkeeper").option("path", str(path)).option("table", "Events")

    def work() -> object:
        return reader.load().select("ProdID", "Cost").groupBy("ProdID").agg({"*": "count", "Cost": "sum"}).toArrow()

    return min(timed(work) for _ in range(2))
