"""Joins mean what SQLite says: random SELECTs, bound and computed by the oracle, against SQLite running the text."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from tests.oracle import evaluate
from tests.sql.join_texts import INT, TABLES, TEXT, Select, join_queries
from tests.sql.plan_types import check_plan
from tests.sql.tables import Catalog
from viewkeeper.plan.relation import Scan, scans
from viewkeeper.plan.show import show
from viewkeeper.sql.parse import parse
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.prune import prune
from viewkeeper.sql.query.select import bind_top
from viewkeeper.sql.statements import CreateView
from viewkeeper.sql.tree import CreateViewTree

Rows = dict[str, list[tuple[Any, ...]]]


def _create(name: str) -> str:
    columns = ", ".join(f"{column} {type}" for column, type in TABLES[name])
    return f"CREATE TABLE {name} ({columns}, PRIMARY KEY (id))"


def _catalog() -> Catalog:
    return Catalog(*map(_create, TABLES))


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    found: Rows = {}
    for name, columns in TABLES.items():
        # Few values and some rows, so that most joins find something.
        cells = {INT: st.sampled_from([0, 1, 0, 1, 2, None]), TEXT: st.sampled_from(["a", "b", "a", None])}
        others = st.tuples(*(cells[type] for _, type in columns[1:]))
        rows = draw(st.lists(others, min_size=2, max_size=5))
        found[name] = [(number, *row) for number, row in enumerate(rows)]
    return found


def _in_sqlite(text: str, rows: Rows) -> Counter[tuple[Any, ...]]:
    # SQLite 3.40 loses its way where it merges a UNION ALL that has a RIGHT or FULL join in it into the query around
    # it: it forgets conditions, or finds an ON clause that references tables to its right.
    assume("UNION" not in text or not ("RIGHT" in text or "FULL" in text))
    connection = sqlite3.connect(":memory:")
    try:
        for name in TABLES:
            connection.execute(_create(name).replace("STRING", "TEXT"))
            marks = ", ".join("?" * len(TABLES[name]))
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", rows[name])
        return Counter(connection.execute(text))
    finally:
        connection.close()


@settings(max_examples=3 * settings().max_examples)
@given(join_queries(), tables())
def test_a_random_query_gives_the_rows_that_sqlite_gives(query: Select, rows: Rows) -> None:
    note(query.texts.ours)
    view = _catalog().one(f"CREATE VIEW v AS {query.texts.ours}")
    assert isinstance(view, CreateView)
    assert view.plan is not None
    note(show(view.plan))
    check_plan(view.plan)

    def of(scan: Scan) -> Iterable[tuple[Any, ...]]:
        return rows[scan.name]

    width = len(view.visible)
    found = Counter(row[:width] for row in evaluate(view.plan, of))
    assert found == _in_sqlite(query.texts.theirs, rows)


@given(join_queries())
def test_the_kept_text_of_a_random_query_means_the_same_after_columns_were_added(query: Select) -> None:
    catalog = _catalog()
    view = catalog.one(f"CREATE VIEW v AS {query.texts.ours}")
    names = {name for columns in TABLES.values() for name, _ in columns} | {"c0", "c1", "c2"}
    for table, columns in TABLES.items():
        for name in sorted(names - {name for name, _ in columns}):
            catalog.run(f"ALTER TABLE {table} ADD COLUMN {name} INT")
    again = catalog.one(view.text)
    assert again.text == view.text
    assert show(again.plan) == show(view.plan)
    assert (again.plan, again.visible) == (view.plan, view.visible)


@given(join_queries())
def test_pruning_a_random_query_keeps_its_fields_and_leaves_nothing_to_prune(query: Select) -> None:
    (parsed,) = parse(f"CREATE VIEW v AS {query.texts.ours}")
    assert isinstance(parsed.tree, CreateViewTree)
    bound, _ = bind_top(parsed.tree.query, Context(parsed=parsed, find=_catalog().find, periodic=False), {})
    narrow = prune(bound.relation)
    assert narrow.fields == bound.relation.fields
    assert prune(narrow) == narrow
    assert len(list(scans(narrow))) == len(list(scans(bound.relation)))
    for scan in scans(narrow):
        assert list(scan.columns) == sorted(set(scan.columns))
