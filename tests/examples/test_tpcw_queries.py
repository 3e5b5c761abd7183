"""Every query of the bookstore, asked of viewkeeper and of SQLite over the same rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewkeeper as vk
from examples.tpcw.clock import NOW
from examples.tpcw.generate import SCHEMA, Sizes, fill, tables
from examples.tpcw.shop import TUPLE_WINDOWS, Shop, named_queries, open_shop
from examples.tpcw.words import LAST_NAMES, SUBJECTS
from tests.examples.sqlite_store import SqliteStore, plain_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = Sizes(100, 60)
HOURS = 1
HOUR = NOW.replace(minute=0)
QUERIES = {name: sql for name, sql in named_queries().items() if name not in TUPLE_WINDOWS}
ORDERED = {name for name, sql in QUERIES.items() if "ORDER BY" in sql}
LEVELS = {
    "new_products": "SI-1",
    "best_sellers": "SI-2",
    "search_by_author": "SI-1",
    "search_by_title": "SI-1",
    "search_by_subject": "SI-1",
    "customer_by_name": "SI-1",
    "country_by_name": "SI-1",
    "same_address": "SI-1",
    "last_order": "SI-1",
    "bought_together": "SI-2",
    "best_sellers_last_orders": "SI-3",
    "bought_together_last_orders": "SI-3",
}
"""Those that are not answered from primary keys alone."""
CARTS = [
    {"scl_sc_id": cart, "scl_i_id": item, "scl_qty": cart + item % 3, "scl_cost": item}
    for cart in (1, 2)
    for item in range(1, 30 * cart, 7)
]


def asked(store: SqliteStore) -> dict[str, list[dict[str, Any]]]:
    """Parameters of each query: some that find rows, and some that find none."""
    [address] = store.ask("SELECT * FROM address WHERE addr_id = 7")
    subjects = [{"subject": subject} for subject in ("ARTS", "YOUTH", "HOME", "none")]
    items = [{"item": item} for item in (1, 50, 100, 101)]
    words = [{"word": word} for word in ("birchsong", "glass", "emberpath")]
    lists: list[dict[str, Any]] = [{"items": chosen} for chosen in ([3, 1, 2], [5, 5, 1000], [])]
    fields = {name: address[f"addr_{name}"] for name in ("street1", "street2", "city", "state", "zip")}
    return {
        "customer_name": [{"customer": 1}, {"customer": 61}],
        "related": items,
        "thumbnails": lists,
        "new_products": subjects,
        "best_sellers": [{**one, "hour": HOUR} for one in subjects] + [{"subject": "ARTS", "hour": NOW}],
        "titles": [*lists, {"items": list(range(1, 51))}],
        "product_detail": items,
        "search_by_author": [{"word": word} for word in ("dahl", "ito", "castro", "x")],
        "search_by_title": words,
        "search_by_subject": subjects,
        "cart": [{"cart": cart} for cart in (1, 2, 3)],
        "cart_total": [{"cart": cart} for cart in (1, 2, 3)],
        "customer_by_name": [{"uname": "reader1"}, {"uname": "reader60"}, {"uname": "reader"}],
        "country_by_name": [{"name": "Country 92"}, {"name": "Country"}],
        "same_address": [{**fields, "country": country} for country in (address["addr_co_id"], 93)],
        "last_order": [{"customer": customer} for customer in range(1, 62, 4)],
        "order_lines": [{"order": order} for order in (1, 54, 55)],
        "order_total": [{"order": order} for order in (1, 54, 55)],
        "bought_together": [{**one, "hour": HOUR} for one in items],
    }


@pytest.fixture(scope="module")
def store() -> SqliteStore:
    import pyarrow as pa

    return SqliteStore([*tables(SIZES, hours=HOURS), ("shopping_cart_line", pa.Table.from_pylist(CARTS))])


@pytest.fixture(scope="module", params=["SYNC", "DEFERRED"])
def shop(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with vk.open(tmp_path_factory.mktemp("tpcw") / "db", durability="os") as db:
        fill(db, SIZES, hours=HOURS)
        db.load("shopping_cart_line", CARTS)
        yield open_shop(db, request.param)


def test_every_query_is_asked(store: SqliteStore) -> None:
    assert asked(store).keys() == QUERIES.keys()


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_answers_as_sqlite_does(shop: Shop, store: SqliteStore, name: str) -> None:
    found = 0
    for params in asked(store)[name]:
        ours, theirs = plain_rows(shop.ask(name, **params)), store.ask(QUERIES[name], **params)
        if name not in ORDERED:
            ours, theirs = (sorted(rows, key=lambda row: list(map(str, row.values()))) for rows in (ours, theirs))
        assert ours == [pytest.approx(row) for row in theirs], params
        found += len(theirs)
    assert found, "none of the parameters finds a row"


def test_a_search_by_author_is_over_all_authors_with_the_word(tmp_path: Path) -> None:
    """By the names that authors have themselves, as the standard asks."""
    sizes = Sizes(1_200, 1)
    store = SqliteStore(tables(sizes))
    sql = """SELECT i_id, i_title, a_fname, a_lname FROM item JOIN author ON i_a_id = a_id
    WHERE TOKENS(a_lname) = :word ORDER BY i_title, i_id LIMIT 50"""
    with vk.open(tmp_path / "db", durability="os") as db:
        fill(db, sizes)
        shop = open_shop(db, "SYNC", only=["search_by_author"])
        for word in map(str.lower, LAST_NAMES):
            found = shop.ask("search_by_author", word=word)
            assert len(found) == 50
            assert found == store.ask(sql, word=word)


@pytest.mark.parametrize("name", sorted(TUPLE_WINDOWS))
def test_a_query_over_the_last_orders_answers_as_sqlite_does(
    tmp_path: Path, store: SqliteStore, spark: SparkSession, name: str
) -> None:
    whole = named_queries()[name]
    sql = re.sub(r"LIMIT \d{4,}", "LIMIT 20", whole)
    params: list[dict[str, Any]] = [{"subject": subject} for subject in SUBJECTS]
    if ":item" in sql:
        params = [{"item": item} for item in range(SIZES.items + 2)]
    theirs = [store.ask(sql, **one) for one in params]
    assert theirs != [store.ask(whole, **one) for one in params], "no order is before the last ones"
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(SCHEMA)
        query = db.prepare(sql, create=True, name=name)
        for table, rows in tables(SIZES, hours=HOURS):
            db.load(table, rows)
        db.maintain(spark=spark)
        assert [plain_rows(query(**one)) for one in params] == theirs
        assert query.verdict.level == "SI-3"


@pytest.mark.parametrize("name", named_queries())
def test_a_query_has_its_level(name: str, tmp_path: Path) -> None:
    with vk.open(tmp_path / "db") as db:
        fill(db, Sizes(6, 1))
        assert db.explain(named_queries()[name]).level == LEVELS.get(name, "SI-0")
