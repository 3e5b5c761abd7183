"""How stale is a view while writes come, and what do writers notice of its maintenance?"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import viewkeeper as vk
from benchmarks.events import DDL, SUMS, events, mixed, write
from benchmarks.harness import Figure, latencies, median, micros, note, percentile, scratch
from benchmarks.views_backlog import MANY, many

SECONDS = 40.0
PUTS = 1000
TURNS = 4


def run() -> Iterator[Figure]:
    yield from staleness()
    yield from writers()


@contextmanager
def maintainer(path: Path, cores: set[int] | None = None) -> Iterator[int]:
    """A maintainer in processes of its own, as it is deployed, on these cores; their process group."""
    command = [sys.executable, "-c", "from viewkeeper.cli import main; main()", "maintain", str(path), "--quiet"]
    kept = os.sched_getaffinity(0)
    if cores is not None:
        # What is started now inherits it, and all that it starts itself.
        os.sched_setaffinity(0, cores)
        command += ["--master", f"local[{len(cores)}]"]
    process = subprocess.Popen(command, start_new_session=True)
    os.sched_setaffinity(0, kept)
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


def _caught_up(db: vk.Database, seconds: float = 180.0) -> None:
    until = time.monotonic() + seconds
    while any(view.state != "live" or view.lag_changes for view in db.status()):
        if time.monotonic() > until:
            raise TimeoutError(f"views do not catch up: {db.status()}")
        time.sleep(0.05)


def staleness() -> Iterator[Figure]:
    with scratch() as folder, vk.open(folder / "db") as db, maintainer(folder / "db"):
        db.execute(DDL)
        db.load("Events", events(0, 20_000))
        db.execute(f"CREATE MATERIALIZED VIEW sums AS {SUMS}")
        write(db, mixed(5_000, 20_000, 1000))
        _caught_up(db)
        found = sorted(_offered(db))
    for share, limit in ((0.5, 0.300), (0.99, 0.700)):
        seen = percentile(found, share)
        yield Figure(
            question=f"1,000-change transactions at 5,000 changes/s, commit to visible, {share:.0%} of {len(found)}",
            ours=f"{seen * 1000:.0f} ms",
            reference=f"{limit * 1000:.0f} ms",
            ratio=seen / limit,
            target="at most 1.00",
            met=seen <= limit,
        )


def _offered(db: vk.Database) -> list[float]:
    """Seconds from each commit to the moment at which the view reflects it."""
    store = db._shared
    pending: list[tuple[int, float]] = []
    found: list[float] = []
    over = threading.Event()

    def watch() -> None:
        while not over.is_set() or pending:
            reached = min(state.watermark for state in store.view_tables.groups().values())
            now = time.perf_counter()
            while pending and pending[0][0] <= reached:
                found.append(now - pending.pop(0)[1])
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = due = time.perf_counter()
    for changes in mixed(int(SECONDS * 5000), 20_000, 1000):
        with db.transaction() as tx:
            for what, row in changes:
                tx.put("Events", row) if what == "put" else tx.delete("Events", row["ID"])
        assert tx.position is not None
        pending.append((store.offset(tx.position), time.perf_counter()))
        due += 0.2
        time.sleep(max(0.0, due - time.perf_counter()))
    note(f"offered for {time.perf_counter() - began:.0f} s")
    over.set()
    watcher.join()
    return found[25:]


def writers() -> Iterator[Figure]:
    """The writer has a core of its own, and the maintainer the others."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[0]})
    try:
        yield from _writers(set(cores[1:]) or {cores[0]})
    finally:
        os.sched_setaffinity(0, set(cores))


def _writers(others: set[int]) -> Iterator[Figure]:
    with scratch() as folder, vk.open(folder / "db") as db:
        db.execute(DDL)
        db.load("Events", events(0, 50_000))
        many(db)
        with maintainer(folder / "db", others) as group:
            db.put("Events", {"ID": 1, "ProdID": 5})
            _caught_up(db)
            alone: list[float] = []
            beside: list[float] = []
            for turn in range(TURNS):
                # In turns with a maintainer that stands still, so that a slow moment of the machine hits both.
                os.killpg(group, signal.SIGSTOP)
                alone += _puts(db, 2 * turn)
                os.killpg(group, signal.SIGCONT)
                beside += _puts(db, 2 * turn + 1)
            _caught_up(db)
            db.execute("CREATE INDEX by_shop ON Events (ShopID, Cost) INCLUDE (ProdID, Type)")
            _caught_up(db)
            during: list[float] = []
            still: list[float] = []
            for turn in range(TURNS):
                os.killpg(group, signal.SIGSTOP)
                still += _puts(db, 3 + turn)
                os.killpg(group, signal.SIGCONT)
                # A hundred thousand rows of one view change in one batch, while single puts go on.
                loaded = db.load("Events", events((turn + 1) * 100_000, 100_000), batch_rows=100_000)
                during += _puts_until(db, loaded)
            quiet = percentile(still, 0.99)
    yield Figure(
        question=f"durable put with {MANY} deferred views and a maintainer, against none (median)",
        ours=micros(median(beside)),
        reference=micros(median(alone)),
        ratio=median(beside) / median(alone),
        target="at most 1.10",
        met=median(beside) / median(alone) <= 1.1,
    )
    ratio = percentile(during, 0.99) / quiet
    yield Figure(
        question="durable put while a 100,000-row apply runs, against none (99th percentile)",
        ours=micros(percentile(during, 0.99)),
        reference=micros(quiet),
        ratio=ratio,
        target="at most 1.30",
        met=ratio <= 1.3,
    )


def _puts_until(db: vk.Database, position: vk.Position) -> list[float]:
    """Single puts until every view reflects a position."""
    found: list[float] = []
    over = threading.Event()

    def watch() -> None:
        until = time.monotonic() + 120
        store = db._shared
        while time.monotonic() < until and not over.is_set():
            if all(state.watermark >= store.offset(position) for state in store.view_tables.groups().values()):
                over.set()
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    numbers = itertools.count()

    def put(_: int) -> object:
        number = next(numbers)
        return db.put("Events", {"ID": number * 7 % 50_000, "ShopID": number})

    while not over.is_set():
        found += latencies(put, 50)
    watcher.join()
    note(f"{len(found):,} puts until the views had caught up")
    return found


def _puts(db: vk.Database, salt: int) -> list[float]:
    return latencies(lambda number: db.put("Events", {"ID": number * 7 % 50_000, "ShopID": number + salt}), PUTS)
