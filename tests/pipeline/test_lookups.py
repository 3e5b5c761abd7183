"""Joins with a window of a staging view: the other sides are looked up, and give what all of their rows would."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.pipeline.recent import BEST_SELLERS, LOOKED_UP, READ_WHOLE, load, make, some_orders, text_of
from tests.pipeline.shop import store_of
from tests.pipeline.staging import counted, everything_read, rows_of, view_of
from viewkeeper.pipeline.periodic import refresh


@pytest.fixture
def chance() -> random.Random:
    seed = random.SystemRandom().randrange(1 << 32)
    print("seed", seed)
    return random.Random(seed)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db") as opened:
        make(opened)
        yield opened


def _looked_up(db: vk.Database, view: str) -> str:
    """What is looked up, as in `recent`."""
    found = (read.partition(", for the rows of ")[0] for read in db.explain_view(view).reads if ": by (" in read)
    return ", ".join(read.replace(": by", " by") for read in found)


@pytest.mark.parametrize("kind", [*LOOKED_UP, *READ_WHOLE])
def test_the_rows_are_those_that_all_rows_would_give(db: vk.Database, chance: random.Random, kind: str) -> None:
    query, expected = LOOKED_UP[kind] if kind in LOOKED_UP else (READ_WHOLE[kind], "")
    load(db, some_orders(chance, range(60), dates=range(5)))
    seen = 0
    for count, offset in ((0, 0), (7, 0), (20, 3), (500, 0)):
        text = text_of(query, count, offset)
        db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text}")
        assert _looked_up(db, "V") == expected
        with everything_read():
            db.execute(f"CREATE VIEW W PERIODIC 1 MIN {text}")
        assert rows_of(db, "V") == rows_of(db, "W"), text
        load(db, some_orders(chance, range(50 + 10 * seen % 30, 90), dates=range(2, 7)))
        db.execute(f"DELETE FROM line WHERE ol_o_id = {chance.randrange(4, 90)}")
        db.maintain(views=["staging", "by_item"])
        refresh(store_of(db), None, view_of(db, "V"))
        with everything_read():
            refresh(store_of(db), None, view_of(db, "W"))
        assert rows_of(db, "V") == rows_of(db, "W"), text
        first, second = (view for view in db.status() if view.view in "VW")
        assert first.errors == second.errors
        assert (first.errors > 0) == ("fail" in kind)
        seen += rows_of(db, "V").total()
        db.execute("DROP VIEW V")
        db.execute("DROP VIEW W")
    assert seen


@pytest.mark.parametrize("kind", LOOKED_UP)
def test_a_refresh_reads_as_many_rows_however_large_the_other_tables_are(
    db: vk.Database, chance: random.Random, kind: str
) -> None:
    load(db, some_orders(chance, range(30), dates=range(100, 900)))
    db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text_of(LOOKED_UP[kind][0], 10)}")
    read = []
    for more in (range(0), range(1000, 4000)):
        # Older orders, and lines of theirs; what is looked up by the window stays as it is.
        older = some_orders(chance, more, dates=range(100))
        db.load("orders", older["orders"])
        db.load("line", [{**row, "ol_i_id": 5000} for row in older["line"]])
        db.load("heavy", [{"x": 1000.5 + number, "n": 1} for number in more])
        db.load("item", [{"i_id": number, "i_title": "other"} for number in more])
        db.execute("UPDATE orders SET o_c = 99 WHERE o_id = 29")
        db.maintain(views=["staging", "by_item"])
        with counted() as found:
            made = refresh(store_of(db), None, view_of(db, "V"))
        found -= {"V": found["V"]}
        assert made.read == sum(found.values())
        (status,) = (view for view in db.status() if view.view == "V")
        assert status.batch_rows == made.read
        read.append({name: count for name, count in found.items() if name != "staging"})
        assert found["staging"] <= 3 * 10 + 3 * 30 * (kind == "two windows")
        db.execute("UPDATE orders SET o_c = 98 WHERE o_id = 29")
    assert read[0] == read[1]


def test_each_value_is_looked_up_once(db: vk.Database) -> None:
    db.load("orders", [{"o_id": number, "o_date": number, "o_c": 7} for number in range(50)])
    db.load("line", [{"ol_o_id": 7, "ol_id": number} for number in range(5)])
    db.maintain(views=["staging"])
    db.execute(
        "CREATE VIEW V PERIODIC 1 MIN SELECT o_id, ol_id FROM (SELECT * FROM staging ORDER BY o_date DESC LIMIT 20) "
        "AS w JOIN line ON ol_o_id = o_c"
    )
    with counted() as found:
        db.load("orders", [{"o_id": 51, "o_date": 51, "o_c": None}])
        db.maintain(views=["staging"])
        refresh(store_of(db), None, view_of(db, "V"))
    assert found["line"] == 5
    assert rows_of(db, "V").total() == 19 * 5


def test_only_rows_of_the_window_are_looked_up_by_not_all_that_it_read(db: vk.Database) -> None:
    db.load("orders", [{"o_id": number, "o_date": number} for number in range(90)])
    db.load("line", [{"ol_o_id": number, "ol_id": 1} for number in range(90)])
    db.maintain(views=["staging"])
    with counted() as found:
        db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text_of(BEST_SELLERS, 10)}")
    assert (found["staging"], found["line"]) == (3 * 10, 10)


def test_null_is_not_looked_up(db: vk.Database) -> None:
    db.load("orders", [{"o_id": number, "o_date": number, "o_c": None if number else 1} for number in range(9)])
    db.load("line", [{"ol_o_id": number, "ol_id": 1, "ol_i_id": None if number else 1} for number in range(9)])
    db.maintain(views=["staging", "by_item"])
    text = "SELECT o_id, o FROM (SELECT * FROM staging ORDER BY o_date DESC LIMIT 20) AS w JOIN by_item ON i = o_c"
    with counted() as found:
        db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text}")
    assert (found["by_item"], rows_of(db, "V").total()) == (1, 1)


def test_explain_tells_what_is_looked_up(db: vk.Database) -> None:
    db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text_of(LOOKED_UP['one after the other'][0], 10)}")
    assert db.explain_view("V").reads == (
        "staging: the first 10 rows of each of 3 parts, 30 at most",
        "line: by (ol_o_id), for the rows of staging",
        "item: by (i_id), for the rows of line",
        "by_item: by (i), for the rows of item",
        "heavy: by (x), for the rows of staging",
    )


def test_a_value_that_stands_for_a_missing_partner_is_looked_up_by_nobody(
    db: vk.Database, chance: random.Random
) -> None:
    load(db, some_orders(chance, range(40), dates=range(5)))
    text = """SELECT o_id, i_id, i_title FROM (SELECT o_id, COALESCE(ol_i_id, 3) AS i FROM (SELECT o_date, o_id
        FROM staging ORDER BY o_date DESC LIMIT 30) AS w LEFT JOIN line ON ol_o_id = o_id) AS t
        JOIN item ON i_id = t.i"""
    db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text}")
    with everything_read():
        db.execute(f"CREATE VIEW W PERIODIC 1 MIN {text}")
    assert _looked_up(db, "V") == "line by (ol_o_id)"
    assert rows_of(db, "V") == rows_of(db, "W")


def test_a_query_that_may_scan_looks_up_too(db: vk.Database, chance: random.Random) -> None:
    load(db, some_orders(chance, range(300), dates=range(900)))
    with counted() as found:
        rows = list(db.query(text_of(BEST_SELLERS, 10), allow_scan=True))
    assert 0 < found["line"] <= 10 * 4
    with everything_read():
        assert sorted(map(repr, rows)) == sorted(map(repr, db.query(text_of(BEST_SELLERS, 10), allow_scan=True)))
