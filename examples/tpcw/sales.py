"""Orders, their lines, and how they were paid."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pyarrow as pa

from examples.tpcw.books import Prices
from examples.tpcw.clock import HOUR, NOW, day_of, millis_of
from examples.tpcw.columns import days, ints, longs, moments, money, texts
from examples.tpcw.words import CARDS, COUNTRIES, FIRST_NAMES, SHIPPING, STATUSES, last_name

LINES_MAX = 5


@dataclass(frozen=True, slots=True)
class Sold:
    """Which orders there are in all: from 1 to `orders`, of customers from 1 to `customers`, in the last `hours`."""

    orders: int
    customers: int
    hours: int


def orders(numbers: range, sold: Sold, prices: Prices, draw: Random) -> Iterator[tuple[str, pa.Table]]:
    """Orders with their lines and payments; later numbers are of later moments."""
    now = millis_of(NOW)
    first = now - now % HOUR - (sold.hours - 1) * HOUR
    dates = [first + (now - first) * number // (sold.orders + 1) for number in numbers]
    buyers = [draw.randint(1, sold.customers) for _ in numbers]
    bought = [draw.sample(range(1, len(prices.cents) + 1), draw.randint(1, LINES_MAX)) for _ in numbers]
    lines = [
        (number, place, item, draw.randint(1, 9), moment)
        for number, moment, chosen in zip(numbers, dates, bought, strict=True)
        for place, item in enumerate(chosen, 1)
    ]
    totals = dict.fromkeys(numbers, 0)
    for number, _, item, quantity, _ in lines:
        totals[number] += quantity * prices.cents[item - 1]
    yield "orders", _orders(numbers, dates, buyers, list(totals.values()), draw)
    yield "order_line", _lines(lines, prices, draw)
    yield "cc_xacts", _payments(numbers, dates, list(totals.values()), draw)


def _orders(numbers: range, dates: list[int], buyers: list[int], cents: list[int], draw: Random) -> pa.Table:
    taxes = [tax(cent) for cent in cents]
    return pa.table(
        {
            "o_id": longs(numbers),
            "o_c_id": longs(buyers),
            "o_date": moments(dates),
            "o_sub_total": money(cents),
            "o_tax": money(taxes),
            "o_total": money(cent + more for cent, more in zip(cents, taxes, strict=True)),
            "o_ship_type": draw.choices(SHIPPING, k=len(numbers)),
            "o_ship_date": days(moment // (24 * HOUR) + draw.randint(0, 7) for moment in dates),
            "o_bill_addr_id": longs(2 * buyer - 1 for buyer in buyers),
            "o_ship_addr_id": longs(2 * buyer - draw.randrange(2) for buyer in buyers),
            "o_status": draw.choices(STATUSES, k=len(numbers)),
        }
    )


def _lines(lines: list[tuple[int, int, int, int, int]], prices: Prices, draw: Random) -> pa.Table:
    numbers, places, chosen, quantities, dates = (list(column) for column in zip(*lines, strict=True))
    return pa.table(
        {
            "ol_o_id": longs(numbers),
            "ol_id": ints(places),
            "ol_i_id": longs(chosen),
            "ol_qty": ints(quantities),
            "ol_discount": money((draw.randrange(3_000) for _ in lines), 5),
            "ol_comments": texts(draw, len(lines), "comment", 12),
            "ol_o_date": moments(dates),
            "ol_i_subject": [prices.subjects[item - 1] for item in chosen],
            "ol_cost": money(prices.cents[item - 1] for item in chosen),
        }
    )


def _payments(numbers: range, dates: list[int], cents: list[int], draw: Random) -> pa.Table:
    count, today = len(numbers), day_of(NOW.date())
    return pa.table(
        {
            "cx_o_id": longs(numbers),
            "cx_type": draw.choices(CARDS, k=count),
            "cx_num": [f"{draw.randrange(10**16):016}" for _ in numbers],
            "cx_name": [f"{draw.choice(FIRST_NAMES)} {last_name(draw)}" for _ in numbers],
            "cx_expire": days(today + draw.randint(10, 730) for _ in numbers),
            "cx_auth_id": texts(draw, count, "auth", 10),
            "cx_xact_amt": money(cent + tax(cent) for cent in cents),
            "cx_xact_date": moments(dates),
            "cx_co_id": ints(draw.randint(1, COUNTRIES) for _ in numbers),
        }
    )


def tax(cents: int) -> int:
    """8.25 %, rounded down."""
    return cents * 825 // 10_000
