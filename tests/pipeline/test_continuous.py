"""Maintenance that goes on: it follows writes, fills what is new, and owes nothing to its checkpoint."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import viewkeeper as vk
from viewkeeper.errors import StoreFull
from viewkeeper.pipeline.clock import clock_frame
from viewkeeper.pipeline.maintainer import Maintainer, Round
from viewkeeper.pipeline.session import SparkSource

SUMS = "CREATE MATERIALIZED VIEW sums AS SELECT shop, COUNT(*) AS n, SUM(cost) AS total FROM orders GROUP BY shop"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, shop BIGINT, cost BIGINT)")
        yield opened


def put(db: vk.Database, start: int, count: int) -> vk.Position:
    with db.transaction() as tx:
        for number in range(start, start + count):
            tx.put("orders", {"id": number, "shop": number % 3, "cost": number})
    assert tx.position is not None
    return tx.position


def rows(db: vk.Database, position: vk.Position) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in db.scan("sums", consistency=vk.at_least(position), timeout=120)]


def wanted(numbers: range) -> list[tuple[object, ...]]:
    shops = {shop: [number for number in numbers if number % 3 == shop] for shop in range(3)}
    return [(shop, len(members), sum(members)) for shop, members in shops.items() if members]


def test_it_follows_writes_and_fills_views_that_are_made_meanwhile(db: vk.Database, spark: SparkSession) -> None:
    put(db, 0, 5)
    with db.start_maintenance(spark=spark) as running:
        db.execute(SUMS)
        assert rows(db, put(db, 5, 5)) == wanted(range(10))
        db.execute("CREATE MATERIALIZED VIEW many AS SELECT shop, n FROM sums WHERE n > 3")
        position = put(db, 10, 5)
        assert rows(db, position) == wanted(range(15))
        assert len(list(db.scan("many", consistency=vk.at_least(position), timeout=120, wait=True))) == 3
        assert running.is_running
    assert not running.is_running
    assert db.verify("sums").ok


def test_a_replacement_is_swapped_in_though_nobody_writes(db: vk.Database, spark: SparkSession) -> None:
    position = put(db, 0, 6)
    db.execute(SUMS)
    with db.start_maintenance(spark=spark):
        db.execute(
            SUMS.replace("CREATE MATERIALIZED", "CREATE OR REPLACE MATERIALIZED").replace("SUM(cost)", "MAX(cost)")
        )
        until = time.monotonic() + 60
        while any(status.state == "replacing" for status in db.status()) and time.monotonic() < until:
            time.sleep(0.02)
        assert rows(db, position) == [(0, 2, 3), (1, 2, 4), (2, 2, 5)]


def test_a_round_that_was_lost_is_made_up_for_without_a_further_write(
    db: vk.Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute(SUMS)
    lost = threading.Event()
    really = Maintainer.round

    def first_one_fails(self: Maintainer, until: int | None = None, *, fill: bool = True) -> Round:
        if not lost.is_set():
            lost.set()
            return Round()
        return really(self, until, fill=fill)

    monkeypatch.setattr(Maintainer, "round", first_one_fails)
    with db.start_maintenance(spark=spark):
        wait_for(db, put(db, 0, 4))
        assert rows(db, db.head()) == wanted(range(4))
    assert lost.is_set()


def test_a_checkpoint_that_is_lost_or_old_does_no_harm(db: vk.Database, spark: SparkSession, tmp_path: Path) -> None:
    """Ours are thrown away at the end; here one is kept, used again behind a truncated log, and lost."""
    db.execute(SUMS)
    db.configure(log_retention="0s")
    store = db._shared
    checkpoint = tmp_path / "checkpoint"

    def tick_until(position: vk.Position) -> None:
        source = SparkSource(spark)
        maintainer = Maintainer(store, source)
        frame = clock_frame(source.session(), store)
        writer = frame.writeStream.foreachBatch(lambda _, __: maintainer.round() and None)
        query = writer.option("checkpointLocation", str(checkpoint)).trigger(processingTime="0 seconds").start()
        try:
            until = time.monotonic() + 60
            while not _stands_at(db, position) and time.monotonic() < until:
                time.sleep(0.02)
        finally:
            query.stop()

    tick_until(put(db, 0, 3))
    kept = tmp_path / "old"
    shutil.copytree(checkpoint, kept)
    tick_until(put(db, 3, 3))
    put(db, 6, 3)
    store.clean()
    shutil.rmtree(checkpoint)
    shutil.copytree(kept, checkpoint)
    tick_until(put(db, 9, 3))
    assert rows(db, db.head()) == wanted(range(12))
    store.clean()
    shutil.rmtree(checkpoint)
    tick_until(put(db, 12, 3))
    assert rows(db, db.head()) == wanted(range(15))
    assert store.offset(db.oldest()) > 0


def wait_for(db: vk.Database, position: vk.Position) -> None:
    """Until the maintainer has brought the view there; a read that asks for it would bring it there by itself."""
    until = time.monotonic() + 120
    while not _stands_at(db, position):
        assert time.monotonic() < until
        time.sleep(0.02)


def _stands_at(db: vk.Database, position: vk.Position) -> bool:
    (status,) = db.status()
    return status.watermark is not None and status.watermark.covers(position)


def test_stopping_removes_the_checkpoint_and_is_heard_at_once(db: vk.Database, spark: SparkSession) -> None:
    db.execute(SUMS)
    running = db.start_maintenance(spark=spark)
    folder = Path(running.checkpoint)
    assert folder.is_dir()
    running.stop()
    assert not folder.exists()
    assert running.wait(1)


def test_one_session_maintains_one_database_twice(db: vk.Database, spark: SparkSession) -> None:
    db.execute(SUMS)
    source = SparkSource(spark)
    with db.start_maintenance(spark=source) as first:
        with db.start_maintenance(spark=source):
            wait_for(db, put(db, 0, 5))
            assert rows(db, db.head()) == wanted(range(5))
        assert first.is_running
        wait_for(db, put(db, 5, 5))
        assert rows(db, db.head()) == wanted(range(10))


def test_closing_the_database_ends_its_maintenance(db: vk.Database, spark: SparkSession) -> None:
    db.execute(SUMS)
    running = db.start_maintenance(spark=spark)
    db.close()
    assert not running.is_running
    assert not Path(running.checkpoint).exists()
    running.stop()


def test_trouble_that_concerns_all_views_does_not_end_it(
    db: vk.Database, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute(SUMS)
    really, told = Maintainer.round, threading.Event()

    def fails_until_told(self: Maintainer, until: int | None = None, *, fill: bool = True) -> Round:
        if not told.is_set():
            raise StoreFull("the disk is full")
        return really(self, until, fill=fill)

    monkeypatch.setattr(Maintainer, "round", fails_until_told)
    with db.start_maintenance(spark=spark, told=lambda done: told.set() if done.failed else None):
        wait_for(db, put(db, 0, 5))
        assert rows(db, db.head()) == wanted(range(5))
        assert told.is_set()
