"""What does a read of a view cost, at each level of consistency: as it is, with what is pending, and after a write of
one's own?"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import viewkeeper as vk
from benchmarks.harness import Figure, latencies, median, micros, note, percentile, scratch, sized, timed
from benchmarks.plot import Table
from benchmarks.reads_fresh import pending
from benchmarks.reads_own import own_writes
from viewkeeper.pipeline.session import SparkSource

SIZES = tuple(
    sized(full, small) for full, small in ((10_000, 500), (100_000, 5_000), (1_000_000, 10_000), (10_000_000, 20_000))
)
PER_GROUP = 10
KEYS = 1_000
ROUNDS = sized(20, 3)
FLAT = 1.2
QUICK = 15e-6
DDL = "CREATE TABLE Events (ID BIGINT PRIMARY KEY, ProdID BIGINT, Cost DECIMAL(10,2))"
SUMS = "CREATE MATERIALIZED VIEW sums AS SELECT ProdID, COUNT(*) AS n, SUM(Cost) AS total FROM Events GROUP BY ProdID"
INDEX = "CREATE INDEX by_product ON Events (ProdID) INCLUDE (Cost)"


def run() -> Iterator[Figure | Table]:
    yield from sizes()
    yield from pending()
    yield from own_writes()


def sizes() -> Iterator[Figure | Table]:
    """Views of a tenth as many groups as there are rows, read in turns."""
    with scratch() as folder, ExitStack() as stack:
        bases = _filled(stack, folder)
        draw = random.Random(1)
        groups = {rows: max(1, rows // PER_GROUP) for rows in SIZES}
        keys = {rows: [draw.randrange(groups[rows]) for _ in range(KEYS)] for rows in SIZES}
        warm: dict[int, list[float]] = {rows: [] for rows in SIZES}
        spread: dict[int, list[float]] = {rows: [] for rows in SIZES}
        for rows, db in bases.items():
            latencies(partial(_get, db, keys[rows]), KEYS)
        for _ in range(ROUNDS):
            for rows, db in bases.items():
                warm[rows] += latencies(partial(_get, db, keys[rows]), KEYS)
        for _ in range(ROUNDS):
            for rows, db in bases.items():
                others = [draw.randrange(groups[rows]) for _ in range(KEYS)]
                spread[rows] += latencies(partial(_get, db, others), KEYS)
        again = {
            rows: _recompute(db, keys[rows][0], sized(3, 1) if rows <= 100_000 else 1) for rows, db in bases.items()
        }
        indexed = median(latencies(partial(_by_index, bases[SIZES[1]], keys[SIZES[1]]), KEYS))
    yield from _figures(warm, spread, again, indexed)


def _filled(stack: ExitStack, folder: Path) -> dict[int, vk.Database]:
    bases: dict[int, vk.Database] = {}
    spark = SparkSource(master="local[2]")
    try:
        for rows in SIZES:
            db = bases[rows] = stack.enter_context(vk.open(folder / f"db{rows}", durability="os"))
            db.execute(DDL)
            for part in _events(rows):
                db.load("Events", part)
            db.execute(SUMS)
            if rows == SIZES[1]:
                db.execute(INDEX)
            seconds = timed(partial(db.maintain, spark=spark))
            note(f"{rows:,} rows: view filled, {seconds:.1f} s")
    finally:
        spark.stop()
    return bases


def _events(rows: int) -> Iterator[pa.Table]:
    """The rows of a group lie far from each other, as those of one product do."""
    groups, slice = max(1, rows // PER_GROUP), 1_000_000
    for start in range(0, rows, slice):
        ids = pa.array(range(start, min(rows, start + slice)), pa.int64())
        cents = pc.add(pc.multiply(pc.bit_wise_and(ids, 8191), 7), 99)
        cost = pa.Array.from_buffers(pa.decimal128(10, 2), len(ids), cents.cast(pa.decimal128(19, 0)).buffers())
        product = pc.subtract(ids, pc.multiply(pc.divide(ids, groups), groups))
        yield pa.table({"ID": ids, "ProdID": product, "Cost": cost})


def _get(db: vk.Database, keys: list[int], number: int) -> object:
    return db.get("sums", keys[number], consistency="any")


def _by_index(db: vk.Database, keys: list[int], number: int) -> object:
    rows = db.scan("by_product", prefix=(keys[number],)).all()
    return len(rows), sum(row["Cost"] for row in rows)


def _recompute(db: vk.Database, key: int, times: int) -> float:
    """Seconds to count and add up a group by a scan of the table, checked against the view."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        costs = [row["Cost"] for row in db.scan("Events") if row["ProdID"] == key]
        answer = len(costs), sum(costs)
        found.append(time.perf_counter() - began)
        row = db.get("sums", key)
        assert row == {"ProdID": key, "n": answer[0], "total": answer[1]}, (row, answer)
    return median(found)


def _figures(
    warm: dict[int, list[float]], spread: dict[int, list[float]], again: dict[int, float], indexed: float
) -> Iterator[Figure | Table]:
    least, greatest = SIZES[0], SIZES[-1]
    slowest = max(median(seconds) for seconds in warm.values())
    yield Figure(
        question=f"get on an aggregate view at any, warm, the slowest of {least:,} to {greatest:,} base rows (median)",
        ours=micros(slowest),
        reference=micros(QUICK),
        ratio=slowest / QUICK,
        target="below 1.00",
        met=slowest < QUICK,
    )
    yield _against(f"the same, {greatest:,} base rows against {least:,}", warm[greatest], warm[least], FLAT)
    yield _against("the same, with keys drawn anew from all groups each time", spread[greatest], spread[least], None)
    for rows in SIZES:
        mine = median(warm[rows])
        yield Figure(
            question=f"that get, against adding up the group by a scan of {rows:,} rows",
            ours=micros(mine),
            reference=f"{again[rows] * 1e3:,.1f} ms",
            ratio=again[rows] / mine,
            target="above 1.00",
            met=again[rows] > mine,
        )
    yield _against(
        f"that get, against adding up the {PER_GROUP} rows of the group by an index, {SIZES[1]:,} rows",
        warm[SIZES[1]],
        [indexed],
        None,
    )
    rows_of = [("base rows", "groups", "get at any, median", "99 %", "keys drawn anew, median", "recompute by a scan")]
    for rows in SIZES:
        one, other = warm[rows], spread[rows]
        rows_of.append(
            (
                f"{rows:,}",
                f"{max(1, rows // PER_GROUP):,}",
                micros(median(one)),
                micros(percentile(one, 0.99)),
                micros(median(other)),
                f"{again[rows] * 1e3:,.1f} ms",
            )
        )
    yield Table(text="A get as the table grows:", rows=tuple(rows_of))


def _against(question: str, ours: list[float], reference: list[float], most: float | None) -> Figure:
    ratio = median(ours) / median(reference)
    return Figure(
        question=f"{question} (median)",
        ours=micros(median(ours)),
        reference=micros(median(reference)),
        ratio=ratio,
        target="none" if most is None else f"at most {most:.2f}",
        met=most is None or ratio <= most,
    )
