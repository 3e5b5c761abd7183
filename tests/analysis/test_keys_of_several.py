"""Keys of columns of several sources: the pairs of the rows that were joined before, and not each with each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

TABLES = """
CREATE TABLE messages (channel BIGINT, id BIGINT, body STRING, PRIMARY KEY (channel, id));
CREATE TABLE members (usr BIGINT, channel BIGINT, PRIMARY KEY (usr, channel)) WITH CARDINALITY (channel, 300);
CREATE TABLE carts (usr INT, product INT, sku DOUBLE, PRIMARY KEY (usr, product, sku))
  WITH CARDINALITY (product, sku, 50);
CREATE TABLE products (id BIGINT PRIMARY KEY, family STRING, maker BIGINT);
CREATE TABLE makers (id BIGINT PRIMARY KEY, land INT);
CREATE TABLE variants (family STRING, sku DOUBLE, name STRING, PRIMARY KEY (family, sku));
CREATE TABLE taxes (land INT, family STRING, rate INT, PRIMARY KEY (land, family));
"""
SIZE = 20
LAST_MESSAGES = """
SELECT mb.channel, m.body FROM members mb
{0} (SELECT channel, MAX(id) AS id FROM messages GROUP BY channel) l ON l.channel = mb.channel
{0} messages m ON m.channel = {1}.channel AND m.id = l.id WHERE mb.usr = :u
"""
CART = """
SELECT c.product, v.name FROM carts c {0} products p ON p.id = c.product
{0} variants v ON v.family = p.family AND v.sku = c.sku WHERE c.usr = :u
"""
TAXES = """
SELECT c.product, t.rate FROM carts c JOIN products p ON p.id = c.product JOIN makers m ON m.id = p.maker
JOIN taxes t ON t.land = m.land AND t.family = p.family WHERE c.usr = :u
"""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    """Each product has a family, a maker and a land of its own, and each cart another variant of its product."""
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        numbers = range(SIZE)
        db.load("members", [{"usr": 1, "channel": n} for n in numbers])
        db.load("messages", [{"channel": n, "id": 100 * n + k, "body": f"{n} {k}"} for n in numbers for k in (1, 2)])
        db.load("carts", [{"usr": 1, "product": n, "sku": _sku(n)} for n in numbers])
        db.load("products", [{"id": n, "family": f"f{n}", "maker": n} for n in numbers])
        db.load("makers", [{"id": n, "land": n} for n in numbers])
        variants = [{"family": f"f{n}", "sku": _sku(k), "name": f"{n} {k}"} for n in numbers for k in numbers]
        db.load("variants", variants)
        db.load("taxes", [{"land": n, "family": f"f{k}", "rate": n - k} for n in numbers for k in numbers])
        yield db


def _sku(number: int) -> float:
    return float("nan") if number == 3 else number - 1.0


def _asked(db: vk.Database, sql: str) -> tuple[list[tuple[Any, ...]], int, int | None]:
    """The answer for user 1, the operations that it took, and its bound."""
    found = db.prepare(sql, create=True, maintain="SYNC")
    rows = found(u=1)
    return sorted(tuple(row.values()) for row in rows), rows.meta.operations, found.verdict.operations_max


@pytest.mark.parametrize("same", ["l", "mb"])
@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN"])
def test_columns_that_one_source_has_are_taken_from_that(db: vk.Database, join: str, same: str) -> None:
    rows, operations, most = _asked(db, LAST_MESSAGES.format(join, same))
    assert rows == [(n, f"{n} 2") for n in range(SIZE)]
    assert (operations, most) == (1 + SIZE + SIZE, 1 + 300 + 300)


@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN"])
def test_columns_of_two_sources_are_looked_up_in_pairs(db: vk.Database, join: str) -> None:
    rows, operations, most = _asked(db, CART.format(join))
    assert rows == [(n, f"{n} {n}") for n in range(SIZE)]
    assert (operations, most) == (1 + SIZE + SIZE, 1 + 50 + 50)


def test_what_links_two_sources_may_be_a_third_one(db: vk.Database) -> None:
    rows, operations, most = _asked(db, TAXES)
    assert rows == [(n, 0) for n in range(SIZE)]
    assert (operations, most) == (1 + 3 * SIZE, 1 + 3 * 50)


def test_sources_that_nothing_links_are_taken_each_with_each(db: vk.Database) -> None:
    sql = """SELECT t.rate FROM products p, makers m, taxes t
    WHERE p.id IN :ps MAX 5 AND m.id IN :ms MAX 4 AND t.land = m.land AND t.family = p.family"""
    assert db.explain(sql).operations_max == 5 + 4 + 20
    rows = db.query(sql, ps=[1, 2], ms=[1, 3])
    assert sorted(row["rate"] for row in rows) == [-1, 0, 1, 2]
    assert rows.meta.operations == 2 + 2 + 4


def test_rows_that_an_index_finds_belong_to_those_that_they_were_found_for(db: vk.Database) -> None:
    db.execute("CREATE INDEX by_maker ON products (maker) MAINTAIN SYNC")
    sql = """SELECT v.name FROM carts c
    LEFT JOIN products p ON p.maker = c.product AND p.id = c.product
    LEFT JOIN variants v ON v.family = p.family AND v.sku = c.sku WHERE c.usr = :u"""
    rows, operations, most = _asked(db, sql)
    assert len(rows) == SIZE
    assert most is not None
    assert operations <= 1 + SIZE + SIZE <= most
