"""Does every page of a bookstore stay as fast while the store grows a hundredfold, and what do its views cost an order?

TPC-W, its fourteen web interactions in turns over stores of three sizes, with SYNC and with DEFERRED indexes and views;
the latter are brought up between the rounds, in this process. One visitor at a time, so that no page waits for another.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal

import viewkeeper as vk
from benchmarks.bookstore import opened_copy
from benchmarks.harness import Figure, median, millis, note, page_in, scratch, settle, sized, timed, turned, usual
from benchmarks.plot import Bar, Chart, Group, Panel, Table
from examples.tpcw.generate import Sizes, fill
from examples.tpcw.mixes import INTERACTIONS
from examples.tpcw.shop import Mode
from examples.tpcw.visitor import Visitor

ITEMS, CUSTOMERS = sized(1_200, 60), sized(1_000, 30)
"""Of the smallest store: as many items as fill a page of each subject."""
SCALES = (1, 10, 100) if sized(1, 0) else (1, 2, 4)
MODES: tuple[Mode, ...] = ("SYNC", "DEFERRED")
ROUNDS, STRETCH = sized(180, 2), sized(20, 3)
"""A stretch of each interaction in each store before the next: a slow moment of the machine hits all alike."""
RECALLED = 20
"""After so many rounds what was not looked at of the stores is brought to memory again."""
FLAT, QUICK = 1.3, 10e-3
SHORT = {
    "new_products": "new",
    "best_sellers": "best",
    "product_detail": "detail",
    "search_request": "request",
    "search_results": "search",
    "shopping_cart": "cart",
    "customer_registration": "register",
    "buy_request": "buy",
    "buy_confirm": "confirm",
    "order_inquiry": "inquiry",
    "order_display": "order",
    "admin_request": "admin",
    "admin_confirm": "change",
}


@dataclass
class Store:
    """One store with a visitor, and the seconds of each of its pages."""

    db: vk.Database
    visitor: Visitor
    taken: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in INTERACTIONS})

    def p99(self, name: str) -> float:
        return usual(self.taken[name], 0.99)


Stores = dict[tuple[int, str], Store]
"""By scale and mode; "none" is a store without views of items and orders, in which only orders are made."""
BUYING = ("cart", "cart_total", "related", "thumbnails", "country_by_name", "same_address")


def run() -> Iterator[Figure | Table | Chart]:
    stores: Stores = {}
    with scratch() as folder, ExitStack() as stack:
        for scale in SCALES:
            stores |= _opened(stack, folder / f"scale{scale}", scale)
        settle()
        for number in range(ROUNDS + 1):
            if number % RECALLED == 0:
                page_in(folder)
            for name in INTERACTIONS:
                for (_, mode), store in turned(list(stores.items()), number):
                    if mode != "none" or name == "buy_confirm":
                        taken = [store.visitor.perform(name)[1] for _ in range(STRETCH)]
                        # The first round warms up.
                        store.taken[name] += taken if number else []
            for (_, mode), store in stores.items():
                if mode == "DEFERRED":
                    store.db.maintain()
    yield from _figures(stores)
    yield _table(stores)
    for mode in MODES:
        yield _chart(stores, mode)
    yield _orders_chart(stores)


def _opened(stack: ExitStack, path: Path, scale: int) -> Stores:
    """Three copies of a store: with views in each mode, and without any."""
    sizes = Sizes(ITEMS * scale, CUSTOMERS * scale)
    with vk.open(path) as db:
        note(f"scale {scale}: loaded, {timed(partial(fill, db, sizes, hours=1)):.1f} s")
    made: Stores = {}
    modes: tuple[Mode | Literal["none"], ...] = (*MODES, "none")
    for mode in modes:
        kept: Mode = "SYNC" if mode == "none" else mode
        shop = stack.enter_context(opened_copy(path, mode, kept, only=BUYING if mode == "none" else None))
        note(f"scale {scale}, {mode}: {len(shop.db.views())} indexes and views")
        made[scale, mode] = Store(shop.db, Visitor(shop, sizes, 1))
    return made


def _figures(stores: Stores) -> Iterator[Figure]:
    for mode in MODES:
        for name in INTERACTIONS:
            slow = {scale: stores[scale, mode].p99(name) for scale in SCALES}
            most, least = max(slow.values()), min(slow.values())
            ratio = most / least
            yield Figure(
                question=f"{name.replace('_', ' ')}, {mode}: the slowest scale against the fastest (99 %)",
                ours=_millis(most),
                reference=_millis(least),
                ratio=ratio,
                target=f"at most {FLAT:.2f}, below {millis(QUICK)}",
                met=ratio <= FLAT and most < QUICK,
            )
    for mode in MODES:
        ours, reference = (stores[SCALES[-1], one].p99("buy_confirm") for one in (mode, "none"))
        yield Figure(
            question=f"buy confirm with {mode} views against none, scale {SCALES[-1]} (99 %)",
            ours=_millis(ours),
            reference=_millis(reference),
            ratio=ours / reference,
            target="none",
            met=True,
        )


def _table(stores: Stores) -> Table:
    heading = [f"{mode}, {scale} ×" for mode in MODES for scale in SCALES]
    rows: list[tuple[str, ...]] = [("interaction", *heading)]
    for name in INTERACTIONS:
        cells = [stores[scale, mode] for mode in MODES for scale in SCALES]
        rows.append((name.replace("_", " "), *(_cell(store.taken[name]) for store in cells)))
    text = (
        "Median and 99th percentile, which is the median of those of ten stretches of the run; "
        f"1 × is {ITEMS:,} items and {CUSTOMERS:,} customers, "
        f"{len(stores[SCALES[0], MODES[0]].taken['home']):,} visits each."
    )
    return Table(text=text, rows=tuple(rows))


def _cell(seconds: list[float]) -> str:
    return f"{median(seconds) * 1e3:.2f} / {_millis(usual(seconds, 0.99))}"


def _millis(seconds: float) -> str:
    """Most pages take but a fraction of one."""
    return f"{seconds * 1e3:,.2f} ms"


def _chart(stores: Stores, mode: str) -> Chart:
    def group(name: str) -> Group:
        bars = tuple(Bar(str(scale), (stores[scale, mode].p99(name) * 1e3,)) for scale in SCALES)
        return Group(SHORT.get(name, name), bars)

    parts = (
        ("browsing", INTERACTIONS[:5]),
        ("searching and buying", INTERACTIONS[5:10]),
        ("orders", INTERACTIONS[10:]),
    )
    return Chart(
        name=f"tpcw-{mode.lower()}",
        text=f"TPC-W, {mode}: 99th percentile of each page as the store grows",
        unit="ms",
        parts=("99th percentile, by scale",),
        panels=tuple(Panel(title, tuple(group(name) for name in names)) for title, names in parts),
    )


def _orders_chart(stores: Stores) -> Chart:
    def bar(scale: int, mode: str) -> Bar:
        return Bar(mode.lower(), (stores[scale, mode].p99("buy_confirm") * 1e3,))

    groups = tuple(
        Group(f"{scale} ×", tuple(bar(scale, mode) for mode in ("none", "DEFERRED", "SYNC"))) for scale in SCALES
    )
    return Chart(
        name="tpcw-buy-confirm",
        text="Buy confirm without views, with DEFERRED and with SYNC ones",
        unit="ms",
        parts=("99th percentile",),
        panels=(Panel("buy confirm", groups),),
    )
