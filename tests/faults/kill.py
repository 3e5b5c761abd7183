"""kill -9 at a random moment, again and again: does the database keep its word?

    python -m tests.faults.kill --rounds 200

Each round starts two processes that write to one database from several threads (workload.py), kills one or both of
them, opens the database and checks it (checker.py). The database is used for several rounds; each new one is also
killed while it is being made.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import viewkeeper as vk
from tests.faults.checker import Checker
from tests.faults.workload import prepare, read_notes, write_until_killed

ROUNDS_A_DATABASE = 25
STARTUP = 30.0
"""Seconds that a process may take to start, or to go on after another one was killed; far more than it needs."""

LOADED_FIRST = (
    "pyarrow.compute",
    "viewkeeper.load.source",
    "viewkeeper.sql.bind",
    "viewkeeper.sql.parse",
    "viewkeeper.write.loading",
)
"""What writers would otherwise spend their short lives importing."""

_processes = multiprocessing.get_context("forkserver")


@dataclass(slots=True)
class Summary:
    rounds: int = 0
    blocks: int = 0
    acknowledged: int = 0
    kills: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.kills.items()))
        return f"{self.rounds} rounds ({kinds}): {self.acknowledged:,} acknowledged, {self.blocks:,} transactions"


def kill_rounds(
    folder: Path, rounds: int, *, seed: int, durability: str = "sync", report: Callable[[str], None] = lambda text: None
) -> Summary:
    """Run that many rounds below `folder`; AssertionError in the first one that leaves something wrong.

    durability "both" takes turns by database.
    """
    _processes.set_forkserver_preload(["tests.faults.workload", *LOADED_FIRST])
    chance = random.Random(seed)
    summary = Summary()
    while summary.rounds < rounds:
        number = summary.rounds // ROUNDS_A_DATABASE
        kept = ("sync", "os")[number % 2] if durability == "both" else durability
        path = folder / f"database-{number}"
        kill_makers(path, chance, kept)
        summary.kills["while made"] += 1
        prepare(path, kept)
        checker = Checker(path, seed)
        for _ in range(min(ROUNDS_A_DATABASE, rounds - summary.rounds)):
            notes = [folder / f"notes-{summary.rounds}-{writer}" for writer in range(2)]
            summary.kills[kill_writers(path, notes, chance)] += 1
            checker.check([note for file in notes for note in read_notes(file)])
            summary.rounds += 1
        summary.blocks += checker.blocks
        summary.acknowledged += checker.acknowledged
        report(str(summary))
    return summary


def kill_writers(path: Path, notes: list[Path], chance: random.Random) -> str:
    """Start two writers and kill them; how it was done."""
    kind = chance.choice(["both at once", "one, then the other", "at the start"])
    writers = [_start(write_until_killed, str(path), str(file), chance.getrandbits(48)) for file in notes]
    try:
        if kind != "at the start":
            _wait_until(lambda: all(_size(file) for file in notes), "a writer does not start")
        time.sleep(chance.uniform(0, 0.5))
        first, second = chance.sample([0, 1], 2)
        writers[first].kill()
        if kind == "one, then the other":
            size = _size(notes[second])
            _wait_until(lambda: _size(notes[second]) > size, "the death of one writer holds up the other")
            time.sleep(chance.uniform(0, 0.05))
        writers[second].kill()
    finally:
        for writer in writers:
            writer.kill()
            writer.join()
    return kind


def kill_makers(path: Path, chance: random.Random, durability: str) -> None:
    """Kill two processes that make the same database; what they leave can be opened and is empty."""
    makers = [_start(make_until_killed, str(path), durability) for _ in range(2)]
    time.sleep(chance.uniform(0, 0.1))
    for maker in makers:
        maker.kill()
        maker.join()
    with vk.open(path) as db:
        assert db.tables() == []
        assert db.head() == db.oldest()
        kept = db.info().durability
    if kept != durability:
        # The makers died before they came to it, and opening made it with the default.
        shutil.rmtree(path)


def make_until_killed(path: str, durability: Any) -> None:
    """Open a new database, and close it and open it again."""
    while True:
        vk.open(path, durability=durability).close()


def _start(target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    process = _processes.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def _wait_until(reached: Callable[[], bool], complaint: str) -> None:
    deadline = time.monotonic() + STARTUP
    while not reached():
        assert time.monotonic() < deadline, complaint
        time.sleep(0.002)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def main() -> None:
    parser = argparse.ArgumentParser(description="kill -9 under load, and check what is left")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--durability", choices=["sync", "os", "both"], default="sync")
    options = parser.parse_args()
    seed = random.SystemRandom().getrandbits(32) if options.seed is None else options.seed
    print(f"seed {seed}, durability {options.durability}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="viewkeeper-kill-") as folder:
        summary = kill_rounds(
            Path(folder),
            options.rounds,
            seed=seed,
            durability=options.durability,
            report=lambda text: print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True),
        )
    print(f"nothing lost, nothing torn: {summary}, {time.monotonic() - began:.1f} s")


if __name__ == "__main__":
    main()
