"""What every benchmark shares: results, tables, alternating rounds."""

from __future__ import annotations

import mmap
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

SMALL = "VIEWKEEPER_BENCH_SMALL"
PAGE = mmap.PAGESIZE
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One answered question. `ratio` compares `ours` with `reference`; `target` says what it should be."""

    question: str
    ours: str
    reference: str
    ratio: float
    target: str
    met: bool


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder on the disk that is measured; VIEWKEEPER_BENCH_DIR chooses which."""
    folder = Path(tempfile.mkdtemp(prefix="viewkeeper-bench-", dir=os.environ.get("VIEWKEEPER_BENCH_DIR")))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def timed(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def latencies(work: Callable[[int], object], count: int) -> list[float]:
    """Seconds of each call, given its number."""
    clock = time.perf_counter_ns
    found = []
    for number in range(count):
        started = clock()
        work(number)
        found.append((clock() - started) / 1e9)
    return found


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


STRETCHES = 10
"""Parts of a run, one after the other."""


def usual(values: list[float], share: float) -> float:
    """The median, over the stretches of a run, of the percentile in each; `values` are in the order in which they came.

    The machine is shared: what it does for others for a few seconds spoils one stretch and not the figure.
    """
    size = max(1, len(values) // STRETCHES)
    parts = [values[start : start + size] for start in range(0, len(values), size)]
    return median([percentile(part, share) for part in parts[:STRETCHES]])


def settle() -> None:
    """Have all that was written so far on the disk, so that nothing of it is still on its way while it is measured."""
    os.sync()


def page_in(folder: Path, *, anew: bool = False) -> None:
    """Have the data of a store in the system's memory, from which what is seldom looked at goes after a while.

    What was copied or loaded lies there in large pieces, and the system goes through a whole piece for each page of it
    that is written. With `anew` it is read again page by page, as a store comes to memory that is looked at; nobody may
    have it open then. Its data alone: closing the file of its locks would drop those that this process has.
    """
    for path in folder.rglob("data.mdb"):
        file = os.open(path, os.O_RDONLY)
        try:
            if hasattr(os, "posix_fadvise"):
                if anew:
                    os.fsync(file)
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
            for start in range(0, os.fstat(file).st_size, PAGE):
                os.pread(file, PAGE, start)
        finally:
            os.close(file)


def median(values: list[float]) -> float:
    return statistics.median(values)


def alternate(first: Callable[[int], float], second: Callable[[int], float], rounds: int) -> tuple[float, float]:
    """Medians of two measurements taken in turns, so that a slow moment of the machine hits both."""
    pairs = [(first(number), second(number)) for number in range(rounds)]
    return median([pair[0] for pair in pairs]), median([pair[1] for pair in pairs])


def turned(of: Sequence[T], number: int) -> list[T]:
    """The same in an order that begins with another in each round, so that none is always the first."""
    first = number % len(of)
    return [*of[first:], *of[:first]]


def machine() -> str:
    return (
        f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}, "
        f"{time.strftime('%Y-%m-%d')}"
    )


def sized(full: int, small: int) -> int:
    """How much of something a benchmark has; with --small only so much that one sees it run."""
    return small if os.environ.get(SMALL) else full


def rate(number: float) -> str:
    return f"{number:,.0f}/s"


def micros(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs"


def millis(seconds: float) -> str:
    return f"{seconds * 1e3:,.1f} ms"


def note(text: str) -> None:
    """Progress, kept off standard output."""
    print(text, file=sys.stderr, flush=True)
