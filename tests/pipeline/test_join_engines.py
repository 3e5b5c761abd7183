"""Joins by both engines: what Spark computes in bulk, by lookups and by scans, is what the row executor gives."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import viewkeeper as vk
from tests.views.joinschemas import loads, schemas, transactions
from tests.views.jointexts import views
from viewkeeper.execute import joincost
from viewkeeper.pipeline.maintainer import Maintainer
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.pipeline.verify import verify
from viewkeeper.store.interface import WriteSet
from viewkeeper.views.bound import bound_views
from viewkeeper.views.fill import Filling

TABLES = """
CREATE TABLE E (id BIGINT PRIMARY KEY, p INT, s STRING, cost DECIMAL(10,2), w DOUBLE);
CREATE TABLE P (id INT PRIMARY KEY, c INT, s STRING, w DOUBLE);
CREATE TABLE C (a INT, b INT, name STRING, PRIMARY KEY (a, b));
"""
VIEWS = {
    "inner2": "SELECT P.c, COUNT(*) AS n, SUM(E.cost) AS total FROM E JOIN P ON E.p = P.id GROUP BY P.c",
    "also": "SELECT P.s, MAX(E.cost) AS most FROM E JOIN P ON E.p = P.id GROUP BY P.s",
    "chain": "SELECT E.id, C.name FROM E JOIN P ON E.p = P.id JOIN C ON C.a = P.c AND C.b > E.p",
    "own": "SELECT x.id, y.id AS other FROM P x JOIN P y ON x.c = y.c WHERE x.id < y.id",
    "doubles": "SELECT E.id, P.id AS pid FROM E JOIN P ON E.w = P.w",
    "whole": "SELECT COUNT(*) AS n FROM E JOIN P ON E.p = P.id AND E.s = P.s",
    "lefts": "SELECT E.id, P.id AS pid, C.b FROM E LEFT JOIN P ON E.p = P.id LEFT JOIN C ON P.c = C.a",
    "guarded": "SELECT E.id, P.id AS pid FROM E LEFT JOIN P ON E.p = P.c AND E.id > P.id",
    "fulls": "SELECT E.id, P.id AS pid FROM E FULL JOIN P ON E.p = P.id AND E.s = P.s",
    "full_guarded": "SELECT E.id, P.id AS pid FROM E FULL JOIN P ON E.w = P.w AND E.id <> P.id",
    "semis": "SELECT id, s FROM E WHERE EXISTS (SELECT 1 FROM P WHERE P.id = E.p AND P.c < E.id)",
    "antis": "SELECT id, s FROM E WHERE NOT EXISTS (SELECT 1 FROM P WHERE P.id = E.p)",
    "chosen": "SELECT id FROM E WHERE p IN (SELECT c FROM P WHERE w > 0)",
    "both": "SELECT s, id FROM E UNION ALL SELECT s, id FROM P UNION ALL SELECT name, a FROM C",
    "once": "SELECT s FROM E UNION SELECT s FROM P",
    "grouped": "SELECT E.id, g.n FROM E JOIN (SELECT c, COUNT(*) AS n FROM P GROUP BY c) g ON E.p = g.c",
    "failing": "SELECT E.id, 10 DIV P.c AS part FROM E JOIN P ON E.p = P.id",
    "below": "SELECT E.id, x.part FROM E JOIN (SELECT id, 10 DIV c AS part FROM P) x ON E.p = x.id",
    "above": "SELECT i.n, P.id FROM inner2 i JOIN P ON i.c = P.c",
}
INDEX = "CREATE JOIN INDEX beside ON E (p), P (id) INCLUDE (s)"
NAMES = (*VIEWS, "beside")


def write(db: vk.Database, draw: random.Random, count: int) -> None:
    doubles = [None, 0.0, -0.0, 1.5, float("nan")]
    with db.transaction() as tx:
        for _ in range(count):
            table, number = draw.choice("EEPC"), draw.randrange(60)
            texts = draw.choice(["a", "b", None])
            if table == "C":
                key = (draw.randrange(4), draw.randrange(6))
                if draw.random() < 0.3:
                    tx.delete("C", *key)
                else:
                    tx.put("C", {"a": key[0], "b": key[1], "name": texts})
            elif draw.random() < 0.25:
                tx.delete(table, number)
            elif table == "E":
                row = {"p": draw.choice([None, *range(12)]), "s": texts, "w": draw.choice(doubles)}
                tx.put("E", {"id": number, "cost": draw.randrange(1000) / 100, **row})
            else:
                row = {"c": draw.choice([None, 0, 1, 2, 3]), "s": texts, "w": draw.choice(doubles)}
                tx.put("P", {"id": number % 15, **row})


def shown(db: vk.Database, names: Any) -> dict[str, Counter[str]]:
    return {name: Counter(repr(tuple(row.values())).replace("-0.0", "0.0") for row in db.scan(name)) for name in names}


@contextmanager
def two(tmp_path: Path) -> Iterator[list[vk.Database]]:
    with vk.open(tmp_path / "rows", durability="os") as one, vk.open(tmp_path / "spark", durability="os") as other:
        yield [one, other]


def moved(maintainer: Maintainer) -> None:
    done = maintainer.round()
    while done.left:
        assert not done.failed, done.failed
        done = maintainer.round()
    assert not done.failed, done.failed


FILLED = ("inner2", "chain", "fulls", "full_guarded", "grouped", "both")
"""Those that are filled on Spark too, leaf by leaf."""


@pytest.mark.parametrize(("way", "names"), [("lookups", NAMES), ("scan", FILLED)])
def test_both_engines_give_the_same_joins_after_every_batch(
    tmp_path: Path, spark: SparkSession, way: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    filled_first = names is NAMES
    monkeypatch.setattr(joincost, "LOOK_UP", 0.0 if way == "lookups" else 1e9)
    with two(tmp_path) as sides:
        by_rows, on_spark = sides
        for db in sides:
            db.execute(TABLES)
            draw = random.Random(5)
            if not filled_first:
                write(db, draw, 200)
                if db is on_spark:
                    monkeypatch.setattr("viewkeeper.write.views.SMALL", -1)
                    monkeypatch.setattr("viewkeeper.pipeline.backfill.SMALL", -1)
            for name in names:
                db.execute(f"CREATE MATERIALIZED VIEW {name} AS {VIEWS[name]}" if name in VIEWS else INDEX)
            if filled_first:
                write(db, draw, 200)
        bulk = Maintainer(on_spark._shared, SparkSource(spark), small_work=0)
        draws = [random.Random(9), random.Random(9)]
        for _ in range(2):
            by_rows.maintain()
            moved(bulk)
            assert shown(by_rows, names) == shown(on_spark, names)
            states = [{status.view: (status.rows, status.errors) for status in db.status()} for db in sides]
            assert states[0] == states[1]
            for db, drawn in zip(sides, draws, strict=True):
                write(db, drawn, 150)
        met = {status.view: status.batch_joins for status in on_spark.status()}
        assert way in met["inner2"]
        for name in names:
            report = verify(on_spark._shared, name)
            assert report.ok, (name, report)


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_both_engines_give_the_same_random_joins(spark: SparkSession, data: st.DataObject) -> None:
    """Of two, three or four random tables; the views are in their first group and then share what they can."""
    folder = Path(tempfile.mkdtemp())
    try:
        with two(folder) as sides:
            by_rows, on_spark = sides
            tables = data.draw(schemas())
            sources = {table.name: table.columns for table in tables}
            texts = [data.draw(views(sources, failing=True)).text for _ in range(2)]
            for db in sides:
                for table in tables:
                    db.execute(table.create)
                for number, text in enumerate(texts):
                    db.execute(f"CREATE MATERIALIZED VIEW v{number} AS {text}")
            names = [f"v{number}" for number in range(len(texts))]
            bulk = Maintainer(on_spark._shared, SparkSource(spark), small_work=0)
            for changes in (data.draw(loads(tables)), data.draw(transactions(tables))):
                for db in sides:
                    commit(db, changes)
                by_rows.maintain()
                moved(bulk)
                assert shown(by_rows, names) == shown(on_spark, names)
                states = [{status.view: (status.rows, status.errors) for status in db.status()} for db in sides]
                assert states[0] == states[1]
            assert all(verify(on_spark._shared, name).ok for name in names)
    finally:
        shutil.rmtree(folder)


def commit(db: vk.Database, changes: Any) -> None:
    store = db._shared
    writes = WriteSet()
    for what, name, row in changes:
        codec = store.catalog().codec(name)
        key = codec.key.encode(row)
        if what == "put":
            writes.put(codec, key, dict(enumerate(row)))
        else:
            writes.remove(codec, key)
    store.commit(writes)


def test_a_self_join_is_filled_once_however_many_steps_it_takes(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both of its sides hold the same rows, and are read one after the other."""
    monkeypatch.setattr("viewkeeper.write.views.SMALL", -1)
    monkeypatch.setattr("viewkeeper.pipeline.backfill.SMALL", -1)
    monkeypatch.setattr("viewkeeper.pipeline.backfill.STORED_ROWS", 500)
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE T (id INT PRIMARY KEY, k INT)")
        db.load("T", [{"id": number, "k": number % 700} for number in range(2000)])
        db.execute("CREATE VIEW V AS SELECT a.k, COUNT(*) AS n FROM T a JOIN T b ON a.k = b.k GROUP BY a.k")
        maintainer = Maintainer(db._shared, SparkSource(spark), small_work=0)
        bound = bound_views(db._shared)
        (one,) = bound.views.values()
        steps = maintainer._filler._steps(Filling(db._shared, bound, one, db._shared.offset(db.head())), 0)
        assert len(steps) > 2
        moved(maintainer)
        many = Counter(number % 700 for number in range(2000))
        assert {row["k"]: row["n"] for row in db.scan("V")} == {key: count**2 for key, count in many.items()}
