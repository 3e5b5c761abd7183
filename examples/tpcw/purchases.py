"""The web interactions of a purchase: from the cart to the order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import ROUND_DOWN, Decimal

import viewkeeper as vk
from examples.tpcw.accounts import Address, enter_address, register
from examples.tpcw.pages import Page, promotions
from examples.tpcw.shop import Row, Shop

CENT = Decimal("0.01")
LOW_STOCK, SUPPLY = 10, 21


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    kind: str
    number: str
    name: str


def shopping_cart(shop: Shop, cart: int | None, add: int | None, quantities: Mapping[int, int], item: int) -> Page:
    """The cart after an item was added and quantities were changed; an empty one gets `item`. None makes a cart."""
    now = shop.clock.now()
    number = shop.new_key() if cart is None else cart

    def change(tx: vk.Transaction) -> None:
        tx.put("shopping_cart", {"sc_id": number, "sc_time": now})
        lines = {row["scl_i_id"]: row["scl_qty"] for row in tx.scan("shopping_cart_line", prefix=(number,))}
        wanted = {**lines, **quantities}
        if add is not None:
            wanted[add] = wanted.get(add, 0) + 1
        if not any(wanted.values()):
            wanted = {item: 1}
        for chosen in lines.keys() - {one for one, quantity in wanted.items() if quantity > 0}:
            tx.delete("shopping_cart_line", number, chosen)
        for chosen, quantity in wanted.items():
            if quantity > 0 and quantity != lines.get(chosen):
                _put_line(tx, number, chosen, quantity)

    shop.write(change)
    return {
        "cart": number,
        "lines": shop.ask("cart", cart=number),
        "total": shop.first("cart_total", cart=number),
        "promotions": promotions(shop, item),
    }


def _put_line(tx: vk.Transaction, cart: int, item: int, quantity: int) -> None:
    known = tx.get("item", item)
    if known is not None:
        line = {"scl_sc_id": cart, "scl_i_id": item, "scl_qty": quantity, "scl_cost": known["i_cost"]}
        tx.put("shopping_cart_line", line)


def buy_request(shop: Shop, uname: str | None, new: Address, cart: int) -> Page:
    """The customer, who is made if there is no name yet, and the cart that is about to be bought."""
    customer = shop.first("customer_by_name", uname=uname) if uname is not None else register(shop, new)
    if uname is not None and customer is not None:
        now = shop.clock.now()
        session = {"c_login": now, "c_expiration": now + timedelta(hours=2)}
        shop.write(lambda tx: tx.put("customer", {"c_id": customer["c_id"], **session}))
    return {"customer": customer, "lines": shop.ask("cart", cart=cart), "total": shop.first("cart_total", cart=cart)}


def buy_confirm(shop: Shop, customer: int, cart: int, card: Card, ship_to: Address | None = None) -> Page:
    """Order what is in the cart: the order, its lines, the payment, the stock, and an empty cart, all or nothing."""
    elsewhere = None if ship_to is None else enter_address(shop, ship_to)
    number = shop.new_key()

    def order(tx: vk.Transaction) -> Page:
        lines = tx.scan("shopping_cart_line", prefix=(cart,)).all()
        buyer = tx.get("customer", customer)
        if buyer is None or not lines:
            return {"order": None, "total": None}
        paid = 1 - (buyer["c_discount"] or Decimal(0)) / 100
        cost = sum((line["scl_qty"] * line["scl_cost"] for line in lines), Decimal(0))
        total = _put_order(shop, tx, number, buyer, (cost * paid).quantize(CENT, ROUND_DOWN), elsewhere)
        for place, line in enumerate(lines, 1):
            _sell(shop, tx, number, place, line, buyer["c_discount"])
            tx.delete("shopping_cart_line", cart, line["scl_i_id"])
        _pay(shop, tx, number, buyer, card, total)
        return {"order": number, "total": total}

    return shop.write(order)


def _put_order(shop: Shop, tx: vk.Transaction, number: int, buyer: Row, cost: Decimal, ship_to: int | None) -> Decimal:
    now = shop.clock.now()
    tax = (cost * Decimal("0.0825")).quantize(CENT, ROUND_DOWN)
    order = {
        "o_id": number,
        "o_c_id": buyer["c_id"],
        "o_date": now,
        "o_sub_total": cost,
        "o_tax": tax,
        "o_total": cost + tax,
        "o_ship_type": "MAIL",
        "o_ship_date": (now + timedelta(days=number % 8)).date(),
        "o_bill_addr_id": buyer["c_addr_id"],
        "o_ship_addr_id": buyer["c_addr_id"] if ship_to is None else ship_to,
        "o_status": "PENDING",
    }
    tx.insert("orders", order)
    return cost + tax


def _sell(shop: Shop, tx: vk.Transaction, order: int, place: int, line: Row, discount: Decimal | None) -> None:
    """A line of the order, with its copies of item and order; the stock is filled up before it runs out."""
    item = tx.get("item", line["scl_i_id"]) or {}
    row = {
        "ol_o_id": order,
        "ol_id": place,
        "ol_i_id": line["scl_i_id"],
        "ol_qty": line["scl_qty"],
        "ol_discount": discount,
        "ol_comments": "",
        "ol_o_date": shop.clock.now(),
        "ol_i_subject": item.get("i_subject"),
        "ol_cost": line["scl_cost"],
    }
    tx.insert("order_line", row)
    if item:
        left = item["i_stock"] - line["scl_qty"]
        tx.put("item", {"i_id": item["i_id"], "i_stock": left if left >= LOW_STOCK else left + SUPPLY})


def _pay(shop: Shop, tx: vk.Transaction, order: int, buyer: Row, card: Card, total: Decimal) -> None:
    """The payment, in the country of the address that the bill goes to."""
    now, bill = shop.clock.now(), tx.get("address", buyer["c_addr_id"]) or {}
    row = {
        "cx_o_id": order,
        "cx_type": card.kind,
        "cx_num": card.number,
        "cx_name": card.name,
        "cx_expire": (now + timedelta(days=365)).date(),
        "cx_auth_id": f"auth {order}",
        "cx_xact_amt": total,
        "cx_xact_date": now,
        "cx_co_id": bill.get("addr_co_id"),
    }
    tx.insert("cc_xacts", row)
