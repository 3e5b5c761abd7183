"""A relation over rows in memory against the oracle."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import oracle
from tests.execute.driving import canonical
from tests.execute.joinplans import ROWS, TABLES, joinplans
from viewkeeper.execute.evaluate import evaluate
from viewkeeper.model.types import BIGINT, DOUBLE, STRING
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.expr import Input
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind
from viewkeeper.plan.relation import Aggregate, Field, Project, Relation, Scan, scans


def tables() -> st.SearchStrategy[dict[str, list[tuple[Any, ...]]]]:
    """Rows of each table, without two of one key."""
    keys = {table.name: table.key_ids for table in TABLES}

    def rows(name: str) -> st.SearchStrategy[list[tuple[Any, ...]]]:
        def key(row: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(row[number] for number in keys[name])

        return st.lists(ROWS[name], max_size=6, unique_by=key)

    return st.fixed_dictionaries({name: rows(name) for name in ROWS})


@settings(max_examples=600, suppress_health_check=list(HealthCheck))
@given(relation=joinplans(), rows=tables())
def test_evaluated_relation_is_what_the_oracle_says(relation: Relation, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    found = evaluate(relation, [rows[scan.name] for scan in scans(relation)])
    assert canonical(found) == canonical(oracle.evaluate(relation, lambda scan: rows[scan.name]))


LEFT = Scan(1, "A", (0, 1), (Field("id", BIGINT), Field("x", DOUBLE)))
RIGHT = Scan(2, "B", (1, 2), (Field("k", BIGINT), Field("s", STRING)))
PAIRS = ((Input(0, BIGINT), Input(2, BIGINT)),)


def test_two_scans_of_one_table_may_have_different_rows() -> None:
    self_join = InnerJoin((LEFT, LEFT), PAIRS)
    assert evaluate(self_join, [[(1, 0.5)], [(1, 1.5), (2, 2.5)]]) == [(1, 0.5, 1, 1.5)]


def test_columns_that_a_scan_does_not_read_may_be_anything() -> None:
    left = PartnerJoin(PartnerKind.LEFT, LEFT, RIGHT, PAIRS)
    assert evaluate(left, [[(1, 0.5, b"?")], [(b"?", 1, "a")]]) == [(1, 0.5, 1, "a")]


def test_row_that_found_its_partner_is_not_shown_alone() -> None:
    full = PartnerJoin(PartnerKind.FULL, LEFT, RIGHT, PAIRS)
    found = evaluate(full, [[(1, 0.5), (2, None)], [(None, 1, "a"), (None, 3, "c")]])
    assert sorted(found, key=repr) == [(1, 0.5, 1, "a"), (2, None, None, None), (None, None, 3, "c")]


def test_equal_rows_are_given_as_often_as_they_are_there() -> None:
    assert evaluate(LEFT, [[(1, math.nan), (1, -0.0), (1, 0.0), (1, math.nan)]]) == [
        (1, pytest.approx(math.nan, nan_ok=True)),
        (1, pytest.approx(math.nan, nan_ok=True)),
        (1, 0.0),
        (1, 0.0),
    ]


def test_rows_that_differ_in_the_sign_of_zero_all_find_their_partner() -> None:
    left = Scan(1, "A", (0, 1, 2), (Field("id", BIGINT), Field("x", DOUBLE), Field("y", DOUBLE)))
    join = PartnerJoin(PartnerKind.LEFT, left, RIGHT, ((Input(0, BIGINT), Input(3, BIGINT)),))
    found = evaluate(join, [[(1, float("nan"), -0.0), (1, float("nan"), 0.0)], [(None, 1, "a")]])
    assert [(row[0], row[2:]) for row in found] == [(1, (0.0, 1, "a"))] * 2


def test_aggregate_of_nothing_has_its_one_row() -> None:
    joined = Project(InnerJoin((LEFT, RIGHT), PAIRS), (Input(0, BIGINT),), ("id",))
    count = Aggregate(joined, (), (AggregateCall(AggregateKind.COUNT_ROWS, None, BIGINT),), ("n",))
    assert evaluate(count, [[], []]) == [(0,)]


def test_text_longer_than_a_key_of_the_store_is_joined() -> None:
    left = PartnerJoin(PartnerKind.LEFT, RIGHT, RIGHT, PAIRS)
    long = "x" * 100_000
    assert evaluate(left, [[(0, 1, long)], [(0, 1, long)]]) == [(1, long, 1, long)]
