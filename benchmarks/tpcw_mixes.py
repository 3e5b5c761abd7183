"""How long do the pages of a bookstore take under the three mixes of TPC-W, and how many are shown in a second?

A store of 12,000 items and 100,000 customers, two visitors at a time, each mix in turn: with indexes and views that are
SYNC, and with DEFERRED ones, which a pipeline on Spark brings up meanwhile: another process, on the same two cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import viewkeeper as vk
from benchmarks.bookstore import check, opened_copy
from benchmarks.harness import Figure, median, millis, note, page_in, percentile, scratch, sized, timed
from benchmarks.plot import Table
from examples.tpcw.generate import Sizes, fill
from examples.tpcw.mixes import INTERACTIONS, MIXES
from examples.tpcw.run import Taken, maintained, visit
from examples.tpcw.shop import Mode, Shop

SIZES = Sizes(sized(12_000, 120), sized(100_000, 100))
SECONDS, WARM = sized(60, 2), sized(5, 1)
"""Of each run, and before each."""
VISITORS = 2
MODES: tuple[Mode, ...] = ("SYNC", "DEFERRED")
QUICK = 10e-3


@dataclass(frozen=True, slots=True)
class Run:
    """What the pages took, and how many changes the view that lags most was behind when the last one was shown."""

    taken: Taken
    behind: int

    @property
    def pages(self) -> list[float]:
        return [second for seconds in self.taken.values() for second in seconds]


Runs = dict[tuple[str, Mode], Run]
"""By mix and mode."""


def run() -> Iterator[Figure | Table]:
    runs: Runs = {}
    with scratch() as folder:
        with vk.open(folder / "loaded") as db:
            note(f"loaded, {timed(partial(fill, db, SIZES)):.1f} s")
        for mode in MODES:
            with opened_copy(folder / "loaded", mode, mode) as shop:
                note(f"{mode}: {len(shop.db.views())} indexes and views")
                for mix in MIXES:
                    page_in(folder)
                    runs[mix, mode] = _visited(shop, mix, mode)
    for (mix, mode), one in runs.items():
        yield _figure(mix, mode, one.pages)
    yield _table(runs)


def _visited(shop: Shop, mix: str, mode: Mode) -> Run:
    """One mix; nothing is left to be done for the next."""
    with maintained(shop.db, mode):
        visit(shop, SIZES, mix, WARM, VISITORS, seed=1)
        taken = visit(shop, SIZES, mix, SECONDS, VISITORS, seed=2)
        done = Run(taken, max(view.lag_changes for view in shop.db.status()))
    note(f"{mix}, {mode}: {len(done.pages):,} pages; views were behind by {done.behind:,} changes at most")
    check(shop.db)
    shop.db.maintain()
    return done


def _figure(mix: str, mode: Mode, seconds: list[float]) -> Figure:
    slow = percentile(seconds, 0.99)
    return Figure(
        question=f"{mix} mix, {mode}, {len(seconds) / SECONDS:,.0f} pages a second: all pages, against 10 ms (99 %)",
        ours=millis(slow),
        reference=millis(QUICK),
        ratio=slow / QUICK,
        target="at most 1.00",
        met=slow <= QUICK,
    )


def _table(runs: Runs) -> Table:
    rows: list[tuple[str, ...]] = [("interaction", *(f"{mix}, {mode}" for mix, mode in runs))]
    rows += [(name.replace("_", " "), *(_cell(one.taken[name]) for one in runs.values())) for name in INTERACTIONS]
    rows.append(("all pages", *(_cell(one.pages) for one in runs.values())))
    rows.append(("changes that views were behind at the end", *(f"{one.behind:,}" for one in runs.values())))
    text = (
        f"Median and 99th percentile in ms, and in brackets how many there were in {SECONDS} s: "
        f"{SIZES.items:,} items, {SIZES.customers:,} customers, {VISITORS} visitors at a time."
    )
    return Table(text=text, rows=tuple(rows))


def _cell(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    return f"{median(seconds) * 1e3:.2f} / {percentile(seconds, 0.99) * 1e3:.2f} ({len(seconds):,})"
