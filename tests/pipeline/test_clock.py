"""The clock ticks while there is work, also when nobody writes, and rests when there is none."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import viewkeeper as vk
from viewkeeper.store.applying import Apply
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.registry import close_store, open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GROUP, VIEW = 1, 99


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EmbeddedStore]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY)")
        store = open_store(tmp_path / "db")
        store.view_tables.create_group(GROUP, [VIEW], 0, 0)
        yield store
        close_store(store)


def _put(store: EmbeddedStore, *keys: int) -> int:
    codec = store.catalog().codec("t")
    for key in keys:
        store.put(codec, codec.merge({"id": key}))
    return store.offset(store.head())


def _move(store: EmbeddedStore, upper: int) -> None:
    state = store.view_tables.groups()[GROUP]
    store.view_tables.apply(
        Apply(
            group=GROUP,
            generation=state.generation,
            lower=state.watermark,
            upper=upper,
            transaction=upper,
            committed_at=0,
            objects={},
        )
    )


def test_work_is_due_while_a_whole_group_is_behind_the_head(store: EmbeddedStore) -> None:
    from viewkeeper.pipeline.clock import work_due

    assert work_due(store) is None
    head = _put(store, 1, 2)
    assert work_due(store) == 0
    _move(store, 1)
    assert work_due(store) == 1
    _move(store, head)
    assert work_due(store) is None


def test_a_group_that_failed_is_not_due_before_it_is_tried_again(store: EmbeddedStore) -> None:
    from viewkeeper.pipeline.clock import work_due

    _put(store, 1)
    store.view_tables.note(VIEW, retry_at=int((time.time() + 60) * 1e6))
    assert work_due(store) is None
    store.view_tables.note(VIEW, retry_at=int((time.time() - 1) * 1e6))
    assert work_due(store) == 0


def test_offsets_stop_at_a_transaction_within_the_limit(store: EmbeddedStore) -> None:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

    from viewkeeper.pipeline.clock import ClockReader

    reader = ClockReader(str(store.folder.path), "viewkeeper.pipeline.clock:work_due", 100)
    start = reader.initialOffset()
    assert reader.latestOffset(start, ReadMaxRows(2)) == start
    _put(store, 1, 2, 3)
    assert reader.latestOffset(start, ReadMaxRows(2)) == {"position": 2, "tick": 1}
    assert reader.latestOffset({"position": 2, "tick": 1}, ReadAllAvailable()) == {"position": 3, "tick": 2}
    assert reader.getDefaultReadLimit() == ReadMaxRows(100)


def test_the_clock_ticks_until_the_work_is_done(spark: SparkSession, store: EmbeddedStore, tmp_path: Path) -> None:
    from viewkeeper.pipeline.clock import clock_frame

    ticks: list[int] = []

    def tick(frame: DataFrame, number: int) -> None:
        ticks.append(number)
        # As if the compare-and-set had been lost twice, with no further write coming.
        if len(ticks) > 2:
            _move(store, store.offset(store.head()))

    _put(store, 1)
    writer = clock_frame(spark, store).writeStream.foreachBatch(tick).trigger(processingTime="0 seconds")
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    try:
        _wait(lambda: len(ticks) >= 3)
        time.sleep(0.5)
        assert len(ticks) == 3
        _put(store, 2)
        _wait(lambda: len(ticks) == 4)
    finally:
        query.stop()


def _wait(done: object) -> None:
    until = time.monotonic() + 60
    assert callable(done)
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)
