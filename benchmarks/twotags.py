"""Does a query that a view answers stay as fast while the data grows, and what does it cost the write that keeps it?

The newest five documents with two tags, which at least one has: through the view that the analysis makes for it, kept
in the write's transaction, and on demand with only an index by tag. One write comes to 25 reads: another tag on a
document. The one is measured after the other, as a user would run either: reads on demand pass over so much that the
processor's caches hold nothing else.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import viewkeeper as vk
from benchmarks.harness import (
    Figure,
    latencies,
    median,
    micros,
    note,
    page_in,
    scratch,
    settle,
    sized,
    timed,
    turned,
    usual,
)
from benchmarks.lines import LineChart, Lines
from benchmarks.plot import Table
from benchmarks.tagged import MOST, Tagged, draw_tag, fill, moment
from examples.tpcw.shop import named_queries
from viewkeeper.pipeline.session import SparkSource

SIZES = (20_000, 63_000, 200_000, 630_000, 2_000_000) if sized(1, 0) else (400, 800, 1_600, 3_200, 6_400)
ROUNDS = {"view": sized(288, 2), "index": sized(30, 2)}
RECALLED = 24
"""After so many rounds what was not looked at of the stores is brought to memory again."""
WRITES, READS = 5, 125
"""In one round."""
FLAT = 1.3
QUERY = named_queries((Path(__file__).parent.parent / "examples" / "piql" / "queries.sql").read_text())["twoTags"]
INDEX = "CREATE INDEX by_tag ON Tags (tag, docId) MAINTAIN SYNC"


@dataclass
class Side:
    """A database of one size, with the view or with the index alone, and the seconds that it took."""

    db: vk.Database
    made: Tagged
    read: Callable[[str, str], list[int]]
    reads: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)


def run() -> Iterator[Figure | Table | LineChart]:
    with scratch() as folder, ExitStack() as stack:
        spark = SparkSource(master="local[2]")
        try:
            viewed = {size: _with_view(stack, folder / f"view{size}", size, spark) for size in SIZES}
            indexed = {size: _with_index(stack, folder / f"index{size}", size, spark) for size in SIZES}
        finally:
            spark.stop()
        _check(viewed, indexed)
        settle()
        for side in (*viewed.values(), *indexed.values()):
            _touch(side.db)
        draw = random.Random(2)
        for sides, rounds in ((viewed, ROUNDS["view"]), (indexed, ROUNDS["index"])):
            for number in range(rounds + 1):
                if number % RECALLED == 0:
                    page_in(folder)
                for size in turned(SIZES, number):
                    _round(sides[size], draw, counted=number > 0)
    yield from _figures(viewed, indexed)
    yield _table(viewed, indexed)
    yield _chart(viewed, indexed)


def _with_view(stack: ExitStack, path: Path, size: int, spark: SparkSource) -> Side:
    db = stack.enter_context(vk.open(path, durability="os"))
    made = fill(db, size)
    prepared = db.prepare(QUERY, create=True, maintain="SYNC", name="twoTags")
    note(f"{size:,} tags: view filled, {timed(partial(db.maintain, spark=spark)):.1f} s")
    return Side(db, made, lambda one, other: [row["docId"] for row in prepared(tag1=one, tag2=other)])


def _with_index(stack: ExitStack, path: Path, size: int, spark: SparkSource) -> Side:
    db = stack.enter_context(vk.open(path, durability="os"))
    made = fill(db, size)
    db.execute(INDEX)
    db.maintain(spark=spark)
    return Side(db, made, partial(_on_demand, db))


def _on_demand(db: vk.Database, one: str, other: str) -> list[int]:
    """All documents with the one tag, of these the ones with the other, of these the newest."""
    with db.snapshot() as now:
        found = [
            document
            for document in (row["docId"] for row in now.scan("by_tag", prefix=(one,)))
            if now.get("Tags", document, other) is not None
        ]
        dated = [(row["timestamp"], row["docId"]) for row in (now.get("Documents", one) for one in found) if row]
    return [document for _, document in sorted(dated, reverse=True)[:5]]


def _touch(db: vk.Database) -> None:
    """Read all of it once, as in a process that has run for a while: the first look at each page costs a page fault."""
    for name in [*(table.name for table in db.tables()), *(view.name for view in db.views())]:
        for _ in db.scan(name):
            pass


def _check(viewed: dict[int, Side], indexed: dict[int, Side]) -> None:
    draw = random.Random(3)
    for size in SIZES:
        for _ in range(sized(200, 20)):
            one, other = _pair(viewed[size], draw)
            found = viewed[size].read(one, other)
            assert found, (one, other)
            assert found == indexed[size].read(one, other), (one, other)


def _pair(side: Side, draw: random.Random) -> tuple[str, str]:
    """Two tags that a document has."""
    tags = [row["tag"] for row in side.db.scan("Tags", prefix=(_document(side, draw, 2, MOST),))]
    one, other = draw.sample(tags, 2)
    return one, other


def _document(side: Side, draw: random.Random, least: int, most: int) -> int:
    """A document with at least and at most so many tags."""
    counts = side.made.counts
    while True:
        document = draw.randrange(len(counts))
        if least <= counts[document] <= most:
            return document


def _round(side: Side, draw: random.Random, *, counted: bool) -> None:
    """Reads and writes in turns, as many of each as the ratio says."""
    for _ in range(WRITES):
        pairs = [_pair(side, draw) for _ in range(READS // WRITES)]
        reads = latencies(partial(_read, side, pairs), len(pairs))
        document = _document(side, draw, 1, MOST - 1)
        tag = {"docId": document, "tag": draw_tag(draw), "timestamp": moment(document)}
        side.made.counts[document] += 1
        writes = [timed(partial(side.db.put, "Tags", tag))]
        if counted:
            side.reads += reads
            side.writes += writes


def _read(side: Side, pairs: list[tuple[str, str]], number: int) -> list[int]:
    return side.read(*pairs[number])


def _figures(viewed: dict[int, Side], indexed: dict[int, Side]) -> Iterator[Figure]:
    least, greatest = SIZES[0], SIZES[-1]
    slow = [usual(side.reads, 0.99) for side in viewed.values()]
    yield Figure(
        question=f"twoTags through the view, {least:,} to {greatest:,} tags: slowest against fastest (99 %)",
        ours=micros(max(slow)),
        reference=micros(min(slow)),
        ratio=max(slow) / min(slow),
        target=f"at most {FLAT:.2f}",
        met=max(slow) / min(slow) <= FLAT,
    )
    yield _grown("twoTags on demand with an index", indexed[greatest].reads, indexed[least].reads)
    ours, reference = (usual(sides[greatest].reads, 0.99) for sides in (viewed, indexed))
    yield Figure(
        question=f"twoTags, {greatest:,} tags: through the view against on demand (99 %)",
        ours=micros(ours),
        reference=micros(reference),
        ratio=ours / reference,
        target="below 1.00",
        met=ours < reference,
    )
    yield _grown("put of a tag that keeps the view", viewed[greatest].writes, viewed[least].writes)


def _grown(question: str, ours: list[float], reference: list[float]) -> Figure:
    mine, other = usual(ours, 0.99), usual(reference, 0.99)
    return Figure(
        question=f"{question}, {SIZES[-1]:,} tags against {SIZES[0]:,} (99 %)",
        ours=micros(mine),
        reference=micros(other),
        ratio=mine / other,
        target="none",
        met=True,
    )


def _table(viewed: dict[int, Side], indexed: dict[int, Side]) -> Table:
    rows: list[tuple[str, ...]] = [
        ("tags", "through the view", "99 %", "on demand", "99 %", "put with the view, 99 %", "with the index, 99 %")
    ]
    for size in SIZES:
        view, index = viewed[size], indexed[size]
        rows.append(
            (
                f"{size:,}",
                *(micros(value) for side in (view, index) for value in _middle_and_slow(side.reads)),
                *(micros(usual(side.writes, 0.99)) for side in (view, index)),
            )
        )
    return Table(
        text="The newest five documents with two tags, and a put of a tag; "
        "99 % is the median of ten stretches of the run:",
        rows=tuple(rows),
    )


def _middle_and_slow(seconds: list[float]) -> tuple[float, float]:
    return median(seconds), usual(seconds, 0.99)


def _chart(viewed: dict[int, Side], indexed: dict[int, Side]) -> LineChart:
    def panel(title: str, seconds: Callable[[Side], list[float]], *, is_log: bool) -> Lines:
        slow = [tuple(usual(seconds(sides[size]), 0.99) * 1e6 for size in SIZES) for sides in (viewed, indexed)]
        return Lines(title, tuple(slow), is_log)

    return LineChart(
        name="twotags",
        text="twoTags by number of tags, 99th percentile",
        unit="µs",
        counted="tags",
        parts=("with the view", "with the index alone"),
        places=SIZES,
        panels=(
            panel("read: through the view, or on demand", lambda side: side.reads, is_log=True),
            panel("put of a tag that keeps it, SYNC", lambda side: side.writes, is_log=False),
        ),
    )
