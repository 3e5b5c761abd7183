"""Joins with a window of a staging view on Spark: its tasks look the other sides up, and find the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import viewkeeper as vk
from tests.pipeline.recent import BEST_SELLERS, LOOKED_UP, READ_WHOLE, load, make, some_orders, text_of
from tests.pipeline.shop import store_of
from tests.pipeline.staging import everything_read, rows_of, view_of
from viewkeeper.execute.encodedrows import EncodedRows
from viewkeeper.pipeline import backfill
from viewkeeper.pipeline.periodic import refresh
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.wholefill import whole_fill
from viewkeeper.views.bound import bound_views

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KINDS = [
    "a table twice",
    "one after the other",
    "by a value that converts",
    "with a constant",
    "a join",
    "partners or none",
    "those that the window has",
    "two windows",
    "what fails on rows",
    "left of a partner",
]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db") as opened:
        make(opened)
        yield opened


def test_a_refresh_on_spark_reads_as_many_rows_however_large_the_other_table_is(
    db: vk.Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(1)
    load(db, some_orders(chance, range(30), dates=range(100, 900)))
    db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text_of(BEST_SELLERS, 10)}")
    monkeypatch.setattr(backfill, "SMALL", 0)
    lines: list[int] = []
    for more in (range(0), range(1000, 4000)):
        load(db, some_orders(chance, more, dates=range(100)))
        db.execute("UPDATE orders SET o_x = 1 WHERE o_id = 29")
        db.maintain(views=["staging"])
        made = refresh(store_of(db), SparkSource(spark), view_of(db, "V"))
        assert made.engine == "spark"
        with everything_read():
            db.execute(f"CREATE OR REPLACE VIEW W PERIODIC 1 MIN {text_of(BEST_SELLERS, 10)}")
        assert rows_of(db, "V") == rows_of(db, "W")
        newest = db.query("SELECT o_id FROM staging ORDER BY o_date DESC LIMIT 10", allow_scan=True)
        ids = {row["o_id"] for row in newest}
        found = sum(row["ol_o_id"] in ids for row in db.scan("line"))
        staged = made.read - found
        assert 10 <= staged <= 3 * 10
        lines.append(found)
        db.execute("UPDATE orders SET o_x = 2 WHERE o_id = 29")
    assert lines[0] == lines[1] > 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_rows_on_spark_are_those_that_all_rows_would_give_also_of_an_earlier_position(
    db: vk.Database, spark: SparkSession, kind: str
) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    store = store_of(db)
    load(db, some_orders(chance, range(60), dates=range(5)))
    text = text_of(LOOKED_UP[kind][0] if kind in LOOKED_UP else READ_WHOLE[kind], *chance.choice([(7, 0), (20, 3)]))
    with everything_read():
        db.execute(f"CREATE VIEW W PERIODIC 1 HOUR {text}")
    position = store.offset(store.head())
    with store.view_tables.reading([view_of(db, "W").id]) as reading:
        expected = Counter(row for _, row in reading.stored(view_of(db, "W").id))
    # What was looked up is changed now, or gone.
    load(db, some_orders(chance, range(40, 90), dates=range(2, 7)))
    db.execute("DELETE FROM line WHERE ol_o_id >= 20 AND ol_o_id < 50")
    db.maintain(views=["staging", "by_item"])
    bound = bound_views(store)
    one = bound.views[view_of(db, "W").id]
    found: Counter[bytes] = Counter()
    errors, read = 0, dict[int, int]()
    for piece in whole_fill(SparkSource(spark).session(), store, bound, one, position, read):
        assert isinstance(piece.changes, EncodedRows)
        errors += piece.errors
        found.update(dict(zip(piece.changes.rows, piece.changes.weights, strict=True)))
    assert found == expected, f"seed {seed}: {text}"
    (status,) = (view for view in db.status() if view.view == "W")
    assert errors == status.errors
    looked_up = LOOKED_UP[kind][1].count(" by ") if kind in LOOKED_UP else 0
    assert len(read) == looked_up + (2 if kind == "two windows" else 1)
