"""`spark.read.format("viewkeeper")`: the rows of tables and views, at one position, of just what is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewkeeper as vk
from viewkeeper.store.registry import close_store, open_store
from viewkeeper.views import bound as binding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"
TYPES = """CREATE TABLE types (k STRING PRIMARY KEY, b BOOLEAN, i INT, l BIGINT, f DOUBLE, n DECIMAL(10,2),
           w DECIMAL(38,3), x BINARY, d DATE, t TIMESTAMP)"""
ROW: dict[str, Any] = {
    "k": "one",
    "b": True,
    "i": -5,
    "l": 2**40,
    "f": 0.5,
    "n": Decimal("12.34"),
    "w": Decimal("12345678901234567890123.456"),
    "x": b"\x00\xff",
    "d": date(2024, 2, 29),
    "t": datetime(2024, 2, 29, 12, 30, 0, 1, tzinfo=UTC),
}


@pytest.fixture
def spark_reading(spark: SparkSession) -> SparkSession:
    spark.dataSource.register(vk.spark.Viewkeeper)
    return spark


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE tags (doc BIGINT, tag STRING, n INT, PRIMARY KEY (doc, tag))")
        db.load("tags", [{"doc": n // 5, "tag": f"t{n % 5}", "n": n} for n in range(3000)])
        yield db


@contextmanager
def pushdown(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(PUSHDOWN, "true")
    try:
        yield
    finally:
        spark.conf.unset(PUSHDOWN)


def _load(spark: SparkSession, tmp_path: Path, table: str, **options: Any) -> DataFrame:
    return spark.read.format("viewkeeper").options(path=str(tmp_path / "db"), table=table, **options).load()


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


def test_every_type_comes_through(spark_reading: SparkSession, db: vk.Database, tmp_path: Path) -> None:
    db.execute(TYPES)
    db.insert("types", ROW)
    db.insert("types", {"k": "two"})
    found = {row["k"]: row for row in _rows(_load(spark_reading, tmp_path, "types"))}
    assert found == {"one": ROW, "two": {**dict.fromkeys(ROW), "k": "two"}}
    assert [column.upper() for _, column in _load(spark_reading, tmp_path, "types").dtypes] == [
        "STRING",
        "BOOLEAN",
        "INT",
        "BIGINT",
        "DOUBLE",
        "DECIMAL(10,2)",
        "DECIMAL(38,3)",
        "BINARY",
        "DATE",
        "TIMESTAMP",
    ]


def test_a_frame_stays_at_the_position_where_it_was_loaded(
    spark_reading: SparkSession, db: vk.Database, tmp_path: Path
) -> None:
    frame = _load(spark_reading, tmp_path, "tags", columns="n")
    before = frame.agg({"n": "sum"}).collect()[0][0]
    db.execute("DELETE FROM tags WHERE doc = 3")
    db.put("tags", {"doc": 1, "tag": "t0", "n": 100_000})
    assert frame.agg({"n": "sum"}).collect()[0][0] == before == sum(range(3000))
    # Both sides of a join of the frame with itself, too.
    assert frame.union(frame).count() == 6000
    assert _load(spark_reading, tmp_path, "tags").count() == 2995


def test_as_of_reads_the_past(spark_reading: SparkSession, db: vk.Database, tmp_path: Path) -> None:
    at = db.head()
    db.put("tags", {"doc": 0, "tag": "t0", "n": -1})
    db.delete("tags", 0, "t1")
    db.insert("tags", {"doc": 0, "tag": "new", "n": 7})
    past = _load(spark_reading, tmp_path, "tags", asOf=str(at)).where("doc = 0")
    assert sorted(row["n"] for row in _rows(past)) == [0, 1, 2, 3, 4]


def test_only_named_columns_are_read(spark_reading: SparkSession, db: vk.Database, tmp_path: Path) -> None:
    assert _load(spark_reading, tmp_path, "TAGS", columns="N, doc").columns == ["n", "doc"]
    reader = spark_reading.read.format("viewkeeper").options(path=str(tmp_path / "db"), table="tags")
    frame = reader.schema("tag STRING, n INT").load()
    assert frame.columns == ["tag", "n"]
    assert _rows(frame.where("n = 17")) == [{"tag": "t2", "n": 17}]


FILTERS = [
    "doc = 17",
    "doc = 17 AND tag = 't3'",
    "doc IN (3, 5, 5, 599, 10000)",
    "doc IN (3, 5) AND tag >= 't2' AND tag < 't4'",
    "doc > 590",
    "doc >= 590 AND doc < 593",
    "doc <= 2 AND doc > 0",
    "doc = 4 AND tag IN ('t1', 'nothing', 't4')",
    "doc = 4 AND tag > 't1' AND n % 2 = 0",
    "doc > 4 AND doc < 3",
    "doc <=> 8",
    "tag = 't2' AND n < 40",
    "doc = 17 OR n = 3",
    "doc = -1",
    "NOT doc = 17 AND doc < 20",
]


@pytest.mark.parametrize("condition", FILTERS)
def test_filters_on_the_key_give_what_a_plain_scan_gives(
    spark_reading: SparkSession, db: vk.Database, tmp_path: Path, condition: str
) -> None:
    spark = spark_reading
    plain = _load(spark, tmp_path, "tags").where(condition).orderBy("n")
    expected = _rows(plain)
    with pushdown(spark):
        assert _rows(_load(spark, tmp_path, "tags").where(condition).orderBy("n")) == expected


def test_a_filter_on_the_whole_key_is_one_read(spark_reading: SparkSession, db: vk.Database, tmp_path: Path) -> None:
    def tasks() -> int:
        frame = _load(spark_reading, tmp_path, "tags", partitions=6).where("doc = 17 AND tag = 't3'")
        return int(frame.rdd.getNumPartitions())

    assert tasks() == 6
    with pushdown(spark_reading):
        assert tasks() == 1


def test_parts_hold_each_row_once(spark_reading: SparkSession, db: vk.Database, tmp_path: Path) -> None:
    from pyspark.sql import functions

    frame = _load(spark_reading, tmp_path, "tags", partitions=6).withColumn("part", functions.spark_partition_id())
    rows = _rows(frame)
    assert sorted(row["n"] for row in rows) == list(range(3000))
    assert len({row["part"] for row in rows}) == 6


def test_a_view_is_read_at_its_watermark(spark_reading: SparkSession, db: vk.Database, tmp_path: Path) -> None:
    db.execute(
        "CREATE MATERIALIZED VIEW per_doc AS SELECT doc, COUNT(*) AS tags, SUM(n) AS total FROM tags GROUP BY doc"
    )
    expected = [dict(row) for row in db.scan("per_doc")]
    db.put("tags", {"doc": 0, "tag": "t0", "n": 1000})
    frame = _load(spark_reading, tmp_path, "per_doc")
    assert sorted(_rows(frame), key=lambda row: row["doc"]) == expected
    assert len(expected) == 600
    with pushdown(spark_reading):
        assert _rows(_load(spark_reading, tmp_path, "per_doc").where("doc = 3")) == [expected[3]]


def test_rows_that_a_view_repeats_are_repeated(
    spark_reading: SparkSession, db: vk.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = binding.program
    # As over a source whose rows may repeat; no table's do.
    monkeypatch.setattr(binding, "program", lambda *args, **options: whole(*args, **{**options, "key_of": _no_key}))
    db.execute("CREATE MATERIALIZED VIEW bag AS SELECT doc % 2 AS odd, tag FROM tags WHERE doc < 10")
    assert db.views()[0].repeats
    expected = sorted(repr(dict(row)) for row in db.scan("bag"))
    assert sorted(map(repr, _rows(_load(spark_reading, tmp_path, "bag")))) == expected
    assert len(expected) == 50


def _no_key(_: object) -> None:
    return None


def test_what_cannot_be_read_is_told(spark_reading: SparkSession, db: vk.Database, tmp_path: Path) -> None:
    spark = spark_reading
    _refused(lambda: _load(spark, tmp_path, "nothing"), 'table "nothing" does not exist')
    _refused(lambda: _load(spark, tmp_path, "tags", cols="n"), 'option "cols" is unknown')
    _refused(lambda: _load(spark, tmp_path, "tags", columns="n, m"), 'column "m"')
    _refused(lambda: _load(spark, tmp_path, "tags", asOf="yesterday"), "is not a position")
    _refused(lambda: _load(spark, tmp_path, "tags", partitions=0).count(), 'option "partitions"')
    reader = spark.read.format("viewkeeper").option("path", str(tmp_path / "db"))
    _refused(reader.load, 'one of the options "table" and "changes"')
    typed = reader.option("table", "tags").schema("n STRING")
    _refused(lambda: typed.load().count(), 'column "n" is INT')


def _refused(read: Any, text: str) -> None:
    with pytest.raises(Exception, match="(?s)" + text.replace("(", r"\(")):
        read()


def test_a_position_that_was_truncated_is_told(spark_reading: SparkSession, db: vk.Database, tmp_path: Path) -> None:
    frame = _load(spark_reading, tmp_path, "tags")
    store = open_store(tmp_path / "db")
    store.configure(log_retention_ms=0)
    for number in range(3):
        db.put("tags", {"doc": 0, "tag": "t0", "n": -number})
    store.clean()
    close_store(store)
    _refused(frame.count, "is no longer retained")
