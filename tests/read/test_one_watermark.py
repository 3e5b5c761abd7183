"""All rows of one answer are as of one watermark, however long they are taken and whatever is applied meanwhile."""

from __future__ import annotations

import threading
from itertools import islice

import pytest

import viewkeeper as vk
from tests.read.moving import move, put_orders, store_of, values

ROWS = 3_000


@pytest.fixture
def costs(db: vk.Database) -> vk.Database:
    put_orders(db, *((number, "s", number) for number in range(ROWS)))
    db.execute("CREATE INDEX ByCost ON Orders (cost) INCLUDE (shop)")
    return db


def change_all(db: vk.Database, shop: str) -> None:
    """Rows go, come, and change, everywhere in the key order."""
    with db.transaction() as tx:
        for number in range(0, ROWS, 3):
            tx.delete("Orders", number)
        for number in range(1, ROWS, 3):
            tx.put("Orders", {"id": number, "shop": shop})
        for number in range(ROWS, ROWS + 500):
            tx.put("Orders", {"id": number, "shop": shop, "cost": number})
    move(db)


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_behind_the_first_slice_are_those_of_the_first(costs: vk.Database, reverse: bool) -> None:
    expected = [(number, "s") for number in range(ROWS)]
    if reverse:
        expected.reverse()
    rows = costs.scan("ByCost", reverse=reverse)
    position = rows.meta.position
    taken = iter(rows)
    begun = values(islice(taken, 10))
    change_all(costs, "t")
    begun += values(islice(taken, 700))
    change_all(costs, "u")
    assert begun + values(taken) == expected
    assert rows.meta.position == position
    assert not position.covers(costs.scan("ByCost").meta.position)
    assert values(costs.scan("ByCost", limit=2)) == [(1, "u"), (2, "s")]


def test_a_query_over_several_ranges_is_as_of_one_watermark(costs: vk.Database) -> None:
    rows = iter(costs.query("SELECT cost, shop FROM ByCost WHERE cost IN (0, 1, 2, 2998)", allow_scan=True))
    first = next(rows)
    change_all(costs, "t")
    assert [tuple(first.values()), *values(rows)] == [(number, "s") for number in (0, 1, 2, 2998)]


def test_no_reader_is_left_open_while_rows_are_held(costs: vk.Database) -> None:
    before = store_of(costs).reader_count()
    rows = iter(costs.scan("ByCost"))
    next(rows)
    assert store_of(costs).reader_count() == before


def test_rows_of_one_batch_are_seen_whole_while_batches_are_applied(db: vk.Database) -> None:
    """Each transaction moves an amount from one row to another, so every answer has the same sum."""
    put_orders(db, *((number, f"s{number:03}", 100) for number in range(300)))
    db.execute("CREATE MATERIALIZED VIEW Sums AS SELECT shop, SUM(cost) AS total FROM Orders GROUP BY shop")
    done = threading.Event()
    written: list[int] = []

    def write() -> None:
        try:
            for step in range(150):
                left, right = step * 7 % 300, (step * 7 + 150) % 300
                put_orders(db, (left, f"s{left:03}", 100 + step), (right, f"s{right:03}", 100 - step))
                move(db)
                written.append(step)
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    sums: set[int] = set()
    positions: set[str] = set()
    last = db.scan("Sums", limit=0).meta.position
    while not done.is_set() or not positions:
        rows = db.scan("Sums")
        sums.add(sum(row["total"] for row in rows))
        assert rows.meta.rows == 300
        assert rows.meta.position.covers(last)
        last = rows.meta.position
        positions.add(str(last))
    writer.join()
    assert len(written) == 150
    assert sums == {30_000}


def test_a_view_dropped_while_it_is_read_is_told(costs: vk.Database) -> None:
    rows = iter(costs.scan("ByCost"))
    next(rows)
    costs.execute("DROP INDEX ByCost")
    with pytest.raises(vk.TableDropped, match='view "ByCost" was dropped, replaced or moved while it was read'):
        list(rows)


def test_a_view_replaced_between_two_reads_is_read_as_it_is_then(costs: vk.Database) -> None:
    costs.execute("CREATE MATERIALIZED VIEW V AS SELECT id, shop FROM Orders")
    assert costs.get("V", 1) == {"id": 1, "shop": "s"}
    costs.execute("CREATE OR REPLACE MATERIALIZED VIEW V AS SELECT id, cost FROM Orders")
    assert costs.get("V", 1) == {"id": 1, "cost": 1}
    assert costs.scan("V", limit=1).all() == [{"id": 0, "cost": 0}]
