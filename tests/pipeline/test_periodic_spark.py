"""PERIODIC views on Spark: the rows that the row executor gives, whatever the query and the data."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import viewkeeper as vk
from tests.pipeline.shop import contents, store_of
from viewkeeper.execute.encodedrows import EncodedRows
from viewkeeper.pipeline import backfill, wholefill
from viewkeeper.pipeline.backfill import Filler
from viewkeeper.pipeline.periodic import refresh
from viewkeeper.pipeline.session import SparkSource
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.scan import ALL
from viewkeeper.views.bound import BoundView, bound_views
from viewkeeper.views.fill import WholeInputs, leaf_input

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = """
CREATE TABLE t (
  id BIGINT PRIMARY KEY, a INT, s STRING, d DOUBLE, m DECIMAL(12,2), big BIGINT, at TIMESTAMP, wide DECIMAL(38,2)
)
"""
U = "CREATE TABLE u (a INT, k INT, name STRING, PRIMARY KEY (a, k))"
QUERIES = {
    "every aggregate": """
        SELECT a, COUNT(*) AS n, COUNT(s) AS known, SUM(m) AS sm, AVG(m) AS am, MAX(d) AS x, MIN(s) AS least,
        COUNT(DISTINCT d) AS cd, VARIANCE(a) AS va, STDDEV(d) AS sd, SUM(d) AS su, SUM(big) AS sb, AVG(big) AS ab,
        MEDIAN(d) AS md, PERCENTILE(m, 0.3) AS p FROM t GROUP BY a
    """,
    "sums beyond 38 digits": "SELECT s, SUM(wide) AS w, VARIANCE(big) AS vb, MEDIAN(a) AS m FROM t GROUP BY s",
    "of nothing": "SELECT COUNT(*) AS n, SUM(big) AS sb, SUM(wide) AS w, MEDIAN(a) AS m FROM t WHERE id < 0",
    "windows": """
        SELECT id, ROW_NUMBER() OVER (PARTITION BY a ORDER BY s) AS rn,
        RANK() OVER (PARTITION BY a ORDER BY s DESC) AS r, DENSE_RANK() OVER (ORDER BY d) AS dr,
        LAG(s, 2, 'q') OVER (PARTITION BY s ORDER BY m) AS l,
        LEAD(d) OVER (ORDER BY at, id) AS ld, SUM(big) OVER (PARTITION BY a ORDER BY at) AS sb,
        SUM(d) OVER (PARTITION BY d ORDER BY id ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS sd,
        AVG(m) OVER (PARTITION BY a) AS av, COUNT(*) OVER (PARTITION BY a ORDER BY s) AS c FROM t
    """,
    "joins of first rows": """
        SELECT q.s, v.n, u.name FROM (SELECT s, a FROM t ORDER BY m, d DESC LIMIT 40 OFFSET 2) AS q
        LEFT JOIN (SELECT a, COUNT(*) AS n FROM t GROUP BY CUBE (a, s)) AS v ON q.a = v.a
        FULL JOIN u ON u.a = q.a AND u.k / (u.a - 2) < 3
    """,
    "distinct and union": """
        SELECT d, s, 100 / a AS bad FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a) AND 7 / (id - 8) < 3
        UNION SELECT x.d, 'x', y.k FROM (SELECT d, a FROM t ORDER BY d LIMIT 9) AS x JOIN u AS y ON x.a = y.a
    """,
    "view that repeats rows": "SELECT s, d FROM twice ORDER BY d DESC, s LIMIT 90",
}


def _some(chance: random.Random) -> dict[str, Any]:
    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.1 else value

    return {
        "a": maybe(chance.randrange(5)),
        "s": maybe(chance.choice(["x", "y", "z w", "zé b", ""])),
        "d": maybe(chance.choice([0.0, 1.5, -2.25, math.nan, math.inf, 3e10, chance.random()])),
        "m": maybe(Decimal(chance.randrange(-1000, 1000)) / 100),
        "big": maybe(chance.choice([2**62, -(2**62), 5, 7])),
        "at": maybe(datetime(2024, 1, chance.randrange(1, 5), tzinfo=UTC)),
        "wide": maybe(Decimal(chance.choice(["9" * 36 + ".99", "-5", "1" * 36]))),
    }


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[vk.Database, int]]:
    seed = random.SystemRandom().randrange(1 << 32)
    chance = random.Random(seed)
    with vk.open(tmp_path_factory.mktemp("periodic") / "db") as opened:
        opened.execute(T)
        opened.execute(U)
        opened.load("t", [{"id": number, **_some(chance)} for number in range(150)])
        opened.load("u", [{"a": a, "k": k, "name": f"n{a * k % 4}"} for a in range(6) for k in range(a)])
        opened.execute("CREATE VIEW twice AS SELECT s, d FROM t UNION ALL SELECT s, d FROM t")
        yield opened, seed


def _given(store: EmbeddedStore, one: BoundView, position: int) -> WholeInputs:
    bound = bound_views(store)
    found = []
    for leaf, scan in enumerate(one.leaves):
        source = leaf_input(store, bound, one, leaf, position)
        rows = [row for part in source.scan(ALL, None) for _, row in part]
        found.append([(tuple(row[n] for n in scan.columns), row[-1] if source.repeats else 1) for row in rows])
    return WholeInputs(found)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", QUERIES)
def test_spark_gives_the_rows_and_errors_that_the_row_executor_gives(
    db: tuple[vk.Database, int], spark: SparkSession, kind: str
) -> None:
    opened, seed = db
    store = store_of(opened)
    name = "v" + str(list(QUERIES).index(kind))
    opened.execute(f"CREATE VIEW {name} MAINTAIN PERIODIC 1 HOUR AS {QUERIES[kind]}")
    bound = bound_views(store)
    one = bound.views[store.catalog().known_view(name).id]
    position = store.offset(store.head())
    given = _given(store, one, position)
    with store.view_tables.reading(one.view.objects) as reading:
        expected = one.runner.joined(given.rows, reading)
    assert isinstance(expected.changes, EncodedRows)
    found: dict[tuple[bytes, bytes], int] = {}
    errors = 0
    for piece in wholefill.whole_fill(SparkSource(spark).session(), store, bound, one, position):
        assert isinstance(piece.changes, EncodedRows)
        errors += piece.errors
        for key, row, weight in zip(piece.changes.keys, piece.changes.rows, piece.changes.weights, strict=True):
            found[key, row] = found.get((key, row), 0) + weight
    keys = zip(expected.changes.keys, expected.changes.rows, strict=True)
    wanted = dict(zip(keys, expected.changes.weights, strict=True))
    if one.view.approximate:
        # The last digits of a sum of DOUBLE may differ; which rows there are may not.
        assert sorted(key for key, _ in found) == sorted(key for key, _ in wanted), f"seed {seed}"
    else:
        assert found == wanted, f"seed {seed}"
    assert errors == expected.errors, f"seed {seed}"
    assert found


def test_a_large_view_is_filled_and_refreshed_on_spark(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill, "SMALL", 0)
    with vk.open(tmp_path / "db") as opened:
        store, source = store_of(opened), SparkSource(spark)
        opened.execute(U)
        opened.load("u", [{"a": a, "k": k, "name": f"n{k % 3}"} for a in range(10) for k in range(10)])
        opened.execute("CREATE VIEW V PERIODIC 1 MIN SELECT name, MEDIAN(a + k) AS m FROM u GROUP BY name")
        before = contents(store)
        opened.load("u", [{"a": a, "k": 50, "name": "new"} for a in range(10)])
        made = refresh(store, source, store.catalog().known_view("V"))
        assert (made.engine, made.written, made.removed) == ("spark", 1, 0)
        assert contents(store) != before
        assert opened.get("V", "new") == {"name": "new", "m": 54.5}
        assert opened.verify("V").ok


def test_a_fill_that_was_killed_between_pieces_begins_anew(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backfill, "SMALL", 0)
    monkeypatch.setattr("viewkeeper.write.views.SMALL", -1)
    with vk.open(tmp_path / "db") as opened:
        store = store_of(opened)
        opened.execute(U)
        opened.load("u", [{"a": a, "k": k, "name": f"n{k % 3}"} for a in range(10) for k in range(10)])
        opened.execute("CREATE VIEW V PERIODIC 1 MIN SELECT a, RANK() OVER (ORDER BY name) AS r FROM u")
        bound = bound_views(store)
        one = bound.views[store.catalog().known_view("V").id]
        applied: list[bytes | None] = []
        apply = backfill.apply_whole

        def kill(filling: Any, state: Any, inputs: Any, after: bytes | None, holder: str = "") -> Any:
            if after is None:
                raise KeyboardInterrupt
            applied.append(after)
            return apply(filling, state, inputs, after, holder)

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(backfill, "apply_whole", kill)
            Filler(store, SparkSource(spark), "killed").fill(bound, one)
        assert len(applied) > 1
        with pytest.raises(vk.ViewNotReady):
            list(opened.scan("V"))
        assert Filler(store, SparkSource(spark), "again").fill(bound, one)
        assert len(list(opened.scan("V"))) == 100
        assert opened.verify("V").ok
