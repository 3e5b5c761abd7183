"""A hundred small transactions taken into the views of the talk: one by one, by tens, and all at once."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator

import viewkeeper as vk
from benchmarks.harness import Figure, median, millis, sized
from benchmarks.plot import Bar, Chart, Group, Panel
from benchmarks.tpch import NATIONS

CUSTOMERS = sized(3_000, 300)
VIEWS = ("one view", "two views")
BACKLOGS = sized(5, 1)
TRANSACTIONS = sized(100, 20)
CONDENSED = {"none": 1, "partial": 10, "full": 0}
"""Transactions taken in at once; 0 is all."""


def condensed(bases: dict[str, vk.Database]) -> Iterator[Figure | Chart]:
    """The same small transactions, taken in one by one, by tens, and all at once."""
    found: dict[tuple[str, str, str], list[float]] = {}
    for number in range(BACKLOGS):
        for keys in ("random", "skewed"):
            for way, size in CONDENSED.items():
                for views, db in bases.items():
                    ends = small_transactions(db, keys, number, size)
                    found.setdefault((keys, way, views), []).append(take_in(db, ends, size or len(ends)))
    seconds = {key: median(values) for key, values in found.items()}
    for (keys, way, views), ours in seconds.items():
        if way == "none":
            continue
        reference = seconds[keys, "none", views]
        yield Figure(
            question=f"{TRANSACTIONS} updates of 1 to 10 customers, {keys}, {views}: {way} condense against none",
            ours=millis(ours),
            reference=millis(reference),
            ratio=ours / reference,
            target="below 1.00",
            met=ours < reference,
        )
    yield Chart(
        name="lazy-condense",
        text=f"Maintenance of {TRANSACTIONS} small updates, each by itself, by tens, and all at once",
        unit="ms",
        parts=("maintenance",),
        panels=tuple(
            Panel(
                f"{keys} customers",
                tuple(
                    Group(views, tuple(Bar(way, (seconds[keys, way, views] * 1000,)) for way in CONDENSED))
                    for views in VIEWS
                ),
            )
            for keys in ("random", "skewed")
        ),
    )


def small_transactions(db: vk.Database, keys: str, seed: int, shift: int) -> list[vk.Position]:
    """Write them, each of 1 to 10 customers that move; where each ends.

    The same customers for the same seed; they move elsewhere with another shift, since who stays does not change.
    """
    draw = random.Random(seed)
    weights = [1.0 if keys == "random" else 1 / (rank + 1) for rank in range(CUSTOMERS)]
    ends = []
    for _ in range(TRANSACTIONS):
        moved = set(draw.choices(range(CUSTOMERS), weights, k=draw.randint(1, 10)))
        with db.transaction() as tx:
            for customer in sorted(moved):
                tx.put("customer", {"c_custkey": customer, "c_nationkey": (draw.randrange(NATIONS) + shift) % NATIONS})
        ends.append(db.head())
    return ends


def take_in(db: vk.Database, ends: list[vk.Position], size: int) -> float:
    """Seconds to bring the views behind all transactions, `size` of them at once; that divides their number."""
    began = time.perf_counter()
    for end in ends[size - 1 :: size]:
        report = db.maintain(until=end)
        assert report.engine in ("", "rows"), report
    return time.perf_counter() - began
