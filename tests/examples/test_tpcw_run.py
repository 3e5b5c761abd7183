"""The bookstore with visitors."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import viewkeeper as vk
from examples.tpcw.accounts import Address
from examples.tpcw.admin import admin_confirm
from examples.tpcw.generate import Sizes, fill
from examples.tpcw.mixes import INTERACTIONS, MIXES
from examples.tpcw.pages import best_sellers, order_display
from examples.tpcw.purchases import Card, buy_confirm, shopping_cart
from examples.tpcw.run import main, visit
from examples.tpcw.shop import Shop, open_shop
from examples.tpcw.visitor import Visitor
from examples.tpcw.words import COUNTRIES, country_name, user_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = Sizes(100, 50)
CARD = Card(kind="VISA", number="1", name="New Reader")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    with vk.open(tmp_path / "db", durability="os") as db:
        fill(db, SIZES, hours=1)
        yield open_shop(db, "SYNC")


def test_every_interaction_shows_its_page(shop: Shop) -> None:
    visitor = Visitor(shop, SIZES, 1)
    for name in INTERACTIONS:
        pages = [visitor.perform(name)[0] for _ in range(5)]
        assert any(all(page.values()) for page in pages), name


def test_views_are_true_after_visits(shop: Shop) -> None:
    for mix in MIXES:
        visit(shop, SIZES, mix, seconds=0.5, threads=2, seed=3)
    assert shop.db.views()
    for view in shop.db.views():
        assert shop.db.verify(view.name).ok, view.name


def test_a_purchase_is_displayed_sold_and_taken_from_the_cart(shop: Shop) -> None:
    item = shop.ask("product_detail", item=9)[0]
    before = {row["i_id"]: row["sold"] for row in best_sellers(shop, item["i_subject"])["items"]}
    cart = shopping_cart(shop, None, None, {9: 3, 10: 1}, 1)
    assert [(line["scl_i_id"], line["scl_qty"]) for line in cart["lines"]] == [(9, 3), (10, 1)]
    bought = buy_confirm(shop, 5, cart["cart"], CARD)
    shown = order_display(shop, user_name(5), user_name(5).upper())
    assert shown["order"]["o_id"] == bought["order"]
    assert [(line["ol_i_id"], line["ol_qty"]) for line in shown["lines"]] == [(9, 3), (10, 1)]
    assert shown["total"] == cart["total"]["total"]
    assert shop.ask("cart", cart=cart["cart"]) == []
    after = {row["i_id"]: row["sold"] for row in best_sellers(shop, item["i_subject"])["items"]}
    assert after[9] == before.get(9, 0) + 3


def test_a_payment_is_of_the_country_that_the_bill_goes_to(shop: Shop) -> None:
    home = shop.first("customer_by_name", uname=user_name(5))
    assert home is not None
    country = shop.first("country_by_name", name=home["co_name"])
    assert country is not None
    abroad = country_name(country["co_id"] % COUNTRIES + 1)
    for ship_to in (None, Address(street1="1", street2="", city="", state="", zip="", country=abroad)):
        cart = shopping_cart(shop, None, None, {9: 1}, 1)["cart"]
        bought = buy_confirm(shop, 5, cart, CARD, ship_to)
        paid = shop.db.get("cc_xacts", bought["order"])
        assert paid is not None
        assert paid["cx_co_id"] == country["co_id"]


def test_an_empty_cart_is_not_bought(shop: Shop) -> None:
    assert buy_confirm(shop, 5, 12345, CARD) == {"order": None, "total": None}


def test_what_is_bought_together_becomes_related(shop: Shop) -> None:
    for _ in range(9):
        cart = shopping_cart(shop, None, None, {20: 1, 21: 1}, 1)["cart"]
        buy_confirm(shop, 5, cart, CARD)
    page = admin_confirm(shop, 20, Decimal("9.99"), "image", "thumbnail")
    assert page["together"][0] == 21
    item = shop.db.get("item", 20)
    assert item is not None
    assert (item["i_related1"], item["i_cost"], item["i_image"]) == (21, Decimal("9.99"), "image")
    assert len({item[f"i_related{place}"] for place in range(1, 6)}) == 5


def test_a_page_over_deferred_indexes_shows_all_as_of_one_moment(tmp_path: Path, spark: SparkSession) -> None:
    with vk.open(tmp_path / "db", durability="os") as db:
        fill(db, SIZES, hours=1)
        shop = open_shop(db, "DEFERRED")
        item = db.get("item", 9)
        assert item is not None
        subject = item["i_subject"]
        before = shop.ask("search_by_subject", subject=subject)
        db.put("item", {"i_id": 9, "i_title": "A title of its own"})
        db.put("author", {"a_id": item["i_a_id"], "a_lname": "Another"})
        assert shop.ask("search_by_subject", subject=subject) == before
        db.maintain(spark=spark)
        [found] = shop.ask("search_by_title", word="own")
        assert (found["i_id"], found["a_lname"]) == (9, "Another")
        assert found in shop.ask("search_by_subject", subject=subject)


def test_another_password_shows_no_order(shop: Shop) -> None:
    assert order_display(shop, user_name(5), "wrong")["customer"] is None


@pytest.mark.parametrize("mix", MIXES)
def test_a_run_prints_a_line_for_each_interaction_that_came(mix: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--items", "100", "--customers", "50", "--mix", mix, "--seconds", "1"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[1].split() == ["interaction", "count", "p50", "ms", "p99", "ms"]
    names = {line[:22].strip().replace(" ", "_") for line in printed[2:]}
    assert {"home", "product_detail", "search_request", "search_results"} <= names <= set(INTERACTIONS)
