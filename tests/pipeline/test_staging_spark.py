"""First rows of staging views, read by Spark's tasks: as few as in one process, and the same."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import viewkeeper as vk
from tests.pipeline.shop import store_of
from tests.pipeline.staging import ORDERS, POPULAR, STAGING, TAGS, everything_read, rows_of, some_tags, view_of
from viewkeeper.execute.encodedrows import EncodedRows
from viewkeeper.pipeline import backfill
from viewkeeper.pipeline.periodic import refresh
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.wholefill import whole_fill
from viewkeeper.views.bound import bound_views

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db") as opened:
        opened.execute(TAGS)
        yield opened


@pytest.mark.parametrize("mode", ["DEFERRED", "SYNC"])
def test_a_refresh_on_spark_reads_no_more_rows_than_parts_times_limit(
    db: vk.Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    chance = random.Random(mode)
    db.execute(STAGING.format(mode=mode, parts=16))
    db.execute(POPULAR.format(count=10))
    monkeypatch.setattr(backfill, "SMALL", 0)
    for count in (500, 5000):
        db.load("Tags", some_tags(chance, count, moments=900))
        db.maintain(views=["Staging"])
        made = refresh(store_of(db), SparkSource(spark), view_of(db, "Popular"))
        assert (made.engine, made.read) == ("spark", 16 * 10)
        with everything_read():
            db.execute(POPULAR.replace("Popular", "Whole").format(count=10))
        assert rows_of(db, "Popular") == rows_of(db, "Whole")
        db.execute("DROP VIEW Whole")


@pytest.mark.parametrize("kind", ORDERS)
def test_the_rows_on_spark_are_those_that_all_rows_would_give_also_of_an_earlier_position(
    db: vk.Database, spark: SparkSession, kind: str
) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    shown, order = ORDERS[kind]
    store = store_of(db)
    mode, parts = chance.choice(["SYNC", "DEFERRED"]), chance.choice([1, 3, 16])
    db.execute(STAGING.format(mode=mode, parts=parts))
    db.load("Tags", some_tags(chance, 150))
    db.maintain()
    count, offset = chance.choice([(1, 0), (7, 0), (5, 30), (40, 3), (500, 1)])
    text = f"SELECT {shown} FROM Staging ORDER BY {order} LIMIT {count} OFFSET {offset}"
    with everything_read():
        db.execute(f"CREATE VIEW V PERIODIC 1 HOUR {text}")
    position = store.offset(store.head())
    with store.view_tables.reading([view_of(db, "V").id]) as reading:
        expected = Counter(row for _, row in reading.stored(view_of(db, "V").id))
    # The first rows of before are among others now, or gone.
    db.load("Tags", some_tags(chance, 60, moments=6))
    db.execute("DELETE FROM Tags WHERE docId = 1")
    db.maintain(views=["Staging"])
    bound = bound_views(store)
    found: Counter[bytes] = Counter()
    read: dict[int, int] = {}
    for piece in whole_fill(
        SparkSource(spark).session(), store, bound, bound.views[view_of(db, "V").id], position, read
    ):
        assert isinstance(piece.changes, EncodedRows)
        found.update(dict(zip(piece.changes.rows, piece.changes.weights, strict=True)))
    assert found == expected, f"seed {seed}: {mode} {parts} {text}"
    assert bool(read) == (kind not in ("not as stored", "by what fails"))
    if kind in ("as stored", "all backwards"):
        assert read[0] <= parts * (count + offset)
