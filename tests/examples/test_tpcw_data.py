"""The generator of the bookstore's data."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pyarrow as pa
import pytest

from examples.tpcw.clock import NOW
from examples.tpcw.generate import Sizes, slices, tables
from examples.tpcw.words import LAST_NAMES, SUBJECTS, TITLE_WORDS

SIZES = Sizes(400, 300)


def made(sizes: Sizes = SIZES, **options: int) -> dict[str, pa.Table]:
    parts: dict[str, list[pa.Table]] = {}
    for name, rows in tables(sizes, **options):
        parts.setdefault(name, []).append(rows)
    return {name: pa.concat_tables(rows) for name, rows in parts.items()}


@pytest.fixture(scope="module")
def data() -> dict[str, pa.Table]:
    return made()


def column(data: dict[str, pa.Table], table: str, name: str) -> list[object]:
    return data[table][name].to_pylist()


def test_tables_are_in_the_ratios_of_the_standard(data: dict[str, pa.Table]) -> None:
    counts = {name: len(rows) for name, rows in data.items()}
    lines = counts.pop("order_line")
    assert counts == {
        "country": 92,
        "address": 600,
        "customer": 300,
        "author": 100,
        "item": 400,
        "orders": 270,
        "cc_xacts": 270,
    }
    assert 2.5 < lines / 270 < 3.5


def test_the_same_seed_gives_the_same_rows_and_another_one_others(data: dict[str, pa.Table]) -> None:
    assert made() == data
    assert made(seed=2)["item"] != data["item"]


def test_keys_are_unique(data: dict[str, pa.Table]) -> None:
    for table, rows in data.items():
        key = ["ol_o_id", "ol_id"] if table == "order_line" else rows.column_names[:1]
        assert len(rows.group_by(key).aggregate([])) == len(rows), table


def test_what_is_referred_to_is_there(data: dict[str, pa.Table]) -> None:
    for table, name, other in (
        ("address", "addr_co_id", "country"),
        ("customer", "c_addr_id", "address"),
        ("item", "i_a_id", "author"),
        ("orders", "o_c_id", "customer"),
        ("orders", "o_bill_addr_id", "address"),
        ("orders", "o_ship_addr_id", "address"),
        ("order_line", "ol_o_id", "orders"),
        ("order_line", "ol_i_id", "item"),
        ("cc_xacts", "cx_o_id", "orders"),
        ("cc_xacts", "cx_co_id", "country"),
        *(("item", f"i_related{place}", "item") for place in range(1, 6)),
    ):
        assert set(column(data, table, name)) <= set(data[other].column(0).to_pylist()), name


@pytest.mark.parametrize("items", [6, 7, 12, 400])
def test_an_item_is_related_to_five_others(items: int) -> None:
    for row in made(Sizes(items, 1))["item"].to_pylist():
        assert len({row["i_id"], *(row[f"i_related{place}"] for place in range(1, 6))}) == 6


def test_every_author_has_an_item(data: dict[str, pa.Table]) -> None:
    assert set(column(data, "item", "i_a_id")) == set(column(data, "author", "a_id"))


def test_lines_have_the_copies_of_their_order_and_item(data: dict[str, pa.Table]) -> None:
    items = {row["i_id"]: row for row in data["item"].to_pylist()}
    orders = {row["o_id"]: row for row in data["orders"].to_pylist()}
    sums: Counter[int] = Counter()
    for line in data["order_line"].to_pylist():
        item, order = items[line["ol_i_id"]], orders[line["ol_o_id"]]
        assert (line["ol_o_date"], line["ol_i_subject"]) == (order["o_date"], item["i_subject"])
        assert line["ol_cost"] == item["i_cost"]
        sums[line["ol_o_id"]] += line["ol_qty"] * line["ol_cost"]
    assert sums == {number: order["o_sub_total"] for number, order in orders.items()}


def test_items_have_the_copies_of_their_authors(data: dict[str, pa.Table]) -> None:
    names = {row["a_id"]: row["a_lname"] for row in data["author"].to_pylist()}
    assert all(row["i_a_lname"] == names[row["i_a_id"]] for row in data["item"].to_pylist())


def test_an_order_has_an_item_once(data: dict[str, pa.Table]) -> None:
    pairs = list(zip(column(data, "order_line", "ol_o_id"), column(data, "order_line", "ol_i_id"), strict=True))
    assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize("hours", [1, 24])
def test_orders_lie_in_the_last_hours(hours: int) -> None:
    dates = column(made(hours=hours), "orders", "o_date")
    begin = NOW.replace(minute=0) - timedelta(hours=hours - 1)
    assert dates == sorted(dates)
    assert begin <= dates[0] < begin + timedelta(hours=hours) / 100
    assert NOW - timedelta(hours=hours) / 100 < dates[-1] < NOW


def test_what_visitors_search_for_is_there(data: dict[str, pa.Table]) -> None:
    titles = {word for text in column(data, "item", "i_title") for word in str(text).lower().split()}
    names = {word for text in column(data, "author", "a_lname") for word in str(text).split("-")}
    assert titles == set(TITLE_WORDS)
    assert names == set(LAST_NAMES)
    assert set(column(data, "item", "i_subject")) == set(SUBJECTS)


def test_slices_cover_the_numbers_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("examples.tpcw.generate.SLICE", 4)
    for count in range(1, 14):
        assert [number for part in slices(count) for number in part] == list(range(1, count + 1))


def test_a_store_too_small_for_related_items_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 6 items"):
        Sizes(5, 1)
