"""What is suggested in place of a sub-query as a value, taken at its word."""

from __future__ import annotations

import re

import pytest

from tests.sql.tables import view
from viewkeeper.errors import Unsupported
from viewkeeper.plan.join import PartnerJoin
from viewkeeper.plan.relation import Project

SUB_QUERIES = [
    "(SELECT Name FROM Items AS i WHERE i.ItemID = a)",
    "(SELECT Name FROM Items WHERE a = ItemID)",
    '(SELECT Name FROM Items AS "my items" WHERE ItemID = k.a)',
    "(SELECT MAX(Stock) FROM Items WHERE Name = b AND Stock = a)",
    "((SELECT COUNT(*) FROM Items WHERE Name = b))",
    "(SELECT MIN(k2.v) FROM k AS k2 WHERE k2.b = k.b)",
    "(SELECT MIN(m) FROM (SELECT v AS m, b FROM k) AS k2 WHERE k2.b = k.b)",
]
HINT = re.compile(r"Write (?P<join>LEFT JOIN .*) in FROM, and (?P<value>.*) here\.")


@pytest.mark.parametrize("text", SUB_QUERIES[:-1])
def test_the_join_that_is_written_out_is_a_view(text: str) -> None:
    with pytest.raises(Unsupported, match="a correlated sub-query") as refused:
        view(f"SELECT a, {text} AS n FROM k")
    hint = HINT.fullmatch(refused.value.hint)
    assert hint is not None
    plan = view(f"SELECT k.a, {hint['value']} AS n FROM k {hint['join']}").plan
    assert isinstance(plan, Project)
    assert isinstance(plan.input, PartnerJoin)


def test_it_is_not_written_out_where_there_is_more_than_a_table() -> None:
    with pytest.raises(Unsupported, match="a correlated sub-query") as refused:
        view(f"SELECT a, {SUB_QUERIES[-1]} AS n FROM k")
    assert "outer.col" in refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "(SELECT MAX(a) FROM k AS other WHERE a > 1)",
        "(SELECT MAX(k.a) FROM k)",
        "(WITH w AS (SELECT a FROM k AS o) SELECT MAX(a) FROM w)",
        "(SELECT MAX(v) FROM (SELECT Stock AS v FROM Items) AS s)",
        "(SELECT MAX(v) FROM nowhere)",
    ],
)
def test_a_name_that_the_sub_query_has_is_not_one_of_the_query_around_it(text: str) -> None:
    with pytest.raises(Unsupported, match="a sub-query as a value"):
        view(f"SELECT a, {text} AS n FROM k")
