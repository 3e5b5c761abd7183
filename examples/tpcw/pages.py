"""The web interactions that only read: what a visitor looks at."""

from __future__ import annotations

from typing import Any

from examples.tpcw.shop import Row, Shop
from examples.tpcw.words import SUBJECTS

Page = dict[str, Any]
"""What a page shows."""


def promotions(shop: Shop, item: int) -> list[Row]:
    """The five items that are shown beside one."""
    related = shop.first("related", item=item)
    if related is None:
        return []
    return shop.ask("thumbnails", items=[number for number in related.values() if number is not None])


def home(shop: Shop, customer: int | None, item: int) -> Page:
    return {
        "customer": None if customer is None else shop.first("customer_name", customer=customer),
        "promotions": promotions(shop, item),
    }


def new_products(shop: Shop, subject: str) -> Page:
    return {"subject": subject, "items": shop.ask("new_products", subject=subject)}


def best_sellers(shop: Shop, subject: str) -> Page:
    """The most sold of this hour, the most sold first."""
    best = shop.ask("best_sellers", subject=subject, hour=shop.clock.hour())
    titles = {row["i_id"]: row for row in shop.ask("titles", items=[row["ol_i_id"] for row in best])}
    return {"subject": subject, "items": [{**titles[row["ol_i_id"]], "sold": row["sold"]} for row in best]}


def product_detail(shop: Shop, item: int) -> Page:
    return {"item": shop.first("product_detail", item=item)}


def search_request(shop: Shop, item: int) -> Page:
    return {"subjects": SUBJECTS, "promotions": promotions(shop, item)}


def search_results(shop: Shop, kind: str, text: str) -> Page:
    """By a word of an author's last name, by a word of a title, or by subject."""
    if kind == "subject":
        return {"items": shop.ask("search_by_subject", subject=text)}
    return {"items": shop.ask(f"search_by_{kind}", word=text.lower())}


def customer_registration(shop: Shop, uname: str | None) -> Page:
    """The form; what is known of a returning customer is filled in."""
    return {"customer": None if uname is None else shop.first("customer_by_name", uname=uname)}


def order_inquiry(shop: Shop, customer: int | None) -> Page:
    known = None if customer is None else shop.first("customer_name", customer=customer)
    return {"uname": None if known is None else known["c_uname"]}


def order_display(shop: Shop, uname: str, password: str) -> Page:
    """The last order of a customer that knows the password."""
    customer = shop.first("customer_by_name", uname=uname)
    if customer is None or customer["c_passwd"] != password:
        return {"customer": None, "order": None, "lines": [], "total": None}
    order = shop.first("last_order", customer=customer["c_id"])
    if order is None:
        return {"customer": customer, "order": None, "lines": [], "total": None}
    number = order["o_id"]
    lines, total = shop.ask("order_lines", order=number), shop.first("order_total", order=number)
    return {"customer": customer, "order": order, "lines": lines, "total": total and total["total"]}
