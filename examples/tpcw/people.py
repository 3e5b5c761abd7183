"""Countries, addresses and customers."""

from __future__ import annotations

from random import Random

import pyarrow as pa

from examples.tpcw.clock import HOUR, NOW, day_of, millis_of
from examples.tpcw.columns import days, ints, longs, moments, money, texts
from examples.tpcw.words import COUNTRIES, FIRST_NAMES, country_name, last_name, user_name


def countries(draw: Random) -> pa.Table:
    numbers = range(1, COUNTRIES + 1)
    rates = longs(draw.randrange(10_000, 10_000_000) for _ in numbers).cast(pa.decimal128(19, 0))
    return pa.table(
        {
            "co_id": ints(numbers),
            "co_name": [country_name(number) for number in numbers],
            "co_exchange": pa.Array.from_buffers(pa.decimal128(12, 6), COUNTRIES, rates.buffers()),
            "co_currency": [f"currency {number}" for number in numbers],
        }
    )


def addresses(numbers: range, draw: Random) -> pa.Table:
    count = len(numbers)
    return pa.table(
        {
            "addr_id": longs(numbers),
            "addr_street1": texts(draw, count, "Street", 12),
            "addr_street2": texts(draw, count, "House", 8),
            "addr_city": texts(draw, count, "City", 4),
            "addr_state": [f"S{draw.randrange(100):02}" for _ in numbers],
            "addr_zip": [f"{draw.randrange(100_000):05}" for _ in numbers],
            "addr_co_id": ints(draw.randint(1, COUNTRIES) for _ in numbers),
        }
    )


def customers(numbers: range, draw: Random) -> pa.Table:
    """Each has two addresses of its own; the first is the one that its row names."""
    count, now, today = len(numbers), millis_of(NOW), day_of(NOW.date())
    logins = [now - draw.randrange(60 * 24 * HOUR) for _ in numbers]
    return pa.table(
        {
            "c_id": longs(numbers),
            "c_uname": [user_name(number) for number in numbers],
            "c_passwd": [user_name(number).upper() for number in numbers],
            "c_fname": draw.choices(FIRST_NAMES, k=count),
            "c_lname": [last_name(draw) for _ in numbers],
            "c_addr_id": longs(2 * number - 1 for number in numbers),
            "c_phone": [f"+{draw.randrange(10**11):011}" for _ in numbers],
            "c_email": [f"{user_name(number)}@example.org" for number in numbers],
            "c_since": days(today - draw.randint(1, 730) for _ in numbers),
            "c_last_login": moments(login - HOUR for login in logins),
            "c_login": moments(logins),
            "c_expiration": moments(login + 2 * HOUR for login in logins),
            "c_discount": money((draw.randrange(5_100) for _ in numbers), 5),
            "c_balance": money(0 for _ in numbers),
            "c_ytd_pmt": money(draw.randrange(100_000) for _ in numbers),
            "c_birthdate": days(today - draw.randint(18 * 365, 90 * 365) for _ in numbers),
            "c_data": texts(draw, count, "about the customer", 60),
        }
    )
