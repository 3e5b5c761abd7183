"""Data for the bookstore by the number of items and customers, the same for the same seed.

In the ratios of the standard: two addresses and 0.9 orders for a customer, three lines an order on average, an author
for four items, 92 countries. Orders lie in the last hours before NOW, as many in each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow as pa

import viewkeeper as vk
from examples.tpcw.books import authors, items, names_of, prices_of
from examples.tpcw.people import addresses, countries, customers
from examples.tpcw.sales import Sold, orders

SCHEMA = (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")
SLICE = 50_000
"""Rows that are drawn at once."""


@dataclass(frozen=True, slots=True)
class Sizes:
    items: int
    customers: int

    def __post_init__(self) -> None:
        if self.items < 6 or self.customers < 1:
            raise ValueError("a store has at least 6 items, each related to 5 others, and a customer")

    @property
    def authors(self) -> int:
        return max(1, self.items // 4)

    @property
    def addresses(self) -> int:
        return self.customers * 2

    @property
    def orders(self) -> int:
        return max(1, self.customers * 9 // 10)


def fill(db: vk.Database, sizes: Sizes, *, seed: int = 1, hours: int = 24) -> None:
    """Make the tables and load them."""
    db.execute(SCHEMA)
    for name, rows in tables(sizes, seed=seed, hours=hours):
        db.load(name, rows)


def tables(sizes: Sizes, *, seed: int = 1, hours: int = 24) -> Iterator[tuple[str, pa.Table]]:
    """Every table by its name, the large ones in several pieces. Keys begin with 1.

    There are no carts: these are made by visitors.
    """
    draw = Random(seed)
    prices, names = prices_of(sizes.items, draw), names_of(sizes.authors, draw)
    yield "country", countries(draw)
    for numbers in slices(sizes.addresses):
        yield "address", addresses(numbers, draw)
    for numbers in slices(sizes.customers):
        yield "customer", customers(numbers, draw)
    for numbers in slices(sizes.authors):
        yield "author", authors(numbers, names, draw)
    for numbers in slices(sizes.items):
        yield "item", items(numbers, names, prices, draw)
    sold = Sold(sizes.orders, sizes.customers, hours)
    for numbers in slices(sizes.orders):
        yield from orders(numbers, sold, prices, draw)


def slices(count: int) -> Iterator[range]:
    """The numbers from 1 to count, both included."""
    for first in range(1, count + 1, SLICE):
        yield range(first, min(count, first + SLICE - 1) + 1)
