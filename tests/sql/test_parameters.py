"""Parameters: bound as values, and exactly those that the text names."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest

from tests.sql.tables import catalog, points, where
from viewkeeper.errors import BadParameter, OutOfRange, WrongType
from viewkeeper.sql import bind as binding
from viewkeeper.sql.bind import bind
from viewkeeper.sql.parse import parse


@pytest.mark.parametrize(
    ("column", "value", "cell"),
    [
        ("Name", "'; DROP TABLE Items; --", "'; DROP TABLE Items; --"),
        ("Name", ":x", ":x"),
        ("Price", Decimal("9.99"), 999),
        ("Price", 5, 500),
        ("Weight", 5, 5.0),
        ("Image", b"\0", b"\0"),
        ("Made", date(1970, 1, 2), 1),
        ("Seen", datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1_000_000),
        ("Live", True, True),
        ("Stock", None, None),
    ],
)
@pytest.mark.parametrize("style", [":value", "?"])
def test_a_parameter_is_the_cell_of_its_value(column: str, value: Any, cell: Any, style: str) -> None:
    params = [value] if style == "?" else {"value": value}
    statement = catalog().one(f"UPDATE Items SET {column} = {style} WHERE ItemID = 1", params)
    assert list(statement.cells.values()) == [cell]


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        ("Name", 5, WrongType),
        ("Stock", "5", WrongType),
        ("Stock", 2**31, OutOfRange),
        ("Made", "2020-01-01", WrongType),
        ("Stock", [1], WrongType),
    ],
)
def test_a_value_that_does_not_fit_names_its_column(column: str, value: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match=f'column "{column}"'):
        catalog().one(f"UPDATE Items SET {column} = :v WHERE ItemID = 1", {"v": value})


def test_one_name_may_stand_in_several_places() -> None:
    assert where("a = :x AND a >= :x", {"x": 5}) == points((5,))


def test_any_mapping_and_any_sequence_will_do() -> None:
    assert where("a = :x", MappingProxyType({"x": 5})) == points((5,))
    assert where("a = ?", (5,)) == points((5,))


@pytest.mark.parametrize("values", [[3, 1, 2, 3], (1, 2, 3), {1, 2, 3}, {1: "", 2: "", 3: ""}.keys(), range(1, 4)])
@pytest.mark.parametrize("condition", ["a IN (:x)", "a IN :x"])
def test_a_list_in_in_is_its_values(values: Any, condition: str) -> None:
    assert where(condition, {"x": values}) == points((1,), (2,), (3,))


def test_a_list_stands_beside_other_values() -> None:
    assert where("a IN (7, :x, :y)", {"x": [5, None], "y": 6}) == points((5,), (6,), (7,))
    assert where("a IN (?, ?)", [[1, 2], 3]) == points((1,), (2,), (3,))


@pytest.mark.parametrize("condition", ["a IN (:x)", "a IN :x"])
def test_an_empty_list_is_no_key(condition: str) -> None:
    assert where(condition, {"x": []}) == ()


@pytest.mark.parametrize("value", [5, "abc", {"a": 1}, None])
def test_in_without_parentheses_takes_a_list_only(value: Any) -> None:
    with pytest.raises(BadParameter, match=r"parameter :x of IN is .*, expected a list"):
        where("a IN :x", {"x": value})


@pytest.mark.parametrize("text", ["SELECT * FROM k WHERE a IN :p MAX 2", "DELETE FROM k WHERE a IN :p MAX 2"])
def test_a_list_is_at_most_as_long_as_it_is_declared(text: str) -> None:
    assert catalog().one(text, {"p": [5, 6]}).where == points((5,), (6,))
    with pytest.raises(BadParameter, match="parameter :p of IN has 3 values, more than 2"):
        catalog().one(text, {"p": [5, 6, 7]})


def test_a_list_of_a_query_with_joins_is_at_most_as_long_as_it_is_declared() -> None:
    text = "SELECT Name FROM Items JOIN Tags ON ItemID = docId WHERE ItemID IN :p MAX 2"
    catalog().one(text, {"p": [5, 6]})
    with pytest.raises(BadParameter, match="parameter :p of IN has 3 values, more than 2"):
        catalog().one(text, {"p": [5, 6, 7]})


def test_a_limit_is_at_most_what_it_is_declared() -> None:
    assert catalog().one("SELECT * FROM k LIMIT ? MAX 5", [5]).limit == 5
    with pytest.raises(BadParameter, match="parameter number 1 of LIMIT is 6, more than 5"):
        catalog().one("SELECT * FROM k LIMIT ? MAX 5", [6])


def test_a_text_in_in_is_one_value() -> None:
    assert where("a = 1 AND b IN (:x)", {"x": "abc"}) == points((1, "abc"))


@pytest.mark.parametrize(
    ("text", "params", "message"),
    [
        ("a = :x", None, "missing parameter :x"),
        ("a = :x AND b = :y", {}, "missing parameters :x, :y"),
        ("a = :x AND b = :y", {"x": 1}, "missing parameter :y"),
        ("a = :x", {"X": 1}, "missing parameter :x"),
        ("a = :x", {"x": 1, "z": 2, "y": 3}, "unused parameters :y, :z"),
        ("a = :x", [1], "the text has the parameters :x, found 1 value without names"),
        ("a = ?", {"x": 1}, r"the text has 1 parameter written \?, found a mapping"),
        ("a = ? AND b = ?", [1], r"the text has 2 parameters written \?, found 1 value"),
        ("a = ?", None, r"the text has 1 parameter written \?, found 0 values"),
        ("a = ?", [1, 2], r"the text has 1 parameter written \?, found 2 values"),
        ("a = ?", "x", r"the text has 1 parameter written \?, found str 'x'"),
        ("a = ?", 5, r"the text has 1 parameter written \?, found int 5"),
        ("a = ? AND b = :x", {"x": 1}, r"the text has both \? and the parameters :x"),
        ("a = ? AND b = :x", [1], r"the text has both \? and the parameters :x"),
        ("a = 1", {"x": 1}, "the text has no parameters, found :x"),
        ("a = 1", [1], "the text has no parameters, found 1 value"),
        ("a = ':x'", {"x": 1}, "the text has no parameters, found :x"),
    ],
)
def test_parameters_are_exactly_those_of_the_text(text: str, params: Any, message: str) -> None:
    with pytest.raises(BadParameter, match=message):
        where(text, params)


@pytest.mark.parametrize("params", [None, {}, [], ()])
def test_a_text_without_parameters_takes_none(params: Any) -> None:
    assert where("a = 1", params) == points((1,))


def test_statements_of_one_text_share_its_parameters() -> None:
    text = "DELETE FROM k WHERE a = {}; DELETE FROM k WHERE a = {} AND b = {}"
    first, second = catalog().run(text.format(":x", ":x", ":y"), {"x": 1, "y": "z"})
    assert (first.where, second.where) == (points((1,)), points((1, "z")))
    first, second = catalog().run(text.format("?", "?", "?"), [1, 2, "z"])
    assert (first.where, second.where) == (points((1,)), points((2, "z")))


def test_mixed_parameters_are_found_across_statements() -> None:
    with pytest.raises(BadParameter, match="both"):
        catalog().run("DELETE FROM k WHERE a = ?; DELETE FROM k WHERE a = :x", {"x": 1})


@pytest.mark.parametrize(("text", "params"), [("a = :x", {"y": 1}), ("a = ?", []), ("a = ? AND b = :x", {"x": 1})])
def test_binding_alone_misses_what_its_own_statement_wants(text: str, params: Any) -> None:
    (parsed,) = parse(f"SELECT * FROM k WHERE {text}")
    with pytest.raises(BadParameter):
        bind(parsed, catalog().find, params)


def test_a_statement_is_compiled_once_for_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_statement = binding._compile

    def counting(parsed: Any, table: Any) -> Any:
        compiled.append(table.name)
        return compile_statement(parsed, table)

    monkeypatch.setattr(binding, "_compile", counting)
    tables = catalog()
    for number in range(3):
        statement = tables.one("SELECT v FROM k WHERE a = :once", {"once": number})
        assert statement.where == points((number,))
    tables.tables["k"] = tables.run("CREATE TABLE k (v INT, a INT PRIMARY KEY)")[0].table
    assert tables.one("SELECT v FROM k WHERE a = :once", {"once": 9}).columns == (("v", 0),)
    assert compiled == ["k", "k"]
