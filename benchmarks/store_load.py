"""How close does a bulk load come to bare LMDB, and how much memory does a large one take?"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import viewkeeper as vk
from benchmarks.bare import Bare, encoded
from benchmarks.harness import Figure, alternate, note, rate, scratch, timed
from benchmarks.shop import DDL, items

ROWS = 200_000
BATCH = 10_000
LARGE = 5_000_000


def run() -> Iterator[Figure]:
    yield load_rate()
    yield load_memory()


def load_rate() -> Figure:
    with scratch() as folder, vk.open(folder / "db") as db:
        db.execute(DDL)
        bare = Bare(folder / "bare")
        db.load("Items", items(1 << 40, 1000))
        tables = [items(number * ROWS, ROWS) for number in range(5)]

        def ours(number: int) -> float:
            return ROWS / timed(lambda: db.load("Items", tables[number], batch_rows=BATCH))

        def theirs(number: int) -> float:
            ready = encoded(tables[number])
            parts = [ready[start : start + BATCH] for start in range(0, ROWS, BATCH)]
            return ROWS / timed(lambda: bare.write_all(parts))

        mine, reference = alternate(ours, theirs, 5)
        bare.close()
    return Figure(
        question=f"load of Arrow rows, 6 columns, {BATCH:,} a transaction, against bare LMDB doing the same",
        ours=rate(mine),
        reference=rate(reference),
        ratio=mine / reference,
        target="at least 0.40",
        met=mine / reference >= 0.40,
    )


def load_memory() -> Figure:
    """Resident memory of a process that loads 5 M rows, beyond the mapped file (which RssFile counts)."""
    note(f"loading {LARGE:,} rows in a process of its own")
    with scratch() as folder:
        script = [sys.executable, "-m", "benchmarks.store_load", str(folder / "db")]
        peak = int(subprocess.run(script, check=True, capture_output=True, text=True).stdout.split()[-1])
    return Figure(
        question=f"memory of a load of {LARGE:,} rows beyond the mapped file",
        ours=f"{peak / 1e6:,.0f} MB",
        reference="500 MB",
        ratio=peak / 500e6,
        target="at most 1.00",
        met=peak <= 500e6,
    )


def _anonymous() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def _load_and_measure(path: str) -> None:
    peak = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal peak
        for start in range(0, LARGE, 100_000):
            yield from items(start, 100_000).to_batches()
            peak = max(peak, _anonymous())

    with vk.open(path) as db:
        db.execute(DDL)
        schema = items(0, 1).schema
        db.load("Items", pa.RecordBatchReader.from_batches(schema, batches()))
        assert db.info().tables[0].rows == LARGE
    print(peak)


if __name__ == "__main__":
    _load_and_measure(sys.argv[1])
