"""SYNC and LOCAL views, which are kept beside the tables, as DataFrames and as streams."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewkeeper as vk
from tests.spark.test_changes import Stream, _feed
from tests.spark.test_rows import _load, _no_key, _refused, _rows, pushdown
from viewkeeper.spark import changereader, target
from viewkeeper.views import bound as binding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PER_SHOP = "SELECT shop, COUNT(*) AS id, SUM(price) AS total FROM items GROUP BY shop"
CHEAP = "CREATE VIEW cheap MAINTAIN SYNC AS SELECT id, price FROM items WHERE price < 3"
MOVED = 'view "{}" is kept elsewhere by now'


@pytest.fixture
def spark_reading(spark: SparkSession) -> SparkSession:
    spark.dataSource.register(vk.spark.Viewkeeper)
    return spark


@pytest.fixture
def stream(spark_reading: SparkSession, tmp_path: Path) -> Stream:
    return Stream(spark_reading, tmp_path)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(
            "CREATE TABLE items (id BIGINT PRIMARY KEY, shop STRING, price BIGINT) PARTITIONED BY HASH (id) INTO 3"
        )
        db.load("items", [{"id": n, "shop": f"s{n % 40:02}", "price": n % 7} for n in range(600)])
        yield db


def _ordered(frame: DataFrame) -> list[dict[str, Any]]:
    return sorted(_rows(frame), key=repr)


def _scanned(db: vk.Database, name: str) -> list[dict[str, Any]]:
    return sorted((dict(row) for row in db.scan(name)), key=repr)


def _write(db: vk.Database) -> None:
    """Groups that change, one that goes and one that comes."""
    db.put("items", {"id": 1, "price": 1000})
    with db.transaction() as tx:
        for number in range(3, 600, 40):
            tx.delete("items", number)
    db.put("items", {"id": -1, "shop": "new", "price": 2})


@pytest.mark.parametrize("mode", ["SYNC", "LOCAL"])
def test_a_view_beside_the_tables_is_read_at_one_position(
    spark_reading: SparkSession, db: vk.Database, tmp_path: Path, mode: str
) -> None:
    db.execute(f"CREATE VIEW per_shop MAINTAIN {mode} AS {PER_SHOP}")
    _write(db)
    at, before = db.head(), _scanned(db, "per_shop")
    assert len(before) == 40
    frame = _load(spark_reading, tmp_path, "per_shop", partitions=4)
    assert frame.rdd.getNumPartitions() == (4 if mode == "SYNC" else 1)
    assert _ordered(frame) == before
    db.put("items", {"id": 2, "price": 50, "shop": "newest"})
    assert _ordered(frame) == before
    after = _scanned(db, "per_shop")
    assert after != before
    assert _ordered(_load(spark_reading, tmp_path, "per_shop")) == after
    assert _ordered(_load(spark_reading, tmp_path, "per_shop", asOf=str(at))) == before
    with pushdown(spark_reading):
        few = "shop IN ('new', 's05', 's07', 'newest') AND id > 0"
        assert _ordered(_load(spark_reading, tmp_path, "per_shop", partitions=2).where(few)) == [
            row for row in after if row["shop"] in ("new", "s05", "s07", "newest")
        ]
        one = _load(spark_reading, tmp_path, "per_shop", asOf=str(at), partitions=4).where("shop = 's02'")
        assert one.rdd.getNumPartitions() == 1
        assert _rows(one) == [row for row in before if row["shop"] == "s02"]


def test_parts_are_put_together_in_the_order_of_keys(
    spark_reading: SparkSession, db: vk.Database, tmp_path: Path
) -> None:
    db.execute("CREATE VIEW dearest KEY (price DESC, id) MAINTAIN LOCAL AS SELECT price, id FROM items WHERE id < 50")
    assert len(db._shared.catalog().known_view("dearest").tables) == 3
    assert _rows(_load(spark_reading, tmp_path, "dearest")) == [dict(row) for row in db.scan("dearest")]
    assert len(list(db.scan("dearest"))) == 50


@pytest.mark.parametrize("mode", ["SYNC", "LOCAL"])
def test_a_view_of_one_row_has_one_row_in_the_past_too(
    spark_reading: SparkSession, db: vk.Database, tmp_path: Path, mode: str
) -> None:
    db.execute(f"CREATE VIEW total MAINTAIN {mode} AS SELECT COUNT(*) AS n FROM items")
    frame = _load(spark_reading, tmp_path, "total", partitions=3)
    db.delete("items", 1)
    assert _rows(frame) == [{"n": 600}]
    assert _rows(_load(spark_reading, tmp_path, "total")) == [{"n": 599}]


@pytest.mark.parametrize("repeats", [False, True])
def test_equal_rows_of_a_sync_view_are_there_as_often_as_it_has_them(
    spark_reading: SparkSession, db: vk.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repeats: bool
) -> None:
    whole = binding.program
    if repeats:
        # As over a source whose rows may repeat; else they are told apart by a hidden column.
        monkeypatch.setattr(binding, "program", lambda *args, **options: whole(*args, **{**options, "key_of": _no_key}))
    db.execute("CREATE VIEW bag MAINTAIN SYNC AS SELECT price FROM items WHERE id < 100")
    frame, before = _load(spark_reading, tmp_path, "bag"), _scanned(db, "bag")
    db.put("items", {"id": 3, "price": 5})
    assert db.views()[0].repeats == repeats
    assert _ordered(frame) == before
    assert _ordered(_load(spark_reading, tmp_path, "bag")) == _scanned(db, "bag") != before
    assert len(before) == 100


@pytest.mark.parametrize("mode", ["SYNC", "LOCAL", "DEFERRED"])
def test_a_view_is_not_read_as_of_before_it_was_kept(
    spark_reading: SparkSession, db: vk.Database, tmp_path: Path, mode: str
) -> None:
    early = db.head()
    db.put("items", {"id": 1, "price": 1000})
    db.execute(f"CREATE VIEW per_shop MAINTAIN {mode} AS {PER_SHOP}")
    load = _load
    _refused(lambda: load(spark_reading, tmp_path, "per_shop", asOf=str(early)), 'view "per_shop" is not kept at')


@pytest.mark.parametrize(
    "moves",
    [["SYNC", "DEFERRED"], ["DEFERRED", "SYNC"], ["SYNC", "LAZY", "SYNC"], ["LAZY", "SYNC", "LAZY"], ["LOCAL", "SYNC"]],
)
def test_a_frame_of_a_view_that_was_moved_is_refused(
    spark_reading: SparkSession, db: vk.Database, tmp_path: Path, moves: list[str]
) -> None:
    db.execute(f"CREATE VIEW per_shop MAINTAIN {moves[0]} AS {PER_SHOP}")
    frame = _load(spark_reading, tmp_path, "per_shop")
    assert frame.count() == 40
    for mode in moves[1:]:
        db.execute(f"ALTER VIEW per_shop SET MAINTAIN {mode}")
        _write(db)
    _refused(frame.count, MOVED.format("per_shop"))
    db.maintain()
    assert _ordered(_load(spark_reading, tmp_path, "per_shop")) == _scanned(db, "per_shop")


def test_the_changes_of_a_sync_view_are_followed(stream: Stream, db: vk.Database) -> None:
    db.execute(CHEAP)
    start = db.head()
    assert stream.run("cheap", startingPosition="earliest") == []
    with db.transaction() as tx:
        for number in range(10):
            tx.put("items", {"id": 1000 + number, "price": number})
    db.put("items", {"id": 1000, "price": 2})
    db.put("items", {"id": 1000, "shop": "not shown"})
    db.put("items", {"id": 2000, "price": 70})
    db.delete("items", 1001)
    found = stream.run("cheap", maxChangesPerTrigger=1)
    assert sorted(found, key=repr) == sorted(_feed(db, "cheap", start), key=repr)
    # The first is that of the run before.
    assert [len(batch) for batch in stream.batches] == [0, 3, 1, 1]
    _write(db)
    found = stream.run("cheap")
    assert sorted(found, key=repr) == sorted(_feed(db, "cheap", start), key=repr)
    assert len(found) > 5


def test_tasks_of_one_batch_give_each_change_of_a_sync_view_once(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute(CHEAP)
    monkeypatch.setattr(target, "worker_store", lambda _: db._shared)
    monkeypatch.setattr(changereader, "CHANGES_A_TASK", 4)
    found = target.find({"path": "", "changes": "cheap"}, "changes", target.STREAM)
    schema = changereader.change_schema(found, found.codec(found.store()))
    reader = changereader.ChangeReader(found, {}, schema)
    start, since = reader.initialOffset(), db.head()
    for first in range(0, 30, 3):
        with db.transaction() as tx:
            for number in range(first, first + 3):
                tx.put("items", {"id": number, "price": -number})
    parts = reader.partitions(start, reader.reportLatestOffset())
    rows = [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
    assert rows == _feed(db, "cheap", since)
    assert (len(parts), len(rows)) == (8, 29)


def test_a_stream_begins_where_a_sync_view_does(stream: Stream, db: vk.Database) -> None:
    early = db.head()
    db.put("items", {"id": 1, "price": 2})
    db.execute(CHEAP)
    with pytest.raises(Exception, match=r'(?s)the changes of "cheap" behind .* from there on the view is kept'):
        stream.run("cheap", startingPosition=str(early))


def test_a_local_view_in_parts_has_no_stream(stream: Stream, db: vk.Database) -> None:
    db.execute(f"CREATE VIEW per_shop MAINTAIN LOCAL AS {PER_SHOP}")
    with pytest.raises(Exception, match='view "per_shop" has no change feed'):
        stream.run("per_shop")


@pytest.mark.parametrize(("mode", "other"), [("SYNC", "DEFERRED"), ("DEFERRED", "SYNC")])
def test_a_stream_ends_when_its_view_is_moved(stream: Stream, db: vk.Database, mode: str, other: str) -> None:
    db.execute(CHEAP.replace("SYNC", mode))
    start = db.head()
    for number in (1000, 1001):
        db.put("items", {"id": number, "price": 1})
        db.maintain()
    stream.after_batch = lambda: db.execute(f"ALTER VIEW cheap SET MAINTAIN {other}")
    with pytest.raises(Exception, match=f"(?s){MOVED.format('cheap')}.*start a streaming query again"):
        stream.run("cheap", startingPosition=str(start), maxChangesPerTrigger=1)
    assert [row["key"]["id"] for row in stream.rows()] == [1000]
    # The change that it has not given is where the view no longer is.
    stream.after_batch = None
    with pytest.raises(Exception, match=r'the changes of "cheap" behind position .* are no longer retained'):
        stream.run("cheap")
    assert len(stream.rows()) == 1


@pytest.mark.parametrize(("mode", "other"), [("SYNC", "DEFERRED"), ("DEFERRED", "SYNC")])
def test_a_query_that_was_not_behind_a_move_goes_on(stream: Stream, db: vk.Database, mode: str, other: str) -> None:
    db.execute(CHEAP.replace("SYNC", mode))
    start = db.head()
    db.put("items", {"id": 1000, "price": 1})
    db.maintain()
    assert len(stream.run("cheap", startingPosition=str(start))) == 1
    db.execute(f"ALTER VIEW cheap SET MAINTAIN {other}")
    db.put("items", {"id": 1001, "price": 1})
    db.maintain()
    assert [row["key"]["id"] for row in stream.run("cheap")] == [1000, 1001]
