"""Make a bookstore, let visitors in for a while, and print how long each page took.

python -m examples.tpcw --items 12000 --customers 100000 --mix shopping --seconds 30 --mode SYNC
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import viewkeeper as vk
from examples.tpcw.generate import Sizes, fill
from examples.tpcw.mixes import INTERACTIONS, MIXES
from examples.tpcw.shop import Mode, Shop, open_shop
from examples.tpcw.visitor import Visitor

Taken = dict[str, list[float]]
"""Seconds of each visit, by interaction."""


def main(arguments: Sequence[str] | None = None) -> int:
    asked = parser().parse_args(arguments)
    sizes = Sizes(asked.items, asked.customers)
    with tempfile.TemporaryDirectory() as folder, vk.open(Path(folder) / "tpcw") as db:
        began = time.perf_counter()
        fill(db, sizes, seed=asked.seed)
        loaded = time.perf_counter()
        shop = open_shop(db, asked.mode)
        print(f"loaded in {loaded - began:.1f} s; indexes and views made in {time.perf_counter() - loaded:.1f} s")
        with maintained(db, asked.mode):
            taken = visit(shop, sizes, asked.mix, asked.seconds, asked.threads, asked.seed)
    print("\n".join(table(taken)))
    return 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="python -m examples.tpcw", description="The bookstore of TPC-W.")
    made.add_argument("--items", type=int, default=1_000)
    made.add_argument("--customers", type=int, default=1_000)
    made.add_argument("--mix", choices=sorted(MIXES), default="shopping")
    made.add_argument("--seconds", type=float, default=10.0, help="how long visitors come")
    made.add_argument("--threads", type=int, default=2, help="visitors at a time")
    made.add_argument("--mode", choices=["SYNC", "DEFERRED"], default="SYNC", help="how indexes and views are kept")
    made.add_argument("--seed", type=int, default=1)
    return made


@contextmanager
def maintained(db: vk.Database, mode: Mode) -> Iterator[None]:
    """DEFERRED views follow in a pipeline on Spark meanwhile: a process of its own, as a shop would run it."""
    if mode == "SYNC":
        yield
        return
    command = [sys.executable, "-c", "from viewkeeper.cli import main; main()", "maintain", db.info().path, "--quiet"]
    with subprocess.Popen(command) as maintainer:
        try:
            while not db.info().maintainers and maintainer.poll() is None:
                time.sleep(0.1)
            yield
        finally:
            maintainer.send_signal(signal.SIGINT)


def visit(shop: Shop, sizes: Sizes, mix: str, seconds: float, threads: int, seed: int) -> Taken:
    """Let visitors do what a mix has, each in a thread of its own, until the time is over."""
    until = time.monotonic() + seconds

    def one(number: int) -> Taken:
        visitor = Visitor(shop, sizes, seed * 1_000 + number)
        taken: Taken = {name: [] for name in INTERACTIONS}
        while time.monotonic() < until:
            [name] = visitor.draw.choices(INTERACTIONS, [MIXES[mix][name] for name in INTERACTIONS])
            taken[name].append(visitor.perform(name)[1])
        return taken

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(one, range(threads)))
    return {name: [second for taken in found for second in taken[name]] for name in INTERACTIONS}


def table(taken: Taken) -> Iterator[str]:
    """A line for each interaction that was made."""
    yield f"{'interaction':<22} {'count':>8} {'p50 ms':>8} {'p99 ms':>8}"
    for name, seconds in taken.items():
        if seconds:
            ordered = sorted(seconds)
            middle, slow = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
            yield f"{name.replace('_', ' '):<22} {len(ordered):>8,} {middle * 1e3:>8.2f} {slow * 1e3:>8.2f}"


if __name__ == "__main__":
    raise SystemExit(main())
