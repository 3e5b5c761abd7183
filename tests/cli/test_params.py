"""Values of `--param`, written as SQL writes constants."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run
from viewkeeper.cli.params import read_params
from viewkeeper.errors import BadParameter

READ: list[tuple[str, Any]] = [
    ("5", 5),
    ("-5", -5),
    ("9.99", 9.99),
    ("1e3", 1000.0),
    ("12345678901234567890.123", Decimal("12345678901234567890.123")),
    ("TRUE", True),
    ("false", False),
    ("null", None),
    ("red", "red"),
    ("", ""),
    ("a=b", "a=b"),
    ("'5'", "5"),
    ("'it''s'", "it's"),
    ("it's", "it's"),
    ("1,5", "1,5"),
    ("DATE '2024-02-29'", date(2024, 2, 29)),
    ("timestamp '2024-01-01T00:00:00Z'", datetime(2024, 1, 1, tzinfo=UTC)),
    ("X'00ff'", b"\x00\xff"),
    ("2024-02-29", "2024-02-29"),
]


@pytest.mark.parametrize(("text", "value"), READ)
def test_texts_that_name_a_value(text: str, value: Any) -> None:
    found = read_params([f"p={text}"])["p"]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize("text", ["p", "=5", "1p=5", "a b=5", "p=DATE '2024-02-30'", "p=X'0'", "p=TIMESTAMP 'noon'"])
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(BadParameter, match="--param"):
        read_params([text])


@pytest.mark.parametrize("text", [":id=5", "?=5", "$1=5"])
def test_a_name_without_its_colon_is_asked_for(text: str) -> None:
    with pytest.raises(BadParameter) as caught:
        read_params([text])
    assert "The value of :id is given as id=5" in caught.value.hint


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(BadParameter, match="--param a is given twice"):
        read_params(["a=1", "a=2"])


@pytest.mark.parametrize(
    ("column", "value", "shown"),
    [
        ("Name", "red", "red"),
        ("Price", "9.99", "9.99"),
        ("Weight", "9.99", 9.99),
        ("Label", "X'00ff'", "00ff"),
        ("Day", "DATE '2024-02-29'", "2024-02-29"),
        ("At", "TIMESTAMP '2024-02-29 10:00:00'", "2024-02-29T10:00:00Z"),
        ("Sold", "true", True),
        ("Name", "NULL", None),
    ],
)
def test_a_value_reaches_a_column_of_its_type(column: str, value: str, shown: Any, shop: Path) -> None:
    sql = f"INSERT INTO Items (ItemID, {column}) VALUES (1, :v); SELECT {column} FROM Items"
    assert run("sql", shop, "-c", sql, "-p", f"v={value}", "-f", "json").rows == [{column: shown}]


@pytest.mark.parametrize(
    ("column", "hint"),
    [
        ("t", "Write --param \"name=TIMESTAMP '2026-01-31 10:00:00'\"."),
        ("d", "Write --param \"name=DATE '2026-01-31'\"."),
        ("b", "Write --param \"name=X'00ff'\"."),
        ("i", 'column "i" is INT, found str'),
        ("k", "Write --param \"name=DATE '2026-01-31'\"."),
    ],
)
def test_a_text_of_another_type_is_told_how_it_is_written(column: str, hint: str, tmp_path: Path) -> None:
    table = "CREATE TABLE kinds (i INT, k DATE, t TIMESTAMP, d DATE, b BINARY, PRIMARY KEY (i, k))"
    assert run("sql", tmp_path / "db", "-c", table).code == 0
    sql = f"SELECT i FROM kinds WHERE i = 1 AND {column} = :x"
    found = run("query", tmp_path / "db", sql, "-p", "x=2026-01-31")
    assert found.code == 1
    assert hint in found.err
