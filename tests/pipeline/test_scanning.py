"""Queries that may read every row, in this process: the rows of the oracle, in order, as of one position."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import viewkeeper as vk
from tests import oracle
from tests.pipeline.shop import store_of
from tests.pipeline.staging import POPULAR, STAGING, TAGS, counted, some_tags
from tests.views.joinschemas import JoinTable, loads, schemas
from tests.views.jointexts import views
from viewkeeper.errors import ViewNotReady
from viewkeeper.model.position import Position
from viewkeeper.pipeline.scanning import scan_query
from viewkeeper.plan.filling import filled
from viewkeeper.plan.relation import Scan
from viewkeeper.sql.bind import query_of
from viewkeeper.sql.parse import parse
from viewkeeper.sql.query_params import cells_of
from viewkeeper.sql.sources import finder
from viewkeeper.sql.statements import Query
from viewkeeper.store.interface import WriteSet


def bind(db: vk.Database, text: str) -> Query:
    (parsed,) = parse(text)
    return query_of(parsed, finder(store_of(db).catalog()))


def scan(db: vk.Database, text: str, spark: Any = None, **params: Any) -> tuple[list[Any], Position]:
    query = bind(db, text)
    chunks, position = scan_query(store_of(db), spark, query, cells_of(query, params))
    return [row for chunk in chunks for row in chunk], position


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db") as opened:
        opened.execute(TAGS)
        yield opened


@st.composite
def _ends(draw: st.DrawFn, columns: list[str]) -> tuple[list[tuple[int, bool]], str]:
    """An order of columns, and it with a limit as text."""
    places = draw(st.lists(st.integers(0, len(columns) - 1), max_size=3, unique=True))
    order = [(place, draw(st.booleans())) for place in places]
    text = ", ".join(columns[place] + " DESC" * descending for place, descending in order)
    return order, f" ORDER BY {text}" if text else ""


def _rank(cell: Any) -> tuple[int, Any]:
    return (0, 0) if cell is None else (2, 0) if cell != cell else (1, cell)


def _expected(db: vk.Database, query: Query, rows: dict[str, list[Any]], cut: slice) -> list[Any]:
    """By the oracle; equal rows of an order by all columns."""
    names = {number: table.name for number, table in store_of(db).catalog().tables.items()}

    def stored(one: Scan) -> list[Any]:
        return rows[names[one.object]]

    found = oracle.evaluate(filled(query.plan, {}), stored)
    found.sort(key=lambda row: tuple(map(_rank, row)))
    for sort in reversed(query.order):
        found.sort(key=lambda row, at=sort.column: _rank(row[at]), reverse=sort.descending)  # type: ignore[misc]
    return [oracle.hashable(row)[: len(query.columns)] for row in found[cut]]


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.data())
def test_random_queries_give_the_rows_of_the_oracle_in_order(data: st.DataObject) -> None:
    folder = tempfile.mkdtemp(prefix="viewkeeper-scan-")
    try:
        with vk.open(Path(folder) / "db", durability="os") as db:
            tables: tuple[JoinTable, ...] = data.draw(schemas())
            rows: dict[str, list[Any]] = {}
            writes = WriteSet()
            for table in tables:
                db.execute(table.create)
            for _, name, row in data.draw(loads(tables)):
                codec = store_of(db).catalog().codec(name)
                writes.put(codec, codec.key.encode(row), dict(enumerate(row)))
                rows.setdefault(name, []).append(row)
            store_of(db).commit(writes)
            made = data.draw(views({table.name: table.columns for table in tables}, failing=True))
            _, order = data.draw(_ends([name for name, _ in made.columns]))
            limit, offset = data.draw(st.integers(0, 6)), data.draw(st.integers(0, 2))
            cut = slice(offset, offset + limit) if order else slice(None)
            text = f"SELECT * FROM ({made.text}) AS q{order}" + (f" LIMIT {limit} OFFSET {offset}" if order else "")
            note(text)
            query = bind(db, text)
            found = [oracle.hashable(row) for row in scan(db, text)[0]]
            expected = _expected(db, query, rows, cut)
            if order:
                assert found == expected
            else:
                assert Counter(found) == Counter(expected)
    finally:
        shutil.rmtree(folder)


def test_parameters_of_conditions_lists_and_limit_are_filled_in(db: vk.Database) -> None:
    db.load("Tags", [{"docId": n, "tag": "abc"[n % 3], "ts": n % 5} for n in range(40)])
    text = "SELECT docId FROM Tags WHERE ts < :most AND tag IN :tags ORDER BY ts DESC, docId LIMIT :n OFFSET 1"
    wanted = sorted((-(n % 5), n) for n in range(40) if n % 5 < 3 and n % 3 in (0, 2))
    assert scan(db, text, most=3, tags=["a", "c"], n=4)[0] == [(n,) for _, n in wanted[1:5]]
    assert scan(db, text, most=3, tags=[], n=4)[0] == []


def test_rows_are_sorted_by_what_they_do_not_show(db: vk.Database) -> None:
    db.load("Tags", [{"docId": n, "tag": "a", "ts": n * 7 % 10} for n in range(10)])
    assert scan(db, "SELECT docId FROM Tags ORDER BY ts LIMIT 3")[0] == [(0,), (3,), (6,)]


def test_all_sources_are_read_as_of_where_the_views_stood(db: vk.Database) -> None:
    db.load("Tags", [{"docId": n, "tag": "a", "ts": n} for n in range(5)])
    db.execute("CREATE VIEW Counts AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag")
    stood = db.head()
    db.load("Tags", [{"docId": n, "tag": "a", "ts": n} for n in range(5, 8)])
    text = "SELECT c.n, t.docId FROM Counts AS c JOIN Tags AS t ON c.tag = t.tag ORDER BY t.docId"
    rows, position = scan(db, text)
    assert (rows, position) == ([(5, n) for n in range(5)], stood)
    assert len(scan(db, "SELECT docId FROM Tags")[0]) == 8
    db.maintain()
    rows, position = scan(db, text)
    assert (rows, position) == ([(8, n) for n in range(8)], db.head())


def test_a_view_that_is_not_filled_cannot_be_read(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viewkeeper.write.views.SMALL", -1)
    db.execute("CREATE VIEW Counts AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag")
    with pytest.raises(ViewNotReady, match='no position at which "Counts" can be read'):
        scan(db, "SELECT n, tag FROM Counts ORDER BY n")


def test_local_views_of_a_table_in_partitions_are_read_by_their_definitions(db: vk.Database) -> None:
    db.execute("CREATE TABLE P (k BIGINT PRIMARY KEY, g INT, v INT) PARTITIONED BY HASH (k) INTO 3")
    db.execute("CREATE VIEW Sums MAINTAIN LOCAL AS SELECT g, SUM(v) AS s, COUNT(*) AS n FROM P GROUP BY g")
    db.execute("CREATE VIEW One MAINTAIN SYNC AS SELECT COUNT(*) AS n FROM P")
    db.load("P", [{"k": n, "g": n % 2, "v": n} for n in range(20)])
    assert scan(db, "SELECT s, g FROM Sums ORDER BY s DESC")[0] == [(100, 1), (90, 0)]
    assert scan(db, "SELECT n + 1 AS m FROM One")[0] == [(21,)]
    text = "SELECT P.k, Sums.n FROM P JOIN Sums ON P.g = Sums.g ORDER BY P.k LIMIT 2"
    assert scan(db, text)[0] == [(0, 10), (1, 10)]


def test_only_the_first_rows_of_a_staging_view_are_read(db: vk.Database) -> None:
    db.execute(STAGING.format(mode="SYNC", parts=4))
    db.load("Tags", some_tags(random.Random(7), 500, moments=90))
    text = POPULAR.partition(" AS\n")[2].format(count=10)
    with counted() as found:
        rows, _ = scan(db, text + " ORDER BY tag")
    assert sum(count for _, count in rows) == 10
    assert found["Staging"] == 40


def test_a_large_answer_comes_in_lists(db: vk.Database) -> None:
    db.load("Tags", [{"docId": n, "tag": "a", "ts": n} for n in range(10_000)])
    query = bind(db, "SELECT docId FROM Tags ORDER BY docId DESC")
    chunks, _ = scan_query(store_of(db), None, query, {})
    lists = list(chunks)
    assert len(lists) == 3
    assert [row for rows in lists for row in rows] == [(n,) for n in reversed(range(10_000))]
