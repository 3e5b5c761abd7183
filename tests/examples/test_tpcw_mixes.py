"""The mixes of the standard, and the texts of the queries."""

from __future__ import annotations

import pytest

from examples.tpcw.mixes import INTERACTIONS, MIXES
from examples.tpcw.shop import TUPLE_WINDOWS, named_queries
from tests.repo.tree import ROOT
from viewkeeper.sql.parse import parse

FILES = sorted((ROOT / "examples").glob("*/queries.sql"))
QUERIES = [
    pytest.param(sql, id=f"{file.parent.name}-{name}")
    for file in FILES
    for name, sql in named_queries(file.read_text(encoding="utf-8")).items()
]


def test_there_are_fourteen_interactions() -> None:
    assert len(INTERACTIONS) == 14


@pytest.mark.parametrize("mix", MIXES)
def test_shares_of_a_mix_are_all(mix: str) -> None:
    assert sum(MIXES[mix].values()) == pytest.approx(100)


@pytest.mark.parametrize(("mix", "browsed"), [("browsing", 95), ("shopping", 80), ("ordering", 50)])
def test_a_mix_browses_as_much_as_the_standard_says(mix: str, browsed: int) -> None:
    assert sum(MIXES[mix][name] for name in INTERACTIONS[:6]) == pytest.approx(browsed)


@pytest.mark.parametrize("sql", QUERIES)
def test_a_query_is_one_statement(sql: str) -> None:
    assert len(parse(sql)) == 1


def test_queries_over_the_last_orders_are_known_by_name() -> None:
    assert {name for name in named_queries() if name.endswith("_last_orders")} == TUPLE_WINDOWS
