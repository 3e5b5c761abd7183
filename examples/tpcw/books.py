"""Authors and items."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from itertools import accumulate
from random import Random

import pyarrow as pa

from examples.tpcw.clock import NOW, day_of
from examples.tpcw.columns import days, ints, longs, money, texts
from examples.tpcw.words import BACKINGS, FIRST_NAMES, SUBJECTS, last_name, title


@dataclass(frozen=True, slots=True)
class Prices:
    """What lines of orders copy from items: by number of the item, less one."""

    subjects: list[str]
    cents: list[int]


def prices_of(count: int, draw: Random) -> Prices:
    return Prices(draw.choices(SUBJECTS, k=count), [draw.randrange(100, 10_000) for _ in range(count)])


def names_of(count: int, draw: Random) -> list[str]:
    """Last names, which items copy from authors: by number of the author, less one."""
    return [last_name(draw) for _ in range(count)]


def authors(numbers: range, names: list[str], draw: Random) -> pa.Table:
    count, oldest = len(numbers), day_of(date(1900, 1, 1))
    return pa.table(
        {
            "a_id": longs(numbers),
            "a_fname": draw.choices(FIRST_NAMES, k=count),
            "a_mname": draw.choices(FIRST_NAMES, k=count),
            "a_lname": [names[number - 1] for number in numbers],
            "a_dob": days(oldest + draw.randrange(90 * 365) for _ in numbers),
            "a_bio": texts(draw, count, "about the author", 60),
        }
    )


def items(numbers: range, names: list[str], prices: Prices, draw: Random) -> pa.Table:
    """Each author has an item, then the authors of the others are drawn. Five others are related to each."""
    count, total, today = len(numbers), len(prices.cents), day_of(NOW.date())
    written = [number if number <= len(names) else draw.randint(1, len(names)) for number in numbers]
    published = [today - draw.randrange(90 * 365) for _ in numbers]
    cents = [prices.cents[number - 1] for number in numbers]
    steps = [list(accumulate(draw.choices(range(1, max(2, total // 6)), k=5))) for _ in numbers]
    related = {
        f"i_related{place + 1}": longs(
            (number - 1 + step[place]) % total + 1 for number, step in zip(numbers, steps, strict=True)
        )
        for place in range(5)
    }
    return pa.table(
        {
            "i_id": longs(numbers),
            "i_title": [title(draw) for _ in numbers],
            "i_a_id": longs(written),
            "i_pub_date": days(published),
            "i_publisher": texts(draw, count, "Publisher", 3),
            "i_subject": [prices.subjects[number - 1] for number in numbers],
            "i_desc": texts(draw, count, "about the item", 60),
            **related,
            "i_thumbnail": [f"img{number % 100}/thumb_{number}.gif" for number in numbers],
            "i_image": [f"img{number % 100}/image_{number}.gif" for number in numbers],
            "i_srp": money(cent * 5 // 4 for cent in cents),
            "i_cost": money(cents),
            "i_avail": days(day + draw.randint(1, 30) for day in published),
            "i_stock": ints(draw.randint(10, 30) for _ in numbers),
            "i_isbn": [f"{draw.randrange(10**13):013}" for _ in numbers],
            "i_page": ints(draw.randint(20, 9_999) for _ in numbers),
            "i_backing": draw.choices(BACKINGS, k=count),
            "i_dimensions": [f"{draw.randint(1, 99)}x{draw.randint(1, 99)}x{draw.randint(1, 99)}" for _ in numbers],
            "i_a_lname": [names[author - 1] for author in written],
        }
    )
