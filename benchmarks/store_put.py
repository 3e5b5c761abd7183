"""What does a durable write cost, alone, from eight threads, and beside a large write into the views environment?"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import viewkeeper as vk
from benchmarks.bare import Bare, encoded
from benchmarks.harness import Figure, latencies, median, micros, note, percentile, rate, scratch, timed
from benchmarks.shop import DDL, item, items

COUNT = 400
MANY = 1000
ROUNDS = 7


def run() -> Iterator[Figure]:
    yield one_put()
    yield eight_threads()
    yield from beside_views()


def one_put() -> Figure:
    with scratch() as folder, vk.open(folder / "db") as db:
        db.execute(DDL)
        bare = Bare(folder / "bare")
        ready = encoded(items(0, COUNT * ROUNDS))
        rows = [item(number) for number in range(COUNT * ROUNDS)]
        db.put("Items", item(1 << 40))
        ours: list[float] = []
        theirs: list[float] = []
        for round in range(ROUNDS):
            start = round * COUNT
            theirs += latencies(partial(_bare_put, bare, ready[start : start + COUNT]), COUNT)
            ours += latencies(partial(_put, db, rows[start : start + COUNT]), COUNT)
        bare.close()
    mine, reference = median(ours), median(theirs)
    return Figure(
        question="one durable put, against an LMDB transaction with the same two puts and fsync (median)",
        ours=micros(mine),
        reference=micros(reference),
        ratio=mine / reference,
        target="at most 1.25",
        met=mine / reference <= 1.25,
    )


def eight_threads() -> Figure:
    with scratch() as folder, vk.open(folder / "db") as db:
        db.execute(DDL)
        db.put("Items", item(1 << 40))
        alone: list[float] = []
        together: list[float] = []
        for round in range(ROUNDS):
            rows = [item(number) for number in range(round * 1_000_000, round * 1_000_000 + 9 * MANY)]
            alone.append(MANY / timed(partial(_puts, db, rows[:MANY])))
            together.append(8 * MANY / timed(partial(_threads, db, rows[MANY:])))
    mine, reference = median(together), median(alone)
    return Figure(
        question="durable puts from 8 threads, against one thread",
        ours=rate(mine),
        reference=rate(reference),
        ratio=mine / reference,
        target="at least 4.00",
        met=mine / reference >= 4,
    )


def _bare_put(bare: Bare, ready: list[tuple[bytes, bytes]], number: int) -> None:
    bare.write([ready[number]])


def _put(db: vk.Database, rows: list[dict[str, Any]], number: int) -> None:
    db.put("Items", rows[number])


def _puts(db: vk.Database, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        db.put("Items", row)


def _threads(db: vk.Database, rows: list[dict[str, Any]]) -> None:
    """Deal the rows out to eight threads: they write what one would, in about the same order."""
    threads = [threading.Thread(target=_puts, args=(db, rows[first::8])) for first in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def beside_views() -> Iterator[Figure]:
    """Puts while another process writes 1 M rows into the views environment in one transaction."""
    with scratch() as folder, vk.open(folder / "db") as db:
        db.execute(DDL)
        _puts(db, [item(number) for number in range(100)])
        idle = latencies(lambda number: db.put("Items", item(1000 + number)), COUNT * 2)
        note("writing 1 M rows into the views environment from another process")
        script = [sys.executable, "-m", "benchmarks.store_put", str(folder / "db")]
        with subprocess.Popen(script, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            busy: list[float] = []
            number = 10_000
            while writer.poll() is None:
                busy += latencies(partial(_put, db, [item(number + more) for more in range(10)]), 10)
                number += 10
    yield Figure(
        question="durable put while another process writes 1 M rows into the views environment, against idle (median)",
        ours=micros(median(busy)),
        reference=micros(median(idle)),
        ratio=median(busy) / median(idle),
        target="at most 1.50",
        met=median(busy) / median(idle) <= 1.5,
    )
    worst = max(busy)
    yield Figure(
        question=f"the slowest of those {len(busy):,} puts (99th percentile {micros(percentile(busy, 0.99))})",
        ours=f"{worst * 1e3:,.1f} ms",
        reference="150 ms",
        ratio=worst / 0.150,
        target="at most 1.00",
        met=worst <= 0.150,
    )


def _write_views(path: str) -> None:
    from viewkeeper.store.registry import close_store, open_store

    store = open_store(Path(path))
    value = b"v" * 60
    print("ready", flush=True)
    with store.naming, store.views.begin(write=True) as txn:
        db = store.views.database(b"bench", txn)
        for number in range(1_000_000):
            txn.put(b"%016d" % (number * 7919 % 1_000_003), value, db=db)
    close_store(store)


if __name__ == "__main__":
    _write_views(sys.argv[1])
