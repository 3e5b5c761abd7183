"""Rows as a table, as JSON and as CSV."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.running import make, ok, run
from viewkeeper import database
from viewkeeper.cli.output import as_text, csv_field
from viewkeeper.load.csv_records import fields

ROWS: list[dict[str, Any]] = [
    {
        "ItemID": 1,
        "Name": 'a "b", c\n[bold]d[/bold]',
        "Price": Decimal("12345678.90"),
        "Weight": 0.1,
        "Label": b"\x00\xff",
        "Day": date(2024, 2, 29),
        "At": datetime(2024, 1, 1, 10, 0, 0, 5, tzinfo=UTC),
        "Sold": True,
    },
    {"ItemID": 2, "Name": "", "Weight": float("inf"), "Sold": False},
    {"ItemID": 3, "Name": None, "Weight": float("nan"), "Price": Decimal("0.00")},
]

NOTHING = dict.fromkeys(["Name", "Price", "Weight", "Label", "Day", "At", "Sold"])


@pytest.fixture
def filled(shop: Path) -> Path:
    with database.open(shop) as db:
        db.load("Items", ROWS)
    return shop


def test_json_is_an_object_a_line_with_exact_values(filled: Path) -> None:
    done = run("query", filled, "SELECT * FROM Items", "--format", "json")
    assert done.rows == [
        {
            "ItemID": 1,
            "Name": 'a "b", c\n[bold]d[/bold]',
            "Price": "12345678.90",
            "Weight": 0.1,
            "Label": "00ff",
            "Day": "2024-02-29",
            "At": "2024-01-01T10:00:00.000005Z",
            "Sold": True,
        },
        {
            "ItemID": 2,
            "Name": "",
            "Price": None,
            "Weight": "inf",
            "Label": None,
            "Day": None,
            "At": None,
            "Sold": False,
        },
        {
            "ItemID": 3,
            "Name": None,
            "Price": "0.00",
            "Weight": "nan",
            "Label": None,
            "Day": None,
            "At": None,
            "Sold": None,
        },
    ]


@pytest.mark.parametrize(("format", "suffix"), [("csv", "csv"), ("json", "jsonl")])
def test_what_is_printed_can_be_loaded_again(format: str, suffix: str, filled: Path, tmp_path: Path) -> None:
    printed = ok("query", filled, "SELECT * FROM Items", "--format", format)
    (tmp_path / f"rows.{suffix}").write_text(printed, newline="")
    copy = make(tmp_path / "copy")
    with database.open(copy) as db:
        db.load("Items", tmp_path / f"rows.{suffix}")
    assert ok("query", copy, "SELECT * FROM Items", "--format", format) == printed


def test_a_table_has_names_rows_and_a_count(filled: Path) -> None:
    out = ok("query", filled, "SELECT ItemID, Name, Price, Label FROM Items")
    lines = [line.rstrip() for line in out.splitlines()]
    assert lines[0].split() == ["ItemID", "Name", "Price", "Label"]
    assert "12345678.90" in out
    assert "NULL" in out
    assert "[bold]d[/bold]" in out
    assert lines[-1] == "(3 rows)"


def test_a_table_in_a_pipe_is_not_cut(shop: Path) -> None:
    with database.open(shop) as db:
        db.put("Items", {"ItemID": 1, "Name": "x" * 500})
    assert "x" * 500 in ok("query", shop, "SELECT * FROM Items")


def test_many_rows_make_several_tables_with_one_count(shop: Path) -> None:
    with database.open(shop) as db:
        db.load("Items", [{"ItemID": number} for number in range(2500)])
    lines = ok("query", shop, "SELECT ItemID FROM Items").splitlines()
    assert [line.strip() for line in lines].count("ItemID") == 3
    assert lines[-1] == "(2,500 rows)"


def test_no_rows_still_have_names(shop: Path) -> None:
    out = ok("query", shop, "SELECT ItemID, Name FROM Items").splitlines()
    assert (out[0].split(), out[-1]) == (["ItemID", "Name"], "(0 rows)")
    assert ok("query", shop, "SELECT ItemID, Name FROM Items", "-f", "csv") == "ItemID,Name\n"
    assert ok("query", shop, "SELECT ItemID, Name FROM Items", "-f", "json") == ""


@given(st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=6), min_size=2, max_size=4))
def test_csv_fields_are_read_back_as_they_were(values: list[str | None]) -> None:
    line = ",".join(map(csv_field, values)).encode() + b"\n"
    assert [field.decode() for field in fields(line)] == [value or "" for value in values]
    assert csv_field(None) == ""
    assert csv_field("") == '""'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("1E+3"), "1000"),
        (Decimal("0.000000001"), "0.000000001"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
        (True, "true"),
        (1e300, "1e+300"),
    ],
)
def test_values_are_written_in_full(value: Any, text: str) -> None:
    assert as_text(value) == text


def test_json_lines_hold_other_scripts_as_they_are(shop: Path) -> None:
    with database.open(shop) as db:
        db.put("Items", {"ItemID": 1, "Name": "żółw"})
    out = ok("query", shop, "SELECT Name FROM Items", "-f", "json")
    assert out == '{"Name": "żółw"}\n'
    assert json.loads(out) == {"Name": "żółw"}
