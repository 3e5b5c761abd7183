"""`spark.readStream.format("viewkeeper")`: every change once, in bounded batches, across restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewkeeper as vk
from viewkeeper.store.registry import close_store, open_store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> Stream:
    spark.dataSource.register(vk.spark.Viewkeeper)
    return Stream(spark, tmp_path)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING, price DECIMAL(10,2))")
        yield db


class Stream:
    """Runs a query over what there is, and keeps what it gave, batch by batch."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self.batches: list[list[dict[str, Any]]] = []
        self.after_batch: Callable[[], object] | None = None

    def run(self, name: str = "items", **options: Any) -> list[dict[str, Any]]:
        """Everything up to the head, from the checkpoint on; all that came so far."""
        reader = self._spark.readStream.format("viewkeeper").options(path=str(self._folder / "db"), changes=name)

        def take(frame: DataFrame, _: int) -> None:
            self.batches.append(frame.toArrow().to_pylist())
            if self.after_batch is not None:
                self.after_batch()

        writer = reader.options(**options).load().writeStream.foreachBatch(take).trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(self._folder / "checkpoint")).start()
        query.awaitTermination()
        return self.rows()

    def rows(self) -> list[dict[str, Any]]:
        return sorted((row for batch in self.batches for row in batch), key=_offset)


def _offset(row: dict[str, Any]) -> int:
    return vk.Position.parse(row["position"]).offsets[0]


def _feed(db: vk.Database, name: str, since: vk.Position) -> list[dict[str, Any]]:
    """What db.changes tells, in the form that the stream has."""
    names = ("insert", "update", "delete")
    return [
        {
            "position": str(change.position),
            "committed_at": change.committed_at,
            "operation": names[0 if change.before is None else 2 if change.after is None else 1],
            "key": dict(zip(["id"], change.key, strict=True)),
            "before": change.before,
            "after": change.after,
        }
        for change in db.changes(name, since=since)
    ]


def _write(db: vk.Database, first: int) -> None:
    for number in range(first, first + 5):
        db.insert("items", {"id": number, "name": f"item {number}"})
    db.put("items", {"id": first, "price": 5})
    db.delete("items", first + 1)
    with db.transaction() as tx:
        for number in range(first + 100, first + 200):
            tx.put("items", {"id": number, "price": 1})


def test_a_restarted_query_goes_on_where_it_was(stream: Stream, db: vk.Database) -> None:
    start = db.head()
    _write(db, 0)
    assert len(stream.run(startingPosition="earliest")) == 107
    assert len(stream.run(startingPosition="earliest")) == 107
    _write(db, 1000)
    db.execute("ALTER TABLE items ADD COLUMN stock INT")
    _write(db, 2000)
    found = stream.run(startingPosition="earliest")
    expected = _feed(db, "items", start)
    assert len(expected) == 321
    for row in expected[:107]:
        for side in (row["before"], row["after"]):
            if side is not None:
                assert side.pop("stock") is None
    assert found[:107] == expected[:107]
    assert found == expected


def test_batches_are_bounded_and_end_at_transactions(stream: Stream, db: vk.Database) -> None:
    start = db.head()
    _write(db, 0)
    _write(db, 1000)
    stream.run(startingPosition="earliest", maxChangesPerTrigger=3)
    sizes = [len(batch) for batch in stream.batches]
    assert sizes == [3, 3, 1, 100, 3, 3, 1, 100]
    assert stream.rows() == _feed(db, "items", start)


def test_a_query_starts_where_it_is_told(stream: Stream, db: vk.Database) -> None:
    _write(db, 0)
    # A position inside the last transaction: what comes behind it is given, and nothing twice.
    inside = vk.Position(db.head().database, (db.head().offsets[0] - 30,))
    assert stream.run(startingPosition=str(inside)) == _feed(db, "items", inside)
    assert len(stream.rows()) == 30


def test_a_query_starts_at_the_head_by_default(stream: Stream, db: vk.Database) -> None:
    _write(db, 0)
    assert stream.run() == []
    db.insert("items", {"id": -1})
    assert [row["key"] for row in stream.run()] == [{"id": -1}]


def test_a_log_that_was_truncated_below_the_checkpoint_is_told(stream: Stream, db: vk.Database, tmp_path: Path) -> None:
    _write(db, 0)
    stream.run(startingPosition="earliest")
    _write(db, 1000)
    store = open_store(tmp_path / "db")
    store.configure(log_retention_ms=0)
    store.clean()
    close_store(store)
    with pytest.raises(Exception, match=r'the changes of "items" behind position .* are no longer retained'):
        stream.run()


def test_a_checkpoint_of_another_database_is_refused(stream: Stream, db: vk.Database, tmp_path: Path) -> None:
    _write(db, 0)
    stream.run(startingPosition="earliest")
    db.close()
    (tmp_path / "db").rename(tmp_path / "old")
    with vk.open(tmp_path / "db", durability="os") as other:
        other.execute("CREATE TABLE items (id BIGINT PRIMARY KEY, name STRING, price DECIMAL(10,2))")
        with pytest.raises(Exception, match="the checkpoint is of database"):
            stream.run()


def test_the_changes_of_a_view_are_followed(stream: Stream, db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW cheap AS SELECT id, price FROM items WHERE price < 3")
    start = db.head()
    stream.run("cheap", startingPosition="earliest")
    with db.transaction() as tx:
        for number in range(10):
            tx.put("items", {"id": number, "price": number})
    db.maintain()
    db.put("items", {"id": 0, "price": 2})
    db.delete("items", 1)
    db.maintain()
    found = stream.run("cheap", maxChangesPerTrigger=1)
    assert sorted(found, key=repr) == sorted(_feed(db, "cheap", start), key=repr)
    assert [len(batch) for batch in stream.batches if batch] == [3, 2]
