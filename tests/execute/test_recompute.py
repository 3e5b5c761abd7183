"""What needs all rows at once, computed in this process: against SQLite where it has the same, else by brute force."""

from __future__ import annotations

import math
import random
import sqlite3
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.sql.tables import Catalog
from viewkeeper.execute.recompute import recompute
from viewkeeper.model.types import Row
from viewkeeper.plan.relation import scans

TABLES = {
    "t": "CREATE TABLE t (id INT, a INT, b STRING, v INT, PRIMARY KEY (id))",
    "u": "CREATE TABLE u (id INT, a INT, w BIGINT, PRIMARY KEY (id))",
    "d": "CREATE TABLE d (id INT, g INT, x DOUBLE, PRIMARY KEY (id))",
}
QUERIES = {
    "ranks": """
        SELECT id, ROW_NUMBER() OVER (PARTITION BY a ORDER BY v DESC, id) AS n, RANK() OVER (ORDER BY b, a DESC) AS r,
        DENSE_RANK() OVER (PARTITION BY b ORDER BY a) AS d, NTILE(3) OVER (ORDER BY id DESC) AS q,
        PERCENT_RANK() OVER (ORDER BY v) AS p, CUME_DIST() OVER (PARTITION BY a ORDER BY v) AS c FROM t
    """,
    "neighbours": """
        SELECT id, LAG(v) OVER (ORDER BY id) AS l, LEAD(b, 2, 'none') OVER (PARTITION BY a ORDER BY id DESC) AS m,
        FIRST_VALUE(v) OVER (PARTITION BY a ORDER BY id) AS f, LAST_VALUE(v) OVER (PARTITION BY a ORDER BY id) AS e,
        NTH_VALUE(v, 2) OVER (PARTITION BY b ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) AS n FROM t
    """,
    "sums so far": """
        SELECT id, SUM(v) OVER (ORDER BY a) AS s, COUNT(*) OVER (PARTITION BY b ORDER BY v) AS n,
        AVG(v) OVER (PARTITION BY a) AS m, MIN(b) OVER (ORDER BY v DESC) AS least, MAX(v) OVER () AS most,
        COUNT(v) FILTER (WHERE a = 1) OVER (ORDER BY id) AS ones FROM t
    """,
    "moving frames": """
        SELECT id, SUM(v) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s,
        MAX(v) OVER (PARTITION BY a ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS m,
        COUNT(v) OVER (ORDER BY id ROWS BETWEEN 3 PRECEDING AND 2 PRECEDING) AS n,
        MIN(v) OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS f,
        SUM(v) OVER (ORDER BY a RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS rest FROM t
    """,
    "first rows": "SELECT b, v FROM t ORDER BY v DESC, b, id LIMIT 3 OFFSET 1",
    "NULLs on the other side": "SELECT id, v FROM t ORDER BY v DESC NULLS FIRST, b NULLS LAST, id LIMIT 4",
    "groups of first rows": "SELECT b, COUNT(*) AS n FROM (SELECT * FROM t ORDER BY v, id LIMIT 4) AS s GROUP BY b",
    "first groups": "SELECT a, SUM(v) AS s FROM t GROUP BY a ORDER BY COUNT(*) DESC, a LIMIT 2",
    "window of groups": """
        SELECT a, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r, SUM(SUM(v)) OVER (ORDER BY a) AS s
        FROM t GROUP BY a HAVING COUNT(*) > 1
    """,
    "condition on a rank": """
        SELECT a, id FROM (SELECT a, id, ROW_NUMBER() OVER (PARTITION BY a ORDER BY v, id) AS n FROM t) AS s
        WHERE n <= 2
    """,
    "join of first rows": """
        SELECT s.id, u.w FROM (SELECT id, a FROM t ORDER BY id DESC LIMIT 3) AS s LEFT JOIN u ON s.a = u.a
    """,
    "WITH": """
        WITH top AS (SELECT a, id FROM t ORDER BY id LIMIT 3), all_of AS (SELECT a, COUNT(*) AS n FROM t GROUP BY a)
        SELECT top.id, all_of.n FROM top JOIN all_of ON top.a = all_of.a
    """,
    "union": "SELECT a, id FROM t UNION ALL SELECT a, id FROM u ORDER BY id, a DESC LIMIT 5",
    "not among first rows": """
        SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM (SELECT a FROM u ORDER BY id LIMIT 2) AS s WHERE s.a = t.a)
    """,
    "distinct first rows": "SELECT DISTINCT b FROM t ORDER BY b DESC LIMIT 2",
}
_few = st.sampled_from([0, 1, 2, None])
_rows = st.tuples(
    st.lists(st.tuples(_few, st.sampled_from(["x", "y", "é", None]), st.sampled_from([-3, 0, 1, 5, None])), max_size=9),
    st.lists(st.tuples(_few, st.integers(0, 3)), max_size=4),
)


def _numbered(rows: list[Any]) -> list[Row]:
    return [(number, *row) for number, row in enumerate(rows)]


def _ours(query: str, tables: dict[str, list[Row]]) -> Counter[Row]:
    rows, _ = _computed(query, tables)
    return Counter(rows)


def _computed(query: str, tables: dict[str, list[Row]]) -> tuple[list[Row], int]:
    view = Catalog(*TABLES.values()).one(f"CREATE VIEW w MAINTAIN PERIODIC 1 HOUR AS {query}")
    given = [[tuple(row[column] for column in scan.columns) for row in tables[scan.name]] for scan in scans(view.plan)]
    rows, errors = recompute(view.plan, given)
    return [row[: len(view.visible)] for row in rows], errors


def _in_sqlite(query: str, tables: dict[str, list[Row]]) -> Counter[Row]:
    connection = sqlite3.connect(":memory:")
    try:
        for name, rows in tables.items():
            connection.execute(TABLES[name].replace("STRING", "TEXT"))
            if rows:
                connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        return Counter(connection.execute(query))
    finally:
        connection.close()


@pytest.mark.parametrize("name", QUERIES)
@given(rows=_rows)
def test_a_query_gives_the_rows_that_sqlite_gives(name: str, rows: tuple[list[Any], list[Any]]) -> None:
    tables = {"t": _numbered(rows[0]), "u": _numbered(rows[1])}
    assert _ours(QUERIES[name], tables) == _in_sqlite(QUERIES[name], tables)


_doubles = st.sampled_from([0.0, 1.5, -2.0, 7.25, 1e10, None])


@given(st.lists(st.tuples(_few, _doubles), max_size=9))
def test_percentiles_are_between_the_values_in_proportion(rows: list[Any]) -> None:
    query = "SELECT g, MEDIAN(x) AS m, PERCENTILE(x, 0.9) AS p, COUNT(*) AS n, MAX(x) AS most FROM d GROUP BY g"
    expected = {}
    for group in {row[0] for row in rows}:
        members = [x for g, x in rows if g == group]
        known = sorted(x for x in members if x is not None)
        expected[group] = (_at(known, 0.5), _at(known, 0.9), len(members), max(known, default=None))
    assert {row[0]: row[1:] for row in _ours(query, {"d": _numbered(rows)})} == expected


def _at(values: list[float], fraction: float) -> Any:
    """By counting: how far each of two neighbours is from the place."""
    if not values:
        return None
    place = (len(values) - 1) * fraction
    near = [(value, 1 - abs(place - number)) for number, value in enumerate(values) if abs(place - number) < 1]
    return pytest.approx(sum(value * share for value, share in near)) if len(near) > 1 else near[0][0]


def test_the_median_of_nothing_is_one_null_and_of_filtered_rows_theirs() -> None:
    assert _ours("SELECT MEDIAN(x) AS m FROM d", {"d": []}) == Counter([(None,)])
    rows: list[Row] = [(1, 1, 1.0), (2, 2, 5.0), (3, 2, 7.0)]
    query = (
        "SELECT MEDIAN(x) FILTER (WHERE g = 2) AS m, PERCENTILE_CONT(0.0) WITHIN GROUP (ORDER BY x DESC) AS p FROM d"
    )
    assert _ours(query, {"d": rows}) == Counter([(6.0, 7.0)])


def test_null_is_below_every_number_and_nan_above() -> None:
    rows: list[Row] = [(1, 1, math.nan), (2, 1, None), (3, 1, math.inf), (4, 1, -1.0)]
    up = "SELECT id FROM d ORDER BY x LIMIT 2"
    down = "SELECT id FROM d ORDER BY x DESC LIMIT 2"
    assert _ours(up, {"d": rows}) == Counter([(2,), (4,)])
    assert _ours(down, {"d": rows}) == Counter([(1,), (3,)])


def test_rows_that_are_equal_in_an_order_are_told_apart_whatever_order_they_come_in() -> None:
    rows: list[Row] = [(number, 1, "x", number % 2) for number in range(20)]
    top = "SELECT id FROM t ORDER BY a LIMIT 3"
    numbers = "SELECT id, ROW_NUMBER() OVER (ORDER BY a) AS n, LAG(id) OVER (PARTITION BY v ORDER BY b) AS l FROM t"
    expected = [_ours(query, {"t": rows}) for query in (top, numbers)]
    for seed in range(5):
        shuffled = random.Random(seed).sample(rows, len(rows))
        assert [_ours(query, {"t": shuffled}) for query in (top, numbers)] == expected


def test_a_sum_out_of_range_is_null_and_counts_once_a_row() -> None:
    big = 2**62
    rows: list[Row] = [(number, 1, big) for number in range(3)]
    query = "SELECT id, SUM(w) OVER (ORDER BY id) AS s, SUM(w) OVER (ORDER BY id DESC) AS r FROM u"
    made, errors = _computed(query, {"u": rows})
    assert sorted(made) == [(0, big, None), (1, None, None), (2, None, big)]
    assert errors == 3


def test_expressions_that_fail_below_and_above_are_counted() -> None:
    rows: list[Row] = [(number, number % 2, "x", number) for number in range(6)]
    query = "SELECT 10 / (n - 1) AS x FROM (SELECT RANK() OVER (ORDER BY a) AS n, 6 / (id - 2) AS y FROM t) AS s"
    # Both are computed row by row, above and below the window: y is not read, so only x counts.
    made, errors = _computed(query, {"t": rows})
    assert (sum(row == (None,) for row in made), errors) == (3, 3)
    query = "SELECT x FROM (SELECT 6 / (id - 2) AS x FROM t ORDER BY id LIMIT 4) AS s WHERE 1 / (x + 3) > 0"
    made, errors = _computed(query, {"t": rows})
    assert errors == 2
