"""What attributes reach by dependencies, and with which factor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from viewkeeper.analysis.block import WORD, Block
from viewkeeper.analysis.dependencies import Dependency, closure, dependencies, reach, unreached
from viewkeeper.analysis.flatten import block_of
from viewkeeper.analysis.paths import rows_under
from viewkeeper.analysis.storage import bound_of_block, storage_bound
from viewkeeper.model.types import INT, STRING
from viewkeeper.plan.expr import Call, Expr, Input
from viewkeeper.read.prepared import schema_now
from viewkeeper.sql.bind import query_of
from viewkeeper.sql.parse import parse
from viewkeeper.sql.sources import finder

A, B, C, D, E = (Input(place, INT) for place in range(5))


def step(given: str, found: str, weight: int = 1) -> Dependency:
    names = {"a": A, "b": B, "c": C, "d": D, "e": E}
    return Dependency(frozenset(names[one] for one in given), frozenset(names[one] for one in found), weight)


def test_what_is_reached_reaches_further() -> None:
    steps = [step("bc", "d"), step("a", "b"), step("b", "c"), step("e", "a")]
    assert closure([A], steps) == {A, B, C, D}


def test_an_attribute_that_needs_two_is_not_reached_from_one() -> None:
    assert closure([A], [step("ab", "c")]) == {A}
    assert closure([], [step("", "a"), step("a", "b")]) == {A, B}


def test_what_is_computed_from_attributes_that_are_reached_is_reached_but_a_word_is_not() -> None:
    total: Expr = Call("+", (A, B), INT)
    word: Expr = Call(WORD, (A,), STRING)
    steps = [Dependency(frozenset({total}), frozenset({C})), Dependency(frozenset({word}), frozenset({D}))]
    assert closure([A, B], steps) >= {C}
    assert closure([A], steps) == {A}
    assert D not in closure([A, B], steps)


def test_the_factor_is_the_product_of_the_weights_on_the_way() -> None:
    found = reach([A], [C], [step("a", "b", 3), step("b", "c", 4)])
    assert found is not None
    assert found.factor == 12


def test_of_two_ways_the_one_with_the_lesser_factor_is_taken() -> None:
    steps = [step("a", "c", 10), step("a", "b", 2), step("b", "c", 3)]
    found = reach([A], [C], steps)
    assert found is not None
    assert found.factor == 6
    # One step of 10 beats two of 4.
    found = reach([A], [C], [step("a", "c", 10), step("a", "b", 4), step("b", "c", 4)])
    assert found is not None
    assert found.factor == 10


def test_many_cheap_steps_beat_one_dear_step() -> None:
    steps = [step("a", "e", 1000), step("a", "b", 2), step("b", "c", 2), step("c", "d", 2), step("d", "e", 2)]
    found = reach([A], [E], steps)
    assert found is not None
    assert found.factor == 16


def test_a_step_that_is_not_needed_does_not_count() -> None:
    found = reach([A], [B], [step("a", "b"), step("a", "c", 7)])
    assert found is not None
    assert found.factor == 1


def test_what_is_not_reached_is_named() -> None:
    assert reach([A], [B, C], [step("a", "b")]) is None
    assert unreached([A], [B, C, D], [step("a", "b")]) == [C, D]


# Of blocks

TABLES = """
CREATE TABLE A (k INT PRIMARY KEY, x INT, z INT);
CREATE TABLE B (y INT, z INT, w INT, PRIMARY KEY (y, z)) WITH CARDINALITY (z, 2);
CREATE TABLE W (k INT PRIMARY KEY, s STRING, t STRING) WITH CARDINALITY (TOKENS(s), 4);
"""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        yield db


def block(db: vk.Database, sql: str) -> Block:
    catalog = db._shared.catalog()
    return block_of(query_of(parse(sql)[0], finder(catalog)).plan, schema_now(db._shared, catalog))


def factor(db: vk.Database, sql: str) -> tuple[int | None, str]:
    found = bound_of_block(block(db, sql), schema_now(db._shared, db._shared.catalog()))
    return found.factor, found.table


def test_a_join_by_key_has_as_many_rows_as_the_other_table(db: vk.Database) -> None:
    assert factor(db, "SELECT A.k FROM A JOIN B ON B.y = A.x AND B.z = A.z") == (1, "A")


def test_a_join_by_part_of_a_key_has_as_many_as_cardinality_says(db: vk.Database) -> None:
    assert factor(db, "SELECT A.k, B.z FROM A JOIN B ON B.y = A.x") == (2, "A")
    assert factor(db, "SELECT A.k, B.z FROM A JOIN B ON B.y = A.x JOIN B c ON c.y = A.z") == (4, "A")


def test_a_join_by_what_nothing_limits_has_no_bound(db: vk.Database) -> None:
    found = bound_of_block(
        block(db, "SELECT a.k, b.k AS l FROM A a JOIN A b ON a.x = b.x"), schema_now(db._shared, db._shared.catalog())
    )
    assert (found.factor, found.unreached) == (None, ("A.k",))


def test_groups_are_as_many_as_their_columns_have_values(db: vk.Database) -> None:
    assert factor(db, "SELECT a.x, COUNT(*) AS n FROM A a JOIN A b ON a.x = b.x GROUP BY a.x") == (1, "A")
    assert factor(db, "SELECT COUNT(*) AS n FROM A") == (1, "one row")


def test_a_literal_is_one_value(db: vk.Database) -> None:
    assert factor(db, "SELECT A.k FROM A JOIN B ON B.y = A.x WHERE B.z = 3") == (1, "A")


def test_words_are_as_many_as_is_declared(db: vk.Database) -> None:
    db.execute("CREATE INDEX Limited ON W (TOKENS(s)); CREATE INDEX Free ON W (TOKENS(t))")
    schema = schema_now(db._shared, db._shared.catalog())
    bounds = {view.name: storage_bound(view, schema).factor for view in schema.views()}
    assert bounds == {"Limited": 4, "Free": None}


def test_whether_a_row_has_a_partner_takes_all_that_on_reads(db: vk.Database) -> None:
    """With x alone, some rows of A have a partner and some have none: two groups."""
    db.execute(
        "CREATE MATERIALIZED VIEW G KEY (x, y) AS SELECT A.x, B.y, COUNT(*) AS n FROM A"
        " LEFT JOIN B ON A.x = B.y AND A.z = B.z GROUP BY A.x, B.y"
    )
    schema = schema_now(db._shared, db._shared.catalog())
    (view,) = schema.views()
    assert rows_under(view, frozenset({0}), schema) is None
    assert storage_bound(view, schema).factor == 1


def test_one_comparison_in_on_settles_whether_there_is_a_partner(db: vk.Database) -> None:
    known = dependencies(block(db, "SELECT A.k, B.z FROM A LEFT JOIN B ON B.y = A.x"))
    assert Dependency(frozenset({Input(1, INT)}), frozenset({Input(3, INT)})) in known


@pytest.mark.parametrize(("columns", "rows"), [("y, z", 1), ("y", 2), ("z", None), ("w", None), ("y, w", 2)], ids=str)
def test_rows_under_a_key_are_limited_by_keys_and_cardinality(db: vk.Database, columns: str, rows: int | None) -> None:
    schema = schema_now(db._shared, db._shared.catalog())
    table = next(one for one in schema.tables() if one.name == "B")
    assert rows_under(table, frozenset(table.column(name) for name in columns.split(", ")), schema) == rows


def test_a_view_above_one_without_a_bound_has_none_for_the_same_columns(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW V AS SELECT a.k, b.k AS l FROM A a JOIN A b ON a.x = b.x")
    found = bound_of_block(block(db, "SELECT k FROM V"), schema_now(db._shared, db._shared.catalog()))
    assert (found.factor, found.unreached) == (None, ("A.k",))
