"""Queries that may read every row, on Spark: the rows that this process gives, in the same order."""

from __future__ import annotations

import gc
import random
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import viewkeeper as vk
from tests import oracle
from tests.pipeline.shop import store_of
from tests.pipeline.test_periodic_spark import QUERIES, T, U, _some
from tests.pipeline.test_scanning import bind, scan
from viewkeeper.errors import BatchFailed
from viewkeeper.pipeline import scanning
from viewkeeper.pipeline.session import SparkSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENDS = {
    "every aggregate": " ORDER BY x DESC, a",
    "windows": " ORDER BY r DESC, id LIMIT 40 OFFSET 5",
    "joins of first rows": " ORDER BY name OFFSET 3",
    "distinct and union": " ORDER BY d DESC LIMIT :n",
}
"""What comes behind some queries."""
APPROXIMATE = {"every aggregate", "sums beyond 38 digits", "windows"}


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[vk.Database, int]]:
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    with vk.open(tmp_path_factory.mktemp("scanning") / "db") as opened:
        opened.execute(T)
        opened.execute(U)
        opened.load("t", [{"id": number, **_some(chance)} for number in range(150)])
        opened.load("u", [{"a": a, "k": k, "name": f"n{a * k % 4}"} for a in range(6) for k in range(a)])
        opened.execute("CREATE VIEW twice AS SELECT s, d FROM t UNION ALL SELECT s, d FROM t")
        yield opened, seed


@pytest.fixture
def source(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSource:
    monkeypatch.setattr(scanning, "SMALL", -1)
    return SparkSource(spark)


def _same(row: Any) -> Any:
    """A row whose doubles are as good as the order of additions leaves them."""
    return oracle.hashable(tuple(float(f"{cell:.9g}") if isinstance(cell, float) else cell for cell in row))


@pytest.mark.parametrize("kind", QUERIES)
def test_spark_gives_the_rows_that_this_process_gives(
    db: tuple[vk.Database, int], source: SparkSource, kind: str
) -> None:
    opened, seed = db
    text = QUERIES[kind]
    if kind in ENDS:
        text = f"SELECT * FROM ({text}) AS q{ENDS[kind]}"
    params = {"n": 7} if ":n" in text else {}
    expected, at = scan(opened, text, None, **params)
    found, position = scan(opened, text, source, **params)
    show = _same if kind in APPROXIMATE else oracle.hashable
    assert expected
    assert position == at
    if kind in ENDS:
        assert list(map(show, found)) == list(map(show, expected)), f"seed {seed}"
    else:
        assert Counter(map(show, found)) == Counter(map(show, expected)), f"seed {seed}"


def test_every_type_comes_back_from_spark(db: tuple[vk.Database, int], source: SparkSource) -> None:
    opened, seed = db
    text = "SELECT *, CAST(s AS BINARY) AS b, a > 2 AS c, CAST(at AS DATE) AS e FROM t ORDER BY id"
    assert list(map(oracle.hashable, scan(opened, text, source)[0])) == list(
        map(oracle.hashable, scan(opened, text)[0])
    ), f"seed {seed}"


def test_no_row_is_no_row(db: tuple[vk.Database, int], source: SparkSource) -> None:
    assert scan(db[0], "SELECT id, s FROM t WHERE id < 0 ORDER BY s LIMIT 5", source)[0] == []


def test_rows_that_nobody_takes_are_let_go(
    db: tuple[vk.Database, int], source: SparkSource, spark: SparkSession
) -> None:
    opened, _ = db
    query = bind(opened, "SELECT id, s FROM t ORDER BY s")
    chunks, _ = scanning.scan_query(store_of(opened), source, query, {})
    kept = spark.sparkContext._jsc.getPersistentRDDs().size()
    assert kept > 0
    del chunks
    gc.collect()
    assert spark.sparkContext._jsc.getPersistentRDDs().size() < kept


def test_what_spark_cannot_do_is_said_at_once(
    db: tuple[vk.Database, int], source: SparkSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, _ = db
    query = bind(opened, "SELECT id, s FROM t ORDER BY s")

    def fail(*_: Any) -> Any:
        raise OSError("no space left")

    monkeypatch.setattr("viewkeeper.execute.spark.intasks.in_batches", fail)
    with pytest.raises(BatchFailed, match="Spark could not compute the query"):
        scanning.scan_query(store_of(opened), source, query, {})
