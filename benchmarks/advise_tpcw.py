"""How long does it take to know of all queries of an application whether they stay fast?

`advise` of all queries of TPC-W over its tables: what is needed for each, bounds, costs of a write. In a new process
each time, so that nothing is known yet.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Figure, median, millis, timed

FOLDER = Path(__file__).parent.parent / "examples" / "tpcw"
FILES = [str(FOLDER / "schema.sql"), str(FOLDER / "queries.sql")]
MOST = 1.0
ROUNDS = 9
"""Of the analysis alone: its imports are done by a query before it."""
ALONE = """
import sys, tempfile, time
import viewkeeper as vk
from examples.tpcw.shop import named_queries
with tempfile.TemporaryDirectory() as folder, vk.open(folder, durability="os") as db:
    db.execute(open(sys.argv[1], encoding="utf-8").read())
    queries = named_queries(open(sys.argv[2], encoding="utf-8").read())
    db.advise({"first": "SELECT co_name FROM country WHERE co_id = :id"})
    begun = time.perf_counter()
    advice = db.advise(queries)
    taken = time.perf_counter() - begun
    assert advice.is_good
    print(len(queries), taken)
"""


def run() -> Iterator[Figure]:
    found = [_python("-c", ALONE, *FILES).split() for _ in range(ROUNDS)]
    count, alone = int(found[0][0]), median([float(taken) for _, taken in found])
    whole = median([timed(_command) for _ in range(ROUNDS)])
    yield _figure(f"analysis of the {count} queries of TPC-W together, against 1 s (median)", alone)
    yield _figure("`viewkeeper advise` of them, from start to exit, against 1 s (median)", whole, is_asked=False)


def _command() -> None:
    _python("-c", "from viewkeeper.cli import main; main()", "advise", *FILES)


def _python(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True)
    return done.stdout


def _figure(question: str, taken: float, *, is_asked: bool = True) -> Figure:
    return Figure(
        question=question,
        ours=millis(taken),
        reference=millis(MOST),
        ratio=taken / MOST,
        target="below 1.00" if is_asked else "none",
        met=taken < MOST or not is_asked,
    )
