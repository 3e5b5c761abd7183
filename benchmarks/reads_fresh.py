"""Reads at "latest" of a view that lags by a hundred changes, and the reads behind them."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import viewkeeper as vk
from benchmarks.events import DDL, GROUPS, SUMS, events, mixed, write
from benchmarks.harness import Figure, median, micros, note, percentile, scratch, sized, timed
from benchmarks.plot import Table

ROWS = sized(40_000, 5_000)
PENDING = 100
TIMES = sized(200, 10)
LASTING = 10_000_000
SOON = 0.005
LEAST = "SELECT ProdID, COUNT(*) AS n, MIN(Cost) AS least FROM Events GROUP BY ProdID"
LIKE_ANY = 1.2

Made = tuple[str, dict[str, object]]
"""What is done, with which row."""


@dataclass
class Seconds:
    """Of each repetition: the read at latest, then another of it, then one at any."""

    first: list[float] = field(default_factory=list)
    next: list[float] = field(default_factory=list)
    any: list[float] = field(default_factory=list)


def pending() -> Iterator[Figure | Table]:
    """No Spark and no maintainer: whoever reads adds what is pending."""
    found: dict[str, Seconds] = {}
    for name, query in (("COUNT and SUM", SUMS), ("MIN", LEAST)):
        with scratch() as folder, vk.open(folder / "db", durability="os") as db:
            db.execute(DDL)
            db.load("Events", events(0, ROWS))
            db.load("Events", events(LASTING, 10 * PENDING))
            db.execute(f"CREATE MATERIALIZED VIEW seen AS {query}")
            log = mixed(3 * (TIMES + 2) * PENDING, ROWS, PENDING)
            with vk.open(folder / "db", read_only=True) as reader:
                found[f"{name}, one transaction"] = _repeated(db, db, log, one=True)
                found[f"{name}, one transaction of rows that move"] = _repeated(db, db, _moving(), one=True)
                found[f"{name}, {PENDING} transactions"] = _repeated(db, db, log, one=False)
                found[f"{name}, {PENDING} transactions, read_only handle"] = _repeated(db, reader, log, one=False)
        note(f"{name}: measured")
    for what, seconds in found.items():
        for share in (0.5, 0.95):
            mine = percentile(seconds.first, share)
            yield Figure(
                question=f'"latest" with {PENDING} changes pending, {what} ({share:.0%} of {len(seconds.first)})',
                ours=f"{mine * 1e3:.2f} ms",
                reference=f"{SOON * 1e3:.0f} ms",
                ratio=mine / SOON,
                target="below 1.00" if share == 0.5 else "none",
                met=share != 0.5 or mine < SOON,
            )
    for what, seconds in found.items():
        # A handle that never commits folds again each time, so this is not asked of it.
        wanted = "read_only" not in what
        ratio = median(seconds.next) / median(seconds.any)
        yield Figure(
            question=f'the next "latest" behind it, {what}, against "any" (median)',
            ours=micros(median(seconds.next)),
            reference=micros(median(seconds.any)),
            ratio=ratio,
            target=f"at most {LIKE_ANY:.2f}" if wanted else "none",
            met=not wanted or ratio <= LIKE_ANY,
        )
    yield _pending_table(found)


def _repeated(db: vk.Database, reader: vk.Database, log: Iterator[list[Made]], *, one: bool) -> Seconds:
    found = Seconds()
    for number, changes in enumerate(itertools.islice(log, TIMES + 2)):
        write(db, iter([changes] if one else [[change] for change in changes]))
        group = _touched(changes)
        # The first ones warm it up.
        now = found if number > 1 else Seconds()
        began = time.perf_counter()
        _, meta = reader.get("seen", group, consistency="latest", with_meta=True)
        now.first.append(time.perf_counter() - began)
        assert meta.path == "folded", meta
        now.next.append(timed(partial(reader.get, "seen", group, consistency="latest")))
        now.any.append(timed(partial(reader.get, "seen", group, consistency="any")))
        if reader is not db:
            assert not meta.moved, "its folds are never committed"
            db.maintain()
    return found


def _moving() -> Iterator[list[Made]]:
    """Each change moves a row to another group, so that twice as many groups are touched as by inserts.

    Rows that are there all the time: a mixed log may delete those below ROWS.
    """
    draw = random.Random(5)
    while True:
        numbers = draw.sample(range(LASTING, LASTING + 10 * PENDING), PENDING)
        yield [
            ("put", {"ID": number, "ProdID": draw.randrange(GROUPS), "Cost": draw.randrange(1, 60_000) / 100})
            for number in numbers
        ]


def _touched(changes: list[Made]) -> int:
    """The group of a row that is put, and not changed again."""
    last = {row["ID"]: (what, row) for what, row in changes}
    return next(int(str(row["ProdID"])) for what, row in last.values() if what == "put")


def _pending_table(found: dict[str, Seconds]) -> Table:
    rows = [
        ("pending", '"latest", median', "95 %", 'next "latest", median', '"any" behind it, median', "next against any")
    ]
    for what, seconds in found.items():
        rows.append(
            (
                what,
                micros(median(seconds.first)),
                micros(percentile(seconds.first, 0.95)),
                micros(median(seconds.next)),
                micros(median(seconds.any)),
                f"{median(seconds.next) / median(seconds.any):.2f}",
            )
        )
    text = f"Reads of one row of a view of {GROUPS:,} groups, which the pending changes touch, and the reads behind it:"
    return Table(text=text, rows=tuple(rows))
