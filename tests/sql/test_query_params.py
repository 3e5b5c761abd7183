"""The values of a query's parameters as cells."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.sql.tables import catalog
from viewkeeper.errors import BadParameter
from viewkeeper.plan.filling import ANY_LENGTH, filled
from viewkeeper.plan.show import show
from viewkeeper.sql.bind import query_of
from viewkeeper.sql.parse import parse
from viewkeeper.sql.query_params import cells_of
from viewkeeper.sql.statements import Query


def query(text: str) -> Query:
    (parsed,) = parse(f"SELECT Name FROM Items {text}")
    return query_of(parsed, catalog().find)


def cells(text: str, params: Any = None) -> dict[Any, Any]:
    return cells_of(query(text), params)


def refused(text: str, params: Any) -> str:
    with pytest.raises(BadParameter) as error:
        cells(text, params)
    return str(error.value)


def test_values_become_cells_of_the_types_of_their_parameters() -> None:
    text = "WHERE Price > :price AND Made = :made AND Seen = :seen AND Name = :name AND Weight < :weight"
    given = {
        "price": Decimal("2.5"),
        "made": date(1970, 1, 3),
        "seen": datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
        "name": "x",
        "weight": 2,
    }
    found = {("price", None): 250, ("made", None): 2, ("seen", None): 1_000_000, ("name", None): "x"}
    assert cells(text, given) == {**found, ("weight", None): 2.0}


def test_values_of_question_marks_are_counted() -> None:
    assert cells("WHERE Stock = ? AND Name = ? LIMIT ?", [7, "x", 3]) == {(0, None): 7, (1, None): "x", (2, None): 3}


def test_none_is_null() -> None:
    assert cells("WHERE Stock = :p", {"p": None}) == {("p", None): None}


def test_a_query_without_parameters_takes_none() -> None:
    assert cells("") == cells("", {}) == {}
    assert refused("", {"p": 1}).startswith("the text has no parameters, found :p")


WHOLE = ("p", ANY_LENGTH)


def test_a_list_that_is_shorter_repeats_its_first_value() -> None:
    assert cells("WHERE Stock IN :p MAX 3", {"p": [5, 6]}) == {("p", 0): 5, ("p", 1): 6, ("p", 2): 5, WHOLE: (5, 6)}
    assert cells("WHERE Stock IN :p MAX 2", {"p": (5, 6)}) == {("p", 0): 5, ("p", 1): 6, WHOLE: (5, 6)}


def test_an_empty_list_is_null_everywhere() -> None:
    assert cells("WHERE Stock IN :p MAX 2", {"p": []}) == {("p", 0): None, ("p", 1): None, WHOLE: ()}
    assert cells("WHERE Stock IN :p", {"p": []}) == {WHOLE: ()}


def test_a_list_of_any_length_has_all_its_values() -> None:
    assert cells("WHERE Stock IN :p", {"p": {5}}) == {WHOLE: (5,)}
    assert cells("WHERE Stock IN :p", {"p": [5, None, 6]}) == {WHOLE: (5, None, 6)}


@pytest.mark.parametrize(
    ("text", "value", "error"),
    [
        ("WHERE Stock = :p", "5", "parameter :p is str '5', expected INT"),
        ("WHERE Stock = :p", 2**40, f"parameter :p is int {2**40}, expected INT"),
        ("WHERE Stock = :p", [5], "parameter :p is a list, expected INT"),
        ("WHERE Stock IN (:p)", [5], "parameter :p is a list, expected INT"),
        ("WHERE Made = :p", "2024-05-01", "parameter :p is str '2024-05-01', expected DATE"),
        ("WHERE Stock IN :p MAX 2", 5, "parameter :p of IN is int 5, expected a list"),
        ("WHERE Stock IN :p MAX 2", "ab", "parameter :p of IN is str 'ab', expected a list"),
        ("WHERE Stock IN :p MAX 2", [1, 2, 3], "parameter :p of IN has 3 values, more than 2"),
        ("WHERE Stock IN :p MAX 2", [1, "x"], "parameter :p is str 'x', expected INT"),
        ("WHERE Stock IN :p", [1, "x"], "parameter :p is str 'x', expected INT"),
        ("LIMIT :p MAX 5", 6, "parameter :p of LIMIT is 6, more than 5"),
        ("LIMIT :p MAX 5", -1, "parameter :p of LIMIT is -1, expected a whole number from 0"),
        ("LIMIT :p", None, "parameter :p of LIMIT is None, expected a whole number from 0"),
        ("LIMIT :p", 2.0, "parameter :p of LIMIT is 2.0, expected a whole number from 0"),
        ("LIMIT :p", True, "parameter :p of LIMIT is True, expected a whole number from 0"),
    ],
)
def test_what_is_no_value_of_a_parameter_is_named_with_what_was_expected(text: str, value: Any, error: str) -> None:
    assert refused(text, {"p": value}).split("\n")[0] == error
    numbered = error.replace(":p", "number 1")
    assert refused(text.replace(":p", "?"), [value]).split("\n")[0] == numbered


def test_a_maximum_itself_is_within_it() -> None:
    assert cells("LIMIT :p MAX 5", {"p": 5}) == {("p", None): 5}


def test_a_list_for_a_single_value_is_told_how_to_write_it() -> None:
    assert refused("WHERE Stock IN (:p)", {"p": [1]}).endswith("IN :p MAX 20.")
    assert refused("WHERE Stock IN (?)", [[1]]).endswith("IN ? MAX 20.")


def test_missing_and_unused_parameters_are_named() -> None:
    assert refused("WHERE Stock = :a AND Name = :b", {"a": 1}).startswith("missing parameter :b")
    assert refused("WHERE Stock = :a", {"a": 1, "b": 2}).startswith("unused parameter :b")
    assert "found 1 value" in refused("WHERE Stock = ? AND Name = ?", [1])


def test_a_plan_is_filled_with_the_values() -> None:
    found = query("WHERE Stock = :a AND ItemID IN :b MAX 2 AND Price IN :c AND COALESCE(Live, :d)")
    values = cells_of(found, {"a": 1, "b": [], "c": [1, 2], "d": True})
    assert (
        "((Stock = 1) and FALSE and in(Price, 1.00:DECIMAL(10,2), 2.00:DECIMAL(10,2)) and coalesce(Live, TRUE))"
    ) in show(filled(found.plan, values))


def test_a_plan_is_filled_in_joins_sub_queries_and_groups() -> None:
    (parsed,) = parse(
        """SELECT i.Name, COUNT(*) + :a AS n FROM (SELECT * FROM Items ORDER BY Name LIMIT 5) i
        LEFT JOIN Tags t ON t.docId = i.ItemID AND (t.tag = :b OR i.Stock > :c)
        JOIN k ON k.a = i.Stock AND COALESCE(k.b, :d) = i.Name
        WHERE EXISTS (SELECT 1 FROM Tags WHERE docId = i.ItemID AND tag <> :e)
        GROUP BY i.Name, CASE WHEN :f THEN 1 ELSE 2 END HAVING COUNT(*) > :g
        UNION ALL SELECT CAST(:h AS STRING), 1 AS n FROM Tags"""
    )
    found = query_of(parsed, catalog().find)
    given = {"a": 1, "b": "b", "c": 3, "d": "d", "e": "e", "f": True, "g": 7, "h": "h"}
    shown = show(filled(found.plan, cells_of(found, given)))
    assert all(f":{name}" in show(found.plan) for name in "abcdefgh")
    assert not any(f":{name}" in shown for name in "abcdefgh")
