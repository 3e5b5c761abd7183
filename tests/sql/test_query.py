"""Queries with open parameters: what a parameter is taken for, and what is left of ORDER BY and LIMIT."""

from __future__ import annotations

import pytest

from tests.sql.tables import Catalog, catalog
from viewkeeper.model.types import BIGINT
from viewkeeper.plan.expr import Parameter
from viewkeeper.plan.join import UnionAll
from viewkeeper.plan.relation import Project
from viewkeeper.plan.show import show
from viewkeeper.plan.whole import Sort, is_whole
from viewkeeper.sql.bind import query_of
from viewkeeper.sql.parse import parse
from viewkeeper.sql.statements import Query


def query(text: str, tables: Catalog | None = None) -> Query:
    (parsed,) = parse(text)
    return query_of(parsed, (tables or catalog()).find)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("((SELECT Name FROM Items))", "SELECT Name FROM Items"),
        ("(SELECT Name FROM Items) LIMIT 5", "SELECT Name FROM Items LIMIT 5"),
    ],
)
def test_a_query_may_begin_with_parentheses(text: str, same: str) -> None:
    assert query(text) == query(same)


def test_each_query_of_a_union_may_stand_in_parentheses() -> None:
    queries = [
        "(SELECT Name FROM Items ORDER BY Price LIMIT 5)",
        "((WITH t AS (SELECT tag FROM Tags) SELECT tag FROM t))",
    ]
    union = query(" UNION ALL ".join(queries) + " LIMIT 3")
    assert union.limit == 3
    behind = [query(f"SELECT Name FROM Items UNION ALL {one}").plan for one in queries]
    assert isinstance(union.plan, UnionAll)
    assert list(union.plan.inputs) == [plan.inputs[1] for plan in behind if isinstance(plan, UnionAll)]


def where(condition: str) -> Query:
    return query(f"SELECT Name FROM Items WHERE {condition}")


def typed(found: Query) -> dict[str | int, str]:
    """The parameters with their types, in order."""
    return {parameter.key: str(parameter.type) for parameter in found.parameters}


@pytest.mark.parametrize(
    ("condition", "type"),
    [
        ("Stock = :p", "INT"),
        (":p = Stock", "INT"),
        ("Stock <> :p", "INT"),
        ("ItemID <=> :p", "BIGINT"),
        ("Price >= :p", "DECIMAL(10,2)"),
        ("Seen < :p", "TIMESTAMP"),
        ("Made = :p", "DATE"),
        ("Live = :p", "BOOLEAN"),
        ("Image = :p", "BINARY"),
        ("Weight > :p", "DOUBLE"),
        ("Stock BETWEEN :p AND 9", "INT"),
        ("Stock BETWEEN 1 AND :p", "INT"),
        (":p BETWEEN Stock AND ItemID", "INT"),
        ("Name IN ('a', :p)", "STRING"),
        ("Name NOT IN (:p)", "STRING"),
        ("Name LIKE :p", "STRING"),
        ("Name NOT LIKE :p", "STRING"),
        ("TOKENS(Name) = :p", "STRING"),
        ("TOKENS(Name) LIKE :p", "STRING"),
        ("Stock + :p > 3", "INT"),
        ("Price * :p > 3", "DECIMAL(10,2)"),
        ("Stock / :p > 3", "DOUBLE"),
        ("Seen + :p > Seen", "BIGINT"),
        (":p + Seen > Seen", "BIGINT"),
        ("Made - :p > Made", "INT"),
        ("COALESCE(Name, :p) = 'x'", "STRING"),
        ("Name || :p = 'x'", "STRING"),
        ("CASE WHEN Live THEN Stock ELSE :p END > 0", "INT"),
        ("CASE Name WHEN :p THEN TRUE END", "STRING"),
        ("IF(:p, Stock, 0) > 0", "BOOLEAN"),
        (":p", "BOOLEAN"),
        ("NOT :p", "BOOLEAN"),
        ("UPPER(:p) = Name", "STRING"),
        ("SUBSTRING(Name, :p, 2) = 'x'", "INT"),
        ("HOUR(:p) = 3", "TIMESTAMP"),
        ("CAST(:p AS DECIMAL(5,1)) > Price", "DECIMAL(5,1)"),
        ("CAST(:p AS TIMESTAMP) - 1000 < Seen", "TIMESTAMP"),
        ("CAST(:p AS INT) IS NULL", "INT"),
        (":p IS NULL OR Name = :p", "STRING"),
        ("Name = :p OR :p IS NOT NULL", "STRING"),
        ("HASH(:p) INTO 8 = 3 AND Stock = :p", "INT"),
        ("Stock = :p AND ItemID = :p", "INT"),
        ("ItemID = :p AND Stock = :p", "INT"),
    ],
)
def test_a_parameter_has_the_type_of_what_it_stands_beside(condition: str, type: str) -> None:
    assert typed(where(condition)) == {"p": type}


def test_the_type_of_one_parameter_says_that_of_another() -> None:
    assert typed(where(":a = :b AND Stock = :a")) == {"a": "INT", "b": "INT"}


def test_parameters_stand_in_every_clause() -> None:
    found = query(
        """SELECT i.Name, COUNT(*) FILTER (WHERE t.tag > :a) AS n, MAX(COALESCE(i.Stock, :b)) AS m
        FROM (SELECT * FROM Items WHERE Live = :c) i LEFT JOIN Tags t ON t.docId = i.ItemID AND t.tag = :d
        WHERE EXISTS (SELECT 1 FROM k WHERE k.a = i.Stock AND k.b = :e)
        GROUP BY i.Name HAVING COUNT(*) > :f ORDER BY COUNT(*) + :g DESC LIMIT :h"""
    )
    strings = dict.fromkeys("ade", "STRING")
    numbers = dict.fromkeys("fgh", "BIGINT")
    assert typed(found) == {**strings, **numbers, "b": "INT", "c": "BOOLEAN"}


def test_parameters_come_in_the_order_of_the_text_each_once() -> None:
    found = where("Stock = :z AND Name = :a AND ItemID = :z LIMIT :m")
    assert [parameter.key for parameter in found.parameters] == ["z", "a", "m"]
    assert [parameter.key for parameter in where("Name = ? AND Stock = ?").parameters] == [0, 1]


def test_a_parameter_of_a_column_that_nothing_reads_is_a_parameter_all_the_same() -> None:
    found = query("SELECT a FROM (SELECT Name AS a, Stock + :p AS b FROM Items) x")
    assert typed(found) == {"p": "INT"}
    assert ":p" not in show(found.plan)


def test_the_plan_has_parameters_where_the_text_has_them() -> None:
    found = where("Stock = :s")
    assert show(found.plan).split("\n")[2:] == ["  Filter (Stock = :s)", "    Scan Items (Name STRING, Stock INT)"]
    assert "(Stock = ?1)" in show(where("Stock = ?").plan)


def test_a_list_has_a_place_for_each_value_that_it_may_have() -> None:
    found = where("ItemID IN :ids MAX 3")
    assert found.lists == {"ids": 3}
    assert found.parameters == tuple(Parameter("ids", BIGINT, place) for place in range(3))
    assert "in(ItemID, :ids[0], :ids[1], :ids[2])" in show(found.plan)


def test_a_list_without_a_length_is_one_place_for_all() -> None:
    found = where("ItemID IN ?")
    assert (found.lists, found.parameters) == ({}, (Parameter(0, BIGINT, -1),))
    assert "in(ItemID, ?1[…])" in show(found.plan)


def test_of_two_lengths_of_a_list_the_shorter_one_holds() -> None:
    for one, other in ((3, 2), (2, 3)):
        found = where(f"ItemID IN :ids MAX {one} OR ItemID IN :ids MAX {other}")
        assert found.lists == {"ids": 2}
        assert len(found.parameters) == 3


def test_max_is_still_a_name_and_a_function() -> None:
    found = query(
        "SELECT Stock IN :ids MAX, MAX AS b FROM (SELECT Stock, MAX(ItemID) AS max FROM Items GROUP BY Stock) x"
    )
    assert [column.name for column in found.columns] == ["MAX", "b"]
    assert found.lists == {}


def test_limit_may_be_a_number_a_parameter_or_one_with_a_maximum() -> None:
    def limit(text: str) -> tuple[object, int | None]:
        found = query(f"SELECT Name FROM Items {text}")
        return found.limit, found.limit_max

    n = Parameter("n", BIGINT)
    assert limit("") == (None, None)
    assert limit("LIMIT 7") == (7, 7)
    assert limit("LIMIT :n") == (n, None)
    assert limit("LIMIT :n MAX 50") == (n, 50)
    assert limit("ORDER BY Stock LIMIT 0") == (0, 0)


def test_order_and_limit_of_the_query_are_not_in_its_plan() -> None:
    found = query("SELECT Name FROM Items ORDER BY Name DESC LIMIT 3 OFFSET 2")
    assert not is_whole(found.plan)
    assert (found.order, found.limit, found.offset) == ((Sort(0, True),), 3, 2)


def test_order_and_limit_of_a_sub_query_are_in_its_plan() -> None:
    found = query("SELECT Name FROM (SELECT * FROM Items ORDER BY Seen DESC LIMIT 9) x ORDER BY Name")
    assert "TopN 9 by Seen DESC" in show(found.plan)
    assert (found.order, found.limit) == ((Sort(0),), None)


def test_what_is_only_sorted_by_comes_behind_the_columns() -> None:
    found = query("SELECT Name, Price FROM Items ORDER BY Stock DESC, Price, Weight + 1")
    assert [column.name for column in found.columns] == ["Name", "Price"]
    assert found.order == (Sort(2, True), Sort(1), Sort(3))
    assert isinstance(found.plan, Project)
    assert len(found.plan.fields) == 4


@pytest.mark.parametrize("item", ["Name", "Items.Name", "1", "label", "LABEL"])
def test_what_is_shown_is_not_computed_again_to_sort_by_it(item: str) -> None:
    found = query(f"SELECT Name AS label, Price FROM Items ORDER BY {item}")
    assert (found.order, len(found.plan.fields)) == ((Sort(0),), 2)


def test_a_column_without_null_may_be_sorted_with_nulls_anywhere() -> None:
    found = query("SELECT ItemID FROM Items ORDER BY ItemID NULLS LAST")
    assert found.order == (Sort(0),)


def test_a_query_may_sort_by_a_sum_of_double() -> None:
    found = query("SELECT Name, SUM(Weight) AS w FROM Items GROUP BY Name ORDER BY w DESC LIMIT 10")
    assert found.order == (Sort(1, True),)


def test_hidden_fields_of_grouping_sets_stay_behind_the_columns() -> None:
    found = query("SELECT Name, COUNT(*) AS n FROM Items GROUP BY CUBE (Name) ORDER BY MAX(Stock)")
    assert [column.name for column in found.columns] == ["Name", "n"]
    assert [field.name for field in found.plan.fields[:2]] == ["Name", "n"]
    assert found.plan.fields[found.order[0].column].name == "order"


def test_a_query_may_be_a_union_and_begin_with_with() -> None:
    found = query("SELECT Name FROM Items UNION SELECT tag FROM Tags WHERE tag = :t ORDER BY 1 LIMIT 3")
    assert (found.order, typed(found), found.sources) == ((Sort(0),), {"t": "STRING"}, (1, 3))
    found = query("WITH x AS (SELECT Name FROM Items WHERE Stock = :s) SELECT * FROM x ORDER BY Name LIMIT 3")
    assert (found.order, typed(found), found.limit) == ((Sort(0),), {"s": "INT"}, 3)


def test_a_query_may_have_what_only_a_periodic_view_may() -> None:
    found = query("SELECT tag, ROW_NUMBER() OVER (ORDER BY tag) AS r FROM Tags")
    assert "Window" in show(found.plan)
    assert "PERCENTILE(" in show(query("SELECT MEDIAN(docId) AS m FROM Tags").plan)


def test_sources_are_each_there_once() -> None:
    found = query("SELECT a.tag FROM Tags a JOIN Tags b ON a.docId = b.docId JOIN Items ON ItemID = a.docId")
    assert found.sources == (3, 1)


def test_binding_leaves_the_parsed_statement_as_it_was() -> None:
    (parsed,) = parse("SELECT Name FROM Items WHERE :p IS NULL OR Stock = :p ORDER BY Price LIMIT :n MAX 5")
    first, second = (query_of(parsed, catalog().find) for _ in range(2))
    assert first == second
