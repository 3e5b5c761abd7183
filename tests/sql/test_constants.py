"""Constants for each type: exact, and refused where they would have to be guessed at."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.sql.tables import catalog
from viewkeeper.errors import DataError, OutOfRange, Unsupported, WrongType


def _cell(column: str, constant: str) -> Any:
    statement = catalog().one(f"UPDATE Items SET {column} = {constant} WHERE ItemID = 1")
    (cell,) = statement.cells.values()
    return cell


def _key(constant: str) -> Any:
    (found,) = catalog().one(f"DELETE FROM Items WHERE ItemID = {constant}").where
    return found.prefix[0]


@pytest.mark.parametrize(
    ("column", "constant", "cell"),
    [
        ("Name", "'it''s'", "it's"),
        ("Name", "''", ""),
        ("Name", "''''", "'"),
        ("Name", r"'a\nb\'", r"a\nb\ "[:-1]),
        ("Name", "'5'", "5"),
        ("Name", "'日本 ; -- :x ?'", "日本 ; -- :x ?"),
        ("Name", "NULL", None),
        ("Price", "9.99", 999),
        ("Price", "-9.99", -999),
        ("Price", "9", 900),
        ("Price", "9.", 900),
        ("Price", ".5", 50),
        ("Price", "1e3", 100_000),
        ("Price", "1.50E-1", 15),
        ("Price", "'-9.99'", -999),
        ("Huge", "1234567890123456789012345678.0123456789", 12345678901234567890123456780123456789),
        ("Huge", "-1234567890123456789012345678.0123456789", -12345678901234567890123456780123456789),
        ("Weight", "0.1", 0.1),
        ("Weight", "-5", -5.0),
        ("Weight", "1e308", 1e308),
        ("Weight", "'-Infinity'", -math.inf),
        ("Image", "X'0aFF'", b"\x0a\xff"),
        ("Image", "x''", b""),
        ("Made", "DATE '1970-01-11'", 10),
        ("Made", "'1969-12-31'", -1),
        ("Seen", "TIMESTAMP '1970-01-01 00:00:01.5'", 1_500_000),
        ("Seen", "timestamp'1970-01-01T01:00:00+01:00'", 0),
        ("Seen", "'1969-12-31 23:59:59'", -1_000_000),
        ("Live", "TRUE", True),
        ("Live", "false", False),
        ("Stock", "2147483647", 2147483647),
        ("Stock", "-2147483648", -2147483648),
        ("Stock", "(5)", 5),
        ("Stock", "-(5)", -5),
        ("Stock", "+5", 5),
        ("Stock", "- -5", 5),
        ("Stock", "007", 7),
    ],
)
def test_a_constant_is_the_cell_that_it_names(column: str, constant: str, cell: Any) -> None:
    found = _cell(column, constant)
    assert found == cell
    assert type(found) is type(cell)


def test_not_a_number_is_written_as_a_text() -> None:
    assert math.isnan(_cell("Weight", "'NaN'"))


@pytest.mark.parametrize("number", [0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1])
def test_a_key_is_exact_over_the_whole_range(number: int) -> None:
    assert _key(str(number)) == number


@pytest.mark.parametrize(
    ("column", "constant", "error"),
    [
        ("Stock", "2147483648", OutOfRange),
        ("Stock", "-2147483649", OutOfRange),
        ("Stock", "1.0", WrongType),
        ("Stock", "1e3", WrongType),
        ("Stock", "'5'", WrongType),
        ("Stock", "TRUE", WrongType),
        ("Stock", "1" * 5000, OutOfRange),
        ("Price", "9.999", OutOfRange),
        ("Price", "100000000", OutOfRange),
        ("Price", "1e999999999", OutOfRange),
        ("Price", "'x'", WrongType),
        ("Price", "'NaN'", OutOfRange),
        ("Weight", "1e309", OutOfRange),
        ("Weight", "-1e309", OutOfRange),
        ("Weight", "'x'", WrongType),
        ("Weight", "TRUE", WrongType),
        ("Name", "5", WrongType),
        ("Name", "TRUE", WrongType),
        ("Name", "X'00'", WrongType),
        ("Name", "DATE '2020-01-01'", WrongType),
        ("Image", "'00'", WrongType),
        ("Image", "5", WrongType),
        ("Live", "1", WrongType),
        ("Live", "'true'", WrongType),
        ("Made", "'2020-02-30'", WrongType),
        ("Made", "DATE 'x'", WrongType),
        ("Made", "TIMESTAMP '2020-01-01'", WrongType),
        ("Made", "5", WrongType),
        ("Seen", "DATE '2020-01-01'", WrongType),
        ("Seen", "'noon'", WrongType),
    ],
)
def test_a_constant_that_does_not_fit_its_column_is_refused(column: str, constant: str, error: type[DataError]) -> None:
    with pytest.raises(error, match=f'column "{column}"'):
        _cell(column, constant)


@pytest.mark.parametrize(
    "constant",
    ["1 + 1", "upper('x')", "CAST('5' AS INT)", "(1, 2)", "-Stock", "'a' || 'b'", "CURRENT_DATE", "N'x'", "-:p"],
)
def test_what_has_to_be_computed_is_refused(constant: str) -> None:
    with pytest.raises(Unsupported, match="in SET of column"):
        catalog().one(f"UPDATE Items SET Stock = {constant} WHERE ItemID = 1", {"p": 1} if ":p" in constant else None)
