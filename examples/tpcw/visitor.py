"""Someone who visits the bookstore: who it is, what is in the cart, and what is asked for next, by chance."""

from __future__ import annotations

import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from random import Random

from examples.tpcw import admin, pages, purchases
from examples.tpcw.accounts import Address
from examples.tpcw.generate import Sizes
from examples.tpcw.pages import Page
from examples.tpcw.shop import Shop
from examples.tpcw.words import CARDS, COUNTRIES, LAST_NAMES, SUBJECTS, TITLE_WORDS, country_name, user_name

NEW_CUSTOMERS = 0.2
ELSEWHERE = 0.05
"""How many of the orders go to an address that is entered for them."""
TIMES = 5
"""How often a cart is looked at before there is another one."""


class Visitor:
    """Does one interaction after the other. For one thread."""

    def __init__(self, shop: Shop, sizes: Sizes, seed: int) -> None:
        self.shop = shop
        self.sizes = sizes
        self.draw = Random(seed)
        self.customer = self.draw.randint(1, sizes.customers)
        self.cart: int | None = None
        self._looked = 0
        self._calls: dict[str, Callable[[], Callable[[], Page]]] = {
            "home": lambda: partial(pages.home, shop, self._customer(), self._item()),
            "new_products": lambda: partial(pages.new_products, shop, self._subject()),
            "best_sellers": lambda: partial(pages.best_sellers, shop, self._subject()),
            "product_detail": lambda: partial(pages.product_detail, shop, self._item()),
            "search_request": lambda: partial(pages.search_request, shop, self._item()),
            "search_results": self._search,
            "shopping_cart": self._fill_cart,
            "customer_registration": lambda: partial(pages.customer_registration, shop, self._known()),
            "buy_request": self._buy_request,
            "buy_confirm": self._buy_confirm,
            "order_inquiry": lambda: partial(pages.order_inquiry, shop, self._customer()),
            "order_display": self._order_display,
            "admin_request": lambda: partial(admin.admin_request, shop, self._item()),
            "admin_confirm": self._admin_confirm,
        }

    def perform(self, name: str) -> tuple[Page, float]:
        """The page of an interaction and the seconds that it took; what it asks for is drawn before."""
        if name in ("buy_request", "buy_confirm") and self.cart is None:
            self.cart = self._fill_cart()()["cart"]
        call = self._calls[name]()
        began = time.perf_counter()
        page = call()
        taken = time.perf_counter() - began
        if name == "shopping_cart":
            self.cart = page["cart"]
        elif name == "buy_confirm":
            self.cart = None
        return page, taken

    def _customer(self) -> int:
        """Somebody, and from now on it is this one."""
        self.customer = self.draw.randint(1, self.sizes.customers)
        return self.customer

    def _known(self) -> str | None:
        return None if self.draw.random() < NEW_CUSTOMERS else user_name(self._customer())

    def _item(self) -> int:
        return self.draw.randint(1, self.sizes.items)

    def _subject(self) -> str:
        return self.draw.choice(SUBJECTS)

    def _search(self) -> Callable[[], Page]:
        kind, words = self.draw.choice(
            (("author", LAST_NAMES), ("title", TITLE_WORDS), ("subject", SUBJECTS)),
        )
        return partial(pages.search_results, self.shop, kind, self.draw.choice(words))

    def _fill_cart(self) -> Callable[[], Page]:
        """One to five items at first, then one more."""
        self._looked += 1
        if self.cart is None or self._looked % TIMES == 0:
            chosen = {self._item(): self.draw.randint(1, 4) for _ in range(self.draw.randint(1, 5))}
            return partial(purchases.shopping_cart, self.shop, None, None, chosen, self._item())
        return partial(purchases.shopping_cart, self.shop, self.cart, self._item(), {}, self._item())

    def _buy_request(self) -> Callable[[], Page]:
        assert self.cart is not None
        return partial(purchases.buy_request, self.shop, self._known(), self._address(), self.cart)

    def _buy_confirm(self) -> Callable[[], Page]:
        assert self.cart is not None
        card = purchases.Card(
            kind=self.draw.choice(CARDS), number=f"{self.draw.randrange(10**16):016}", name="New Reader"
        )
        ship_to = self._address() if self.draw.random() < ELSEWHERE else None
        return partial(purchases.buy_confirm, self.shop, self.customer, self.cart, card, ship_to)

    def _order_display(self) -> Callable[[], Page]:
        name = user_name(self._customer())
        return partial(pages.order_display, self.shop, name, name.upper())

    def _admin_confirm(self) -> Callable[[], Page]:
        item, cost = self._item(), Decimal(self.draw.randrange(100, 10_000)) / 100
        version = self.draw.randrange(100)
        image, thumbnail = f"img{version}/image_{item}.gif", f"img{version}/thumb_{item}.gif"
        return partial(admin.admin_confirm, self.shop, item, cost, image, thumbnail)

    def _address(self) -> Address:
        draw = self.draw
        return Address(
            street1=f"Street {draw.getrandbits(48):012x}",
            street2=f"House {draw.getrandbits(32):08x}",
            city=f"City {draw.getrandbits(16):04x}",
            state=f"S{draw.randrange(100):02}",
            zip=f"{draw.randrange(100_000):05}",
            country=country_name(draw.randint(1, COUNTRIES)),
        )
