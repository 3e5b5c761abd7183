"""What does a write cost that keeps a view in its own transaction, against one into a table without a view?"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Literal

import viewkeeper as vk
from benchmarks.dashboard import DDL, PRODUCTS, products
from benchmarks.harness import Figure, latencies, median, micros, note, percentile, scratch, sized

ROWS = sized(20_000, 2_000)
STRETCH = 25
"""Puts into one database before it is another's turn: a slow moment of the disk hits all alike."""
ROUNDS = sized(80, 4)
GROUPS = 1_000
SUMS = "SELECT ShopID, COUNT(*) AS n, SUM(Cost) AS total FROM Events GROUP BY ShopID"
JOIN = "SELECT e.ID, e.Cost, p.Name, p.CatID FROM Events e JOIN Products p ON e.ProdID = p.ID"
VIEWS = {
    "no view": "",
    "SYNC aggregate": f"MAINTAIN SYNC AS {SUMS}",
    "SYNC join": f"MAINTAIN SYNC AS {JOIN}",
    "LOCAL aggregate": f"MAINTAIN LOCAL AS {SUMS}",
    "DEFERRED aggregate": f"MAINTAIN DEFERRED AS {SUMS}",
    "DEFERRED join": f"MAINTAIN DEFERRED AS {JOIN}",
}
WANTED = {"SYNC aggregate": 1.3, "SYNC join": 1.6}
KINDS = {"new": "put of a new row", "moved": "put that moves a row to another group and partner"}

Durability = Literal["sync", "os"]
Seconds = dict[tuple[str, str], list[float]]
"""By kind of put and view."""


def run() -> Iterator[Figure]:
    found: dict[Durability, Seconds] = {"sync": measured("sync"), "os": measured("os")}
    names: dict[Durability, str] = {"sync": "durable ", "os": ""}
    for durability, seconds in found.items():
        for kind, view in seconds:
            if view != "no view":
                wanted = WANTED.get(view) if durability == "sync" else None
                yield _figure(seconds, kind, view, names[durability], wanted)


def measured(durability: Durability) -> Seconds:
    seconds: Seconds = {(kind, view): [] for kind in KINDS for view in VIEWS}
    with scratch() as folder, ExitStack() as stack:
        bases = {view: _opened(stack, folder / view, text, durability) for view, text in VIEWS.items()}
        numbers = {view: itertools.count(ROWS) for view in VIEWS}
        moves = {view: itertools.count() for view in VIEWS}
        order = list(VIEWS)
        for round in range(ROUNDS + 1):
            for view in order:
                db = bases[view]
                puts: dict[str, Callable[[int], object]] = {
                    "new": partial(_put_new, db, numbers[view]),
                    "moved": partial(_move, db, moves[view]),
                }
                for kind, put in puts.items():
                    taken = latencies(put, STRETCH)
                    # The first stretch of each warms it up.
                    seconds[kind, view] += taken if round else []
            # Who comes first changes, so that nobody always follows the same neighbour's writes.
            order = [*order[1:], order[0]]
    note(f"durability {durability}: {ROUNDS * STRETCH:,} puts of each kind into each of {len(VIEWS)} databases")
    return seconds


def _opened(stack: ExitStack, path: Path, text: str, durability: Durability) -> vk.Database:
    db = stack.enter_context(vk.open(path, durability=durability))
    db.execute(DDL)
    db.load("Products", products())
    db.load("Events", (_event(number, 0) for number in range(ROWS)))
    if text:
        db.execute(f"CREATE MATERIALIZED VIEW seen {text}")
        assert all(view.state == "live" for view in db.status()), db.status()
    return db


def _event(number: int, salt: int) -> dict[str, object]:
    return {
        "ID": number,
        "ProdID": (number * 7 + salt) % PRODUCTS,
        "ShopID": (number * 13 + salt) % GROUPS,
        "Type": "view",
        "Cost": (number * 31 + salt) % 60_000 / 100,
    }


def _put_new(db: vk.Database, numbers: itertools.count[int], _: int) -> object:
    return db.put("Events", _event(next(numbers), 0))


def _move(db: vk.Database, moves: itertools.count[int], _: int) -> object:
    """Rows from all over the table, each to another group than before."""
    number = next(moves)
    return db.put("Events", _event(number * 7919 % ROWS, 1 + number // ROWS))


def _figure(seconds: Seconds, kind: str, view: str, name: str, most: float | None) -> Figure:
    slow = micros(percentile(seconds[kind, view], 0.95))
    mine, reference = median(seconds[kind, view]), median(seconds[kind, "no view"])
    return Figure(
        question=f"{name}{KINDS[kind]}, {view}, against no view (median; 95 % in {slow})",
        ours=micros(mine),
        reference=micros(reference),
        ratio=mine / reference,
        target="none" if most is None else f"at most {most:.2f}",
        met=most is None or mine / reference <= most,
    )
