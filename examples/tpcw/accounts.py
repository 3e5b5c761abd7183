"""New customers and their addresses."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from examples.tpcw.shop import Row, Shop
from examples.tpcw.words import user_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    street1: str
    street2: str
    city: str
    state: str
    zip: str
    country: str


def register(shop: Shop, address: Address) -> Row:
    """A new customer."""
    number, now = shop.new_key(), shop.clock.now()
    name = user_name(number)
    customer = {
        "c_id": number,
        "c_uname": name,
        "c_passwd": name.upper(),
        "c_fname": "New",
        "c_lname": "Reader",
        "c_addr_id": enter_address(shop, address),
        "c_email": f"{name}@example.org",
        "c_since": now.date(),
        "c_login": now,
        "c_expiration": now + timedelta(hours=2),
        "c_discount": Decimal(number % 51),
        "c_balance": Decimal(0),
        "c_ytd_pmt": Decimal(0),
    }
    shop.write(lambda tx: tx.insert("customer", customer))
    return customer


def enter_address(shop: Shop, address: Address) -> int:
    """The key of an address; one that is there already is used again."""
    country = shop.first("country_by_name", name=address.country)
    of_country = None if country is None else country["co_id"]
    fields = {
        "street1": address.street1,
        "street2": address.street2,
        "city": address.city,
        "state": address.state,
        "zip": address.zip,
    }
    known = shop.first("same_address", **fields, country=of_country)
    if known is not None:
        found: int = known["addr_id"]
        return found
    number = shop.new_key()
    row = {"addr_id": number, "addr_co_id": of_country, **{f"addr_{name}": text for name, text in fields.items()}}
    shop.write(lambda tx: tx.insert("address", row))
    return number
