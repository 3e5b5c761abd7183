"""Frames of tables and logs hold what the store holds at the positions that they were made for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewkeeper as vk
from viewkeeper.pipeline.holding import hold
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.registry import close_store, open_store
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.views import bound as binding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 9000


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, g INT, s STRING, p DECIMAL(10,2), at TIMESTAMP)")
        db.load("t", [{"id": n, "g": n % 7, "s": f"text {n % 11}"} for n in range(ROWS)])
        yield db


@pytest.fixture
def store(db: vk.Database, tmp_path: Path) -> Iterator[EmbeddedStore]:
    store = open_store(tmp_path / "db")
    yield store
    close_store(store)


def _rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in frame.toArrow().to_pylist())


def _table(spark: SparkSession, store: EmbeddedStore, columns: list[int], **options: Any) -> DataFrame:
    from viewkeeper.pipeline.tablesource import table_frame

    at = options.pop("at", None) or store.head()
    return table_frame(spark, store, store.catalog().codec("t"), columns, at, **options)


def test_table_is_read_as_of_its_position_while_a_writer_goes_on(
    spark: SparkSession, db: vk.Database, store: EmbeddedStore
) -> None:
    at = store.head()
    stop = threading.Event()
    written = []

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            db.delete("t", number * 7 % ROWS)
            db.put("t", {"id": number * 13 % ROWS, "g": 100, "s": "later"})
            written.append(db.put("t", {"id": ROWS + number, "g": 200}))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with hold(store, at, "test"):
            found = _rows(_table(spark, store, [0, 1, 2], at=at, parts=4))
    finally:
        stop.set()
        writer.join()
    assert len(written) > 10
    assert found == [(n, n % 7, f"text {n % 11}", 1) for n in range(ROWS)]


def test_parts_hold_each_row_once(spark: SparkSession, store: EmbeddedStore) -> None:
    for parts in (1, 2, 5):
        frame = _table(spark, store, [0], parts=parts)
        assert frame.rdd.getNumPartitions() == parts
        assert _rows(frame) == [(n, 1) for n in range(ROWS)]


def test_only_an_interval_is_read_without_weights(spark: SparkSession, store: EmbeddedStore) -> None:
    codec = store.catalog().codec("t")
    interval = Interval(codec.key.encode_key((100,)), codec.key.encode_key((103,)))
    frame = _table(spark, store, [2, 0], interval=interval, weight=False)
    assert frame.columns == ["c2", "c0"]
    assert sorted(frame.toArrow().column("c0").to_pylist()) == [100, 101, 102]


def test_an_empty_table_is_an_empty_frame(spark: SparkSession, db: vk.Database, store: EmbeddedStore) -> None:
    db.execute("CREATE TABLE empty (id BIGINT PRIMARY KEY)")
    from viewkeeper.pipeline.tablesource import table_frame

    assert _rows(table_frame(spark, store, store.catalog().codec("empty"), [0], store.head(), ALL)) == []


def test_log_frame_is_what_happened_between_two_positions(
    spark: SparkSession, db: vk.Database, store: EmbeddedStore
) -> None:
    from viewkeeper.pipeline.logsource import log_frame

    lower = store.head()
    with db.transaction() as tx:
        for key in range(500):
            tx.put("t", {"id": key, "g": 50})
    db.delete("t", 0)
    db.put("t", {"id": 1, "s": "g stays as it is"})
    db.insert("t", {"id": -1, "g": 3})
    upper = store.head()
    db.delete("t", 5)
    frame = log_frame(spark, store, store.catalog().codec("t"), [1], lower, upper, parts=3)
    found: Counter[int | None] = Counter()
    for row in frame.toArrow().to_pylist():
        found[row["c1"]] += row["_w"]
    expected = Counter({n: -len(range(n, 500, 7)) for n in range(7)})
    expected[50] += 500 - 1
    expected[3] += 1
    assert found == expected
    assert _rows(log_frame(spark, store, store.catalog().codec("t"), [1], upper, upper)) == []


@pytest.mark.parametrize("repeats", [False, True])
def test_a_view_and_its_changes_are_read_with_their_weights(
    spark: SparkSession, db: vk.Database, store: EmbeddedStore, repeats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from viewkeeper.pipeline.logsource import feed_frame
    from viewkeeper.pipeline.tablesource import view_frame

    if repeats:
        whole = binding.program
        # As over a source whose rows may repeat; no table's do.
        monkeypatch.setattr(binding, "program", lambda *args, **options: whole(*args, **{**options, "key_of": _no_key}))
    db.execute("CREATE MATERIALIZED VIEW v AS SELECT g FROM t WHERE id < 70")
    view = store.catalog().views[db.views()[0].id]
    codec = store.catalog().view_codecs[view.id]
    assert view.repeats == repeats
    lower = store.head()
    with db.transaction() as tx:
        for key in range(0, 70, 7):
            tx.put("t", {"id": key, "g": 1})
        tx.delete("t", 2)
    db.maintain()
    upper = store.head()
    before = Counter(dict.fromkeys(range(7), 10))
    change = Counter({0: -10, 1: 10, 2: -1})
    assert _weights(view_frame(spark, store, codec, [0], lower, repeats=repeats)) == before
    assert _weights(view_frame(spark, store, codec, [0], upper, parts=2, repeats=repeats)) == _sum(before, change)
    assert _weights(feed_frame(spark, store, codec, [0], lower, upper, repeats=repeats)) == change
    assert _weights(feed_frame(spark, store, codec, [0], upper, upper, repeats=repeats)) == Counter()


def _sum(left: Counter[int], right: Counter[int]) -> Counter[int]:
    return Counter({value: left[value] + right[value] for value in left if left[value] + right[value]})


def _no_key(_: object) -> None:
    return None


def _weights(frame: DataFrame) -> Counter[int]:
    found: Counter[int] = Counter()
    for row in frame.toArrow().to_pylist():
        found[row["c0"]] += row["_w"]
    return Counter({value: weight for value, weight in found.items() if weight})


def test_a_database_that_replaced_another_at_its_path_is_read(spark: SparkSession, tmp_path: Path) -> None:
    import shutil

    # More often than there are workers.
    for number in range(5):
        with vk.open(tmp_path / "same", durability="os") as db:
            db.execute("CREATE TABLE t (id BIGINT PRIMARY KEY)")
            db.insert("t", {"id": number})
            store = open_store(tmp_path / "same")
            assert _rows(_table(spark, store, [0])) == [(number, 1)]
            close_store(store)
        shutil.rmtree(tmp_path / "same")


def test_a_held_position_outlives_the_retention(db: vk.Database, store: EmbeddedStore) -> None:
    store.configure(log_retention_ms=0)
    at = store.head()
    with hold(store, at, "test", seconds=0.3):
        threading.Event().wait(0.5)
        for number in range(3):
            db.put("t", {"id": number, "g": -1})
        store.clean()
        assert at.covers(store.oldest())
    store.clean()
    assert not at.covers(store.oldest())
