"""Rows that do not fit: named by place and column, or left out and written to a file."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.load.reading import ORDERS, TAGS, places_of, rows_of, skipping, written
from viewkeeper.errors import BadRow, BadText, DataError, DiskError, MissingColumn, UnknownColumn
from viewkeeper.load import BadRowWriter, open_source


def test_the_message_names_file_line_column_value_and_type(tmp_path: Path) -> None:
    path = written(tmp_path / "orders.csv", 'OrderID,Price\n1,5\n2,"12,50"\n')
    with pytest.raises(BadRow) as caught:
        rows_of(path, ORDERS)
    assert caught.value.message == f"{path} line 3, column \"Price\": '12,50' is not DECIMAL(10,2)"
    assert "--skip-bad FILE" in caught.value.hint


def test_a_value_out_of_range_is_said_to_be_that(tmp_path: Path) -> None:
    path = written(tmp_path / "orders.csv", "OrderID,Price,Pieces\n1,,3000000000\n")
    with pytest.raises(BadRow, match=r"'3000000000'|3000000000 does not fit INT"):
        rows_of(path, ORDERS)


BAD_VALUES: list[tuple[str, Any]] = [
    ("OrderID", "1"),
    ("OrderID", True),
    ("OrderID", 2**63),
    ("Note", 5),
    ("Price", "1.5"),
    ("Price", float("nan")),
    ("Paid", 1),
    ("Pieces", 2**31),
    ("Pieces", 1.0),
    ("Weight", "x"),
    ("Label", "text"),
    ("Day", datetime(2024, 1, 1)),  # noqa: DTZ001
    ("At", "2024-01-01"),
    ("At", 5),
]


@pytest.mark.parametrize(("column", "value"), BAD_VALUES)
def test_a_python_value_of_another_type_is_a_bad_row(column: str, value: Any) -> None:
    rows = [{"OrderID": 1}, {"OrderID": 2, column: value}, {"OrderID": 3}]
    with pytest.raises(BadRow, match=rf'^row 2, column "{column}": .* (is not|does not fit) '):
        rows_of(rows, ORDERS)
    kept, bad = skipping(rows, ORDERS)
    assert [row["OrderID"] for row in kept] == [1, 3]
    assert [(line.file, line.line_no, line.place, line.column) for line in bad] == [("", 2, "row 2", column)]


JSON_LINES: list[tuple[str, str, str | None]] = [
    ('{"OrderID": 2, "Price": 1.005}', "1.005", "Price"),
    ('{"OrderID": "2"}', "'2' is not BIGINT", "OrderID"),
    ('{"OrderID": 2.0}', "is not BIGINT", "OrderID"),
    ('{"OrderID": 2, "Paid": "true"}', "'true' is not BOOLEAN", "Paid"),
    ('{"OrderID": 2, "Day": ""}', "'' is not DATE", "Day"),
    ('{"OrderID": 2, "Day": 5}', "5 is not DATE", "Day"),
    ('{"OrderID": 2, "Weight": 1e400}', "does not fit DOUBLE", "Weight"),
    ('{"OrderID": 2, "Note": ["a"]}', "is not STRING", "Note"),
    ('{"OrderID": 2,', "the line is not valid JSON", None),
    ("[2]", "the line is not a JSON object, found [2]", None),
    ("2", "the line is not a JSON object, found 2", None),
    ('{"OrderID": 2, "Weight": NaN}', "the line is not valid JSON", None),
    ('{"OrderID": 2, "Price": 1e99999999999999999999}', "the line is not valid JSON", None),
    ('{"OrderID": ' + "[" * 5000 + "]" * 5000 + "}", "the line is not valid JSON", None),
    ('{"OrderID": 2, "orderid": 3}', 'the row names column "OrderID" twice', None),
    ('{"OrderID": null}', "NULL in a column of the primary key", "OrderID"),
]


@pytest.mark.parametrize(("line", "reason", "column"), JSON_LINES, ids=[line[:32] for line, _, _ in JSON_LINES])
def test_a_bad_json_line_is_named_and_can_be_left_out(
    line: str, reason: str, column: str | None, tmp_path: Path
) -> None:
    path = written(tmp_path / "orders.jsonl", '{"OrderID": 1}\n\n' + line + '\n{"OrderID": 4}\n')
    where = f"{path} line 3" + (f', column "{column}"' if column else "")
    with pytest.raises(BadRow) as caught:
        rows_of(path, ORDERS)
    assert caught.value.message.startswith(where + ": ")
    assert reason in caught.value.message
    rows, bad = skipping(path, ORDERS)
    assert [row["OrderID"] for row in rows] == [1, 4]
    assert [(found.line_no, found.column, found.raw_text) for found in bad] == [(3, column, line)]


def test_invalid_utf8_in_json_is_bad_text_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "orders.jsonl", b'{"OrderID": 1}\n{"OrderID": 2, "Note": "\xff"}\n')
    with pytest.raises(BadText, match=r"orders.jsonl line 2: the text is not valid UTF-8"):
        rows_of(path, ORDERS)
    rows, bad = skipping(path, ORDERS)
    assert ([row["OrderID"] for row in rows], [line.line_no for line in bad]) == ([1], [2])


def test_half_a_surrogate_pair_is_bad_text() -> None:
    with pytest.raises(BadText, match=r'row 1, column "Note"'):
        rows_of([{"OrderID": 1, "Note": "\ud800"}], ORDERS)


@pytest.mark.parametrize("row", [5, None, "text", [1], (1, "a")])
def test_a_row_that_is_no_dict_is_bad(row: Any) -> None:
    with pytest.raises(BadRow, match=r"^row 2: a row is a dict, found "):
        rows_of([{"OrderID": 1}, row], ORDERS)
    rows, bad = skipping([row, {"OrderID": 1}], ORDERS)
    assert ([found["OrderID"] for found in rows], [line.line_no for line in bad]) == ([1], [1])


def test_an_unknown_column_of_a_row_is_named() -> None:
    with pytest.raises(UnknownColumn, match=r'^row 2: the row has column "Cost", not in table "Orders"') as caught:
        rows_of([{"OrderID": 1}, {"OrderID": 2, "Cost": 3}], ORDERS)
    assert "OrderID, Note, Price" in caught.value.detail
    assert rows_of([{"OrderID": 2, "Cost": 3}], ORDERS, ignore_unknown=True) == [{"OrderID": 2}]


def test_a_column_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(UnknownColumn, match=r"^row 1: 7 is no column name"):
        rows_of([{"OrderID": 1, 7: 3}], ORDERS)


def test_a_row_without_its_key_is_refused() -> None:
    with pytest.raises(MissingColumn, match=r'^row 2: the row lacks "tag" of the primary key'):
        rows_of([{"docId": 1, "tag": "a"}, {"docId": 2}], TAGS)


@pytest.mark.parametrize(("column", "what"), [("tag", "of the primary key"), ("author", "that is NOT NULL")])
def test_null_where_none_may_be_is_a_bad_row(column: str, what: str) -> None:
    good = {"docId": 1, "tag": "a", "weight": None, "author": "x"}
    rows = [good, good | {"docId": 2, column: None}, good | {"docId": 3}]
    for source in (rows, pa.Table.from_pylist(rows)):
        with pytest.raises(BadRow, match=rf'^row 2, column "{column}": NULL in a column {what}'):
            rows_of(source, TAGS)
        kept, bad = skipping(source, TAGS)
        assert ([row["docId"] for row in kept], [line.line_no for line in bad]) == ([1, 3], [2])


def test_a_bad_arrow_value_is_named_by_its_row(tmp_path: Path) -> None:
    table = pa.table({"OrderID": list(range(1, 3001)), "Pieces": pa.array([1] * 1202 + [2**40] + [1] * 1797)})
    parquet.write_table(table, tmp_path / "orders.parquet", row_group_size=500)
    with pytest.raises(BadRow, match=r'orders.parquet row 1,203, column "Pieces": 1099511627776 does not fit INT'):
        rows_of(tmp_path / "orders.parquet", ORDERS)
    rows, bad = skipping(tmp_path / "orders.parquet", ORDERS, batch_rows=700)
    assert len(rows) == 2999
    assert [(line.line_no, line.raw_text) for line in bad] == [(1203, "{'OrderID': 1203, 'Pieces': 1099511627776}")]


def test_invalid_utf8_in_an_arrow_string_is_bad_text() -> None:
    raw = pa.array([b"ok", b"\xff\xfe", None], pa.binary())
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        text = pa.Array.from_buffers(pa.string(), 3, raw.buffers()).cast(kind)
        table = pa.table({"OrderID": [1, 2, 3], "Note": text})
        with pytest.raises(BadText, match=r'^row 2, column "Note": the text is not valid UTF-8'):
            rows_of(table, ORDERS)
        rows, bad = skipping(table, ORDERS)
        assert ([row["Note"] for row in rows], [line.line_no for line in bad]) == (["ok", None], [2])


def test_a_bad_row_of_one_batch_does_not_touch_the_others(tmp_path: Path) -> None:
    path = written(tmp_path / "o.csv", "OrderID\n1\n2\nx\n4\n")
    batches = iter(open_source(path, ORDERS, batch_rows=2))
    with pytest.raises(BadRow, match="line 4"):
        next(batches)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_places_come_from_the_source_for_errors_of_the_store(suffix: str, tmp_path: Path) -> None:
    data = "OrderID\n1\n2\n3\n" if suffix == "csv" else '\n{"OrderID": 1}\n{"OrderID": 2}\n{"OrderID": 3}\n'
    path = written(tmp_path / f"o.{suffix}", data)
    for rows in (1, 2, 3):
        assert places_of(path, ORDERS, batch_rows=rows) == [f"{path} line {line}" for line in (2, 3, 4)]


def test_places_of_rows_are_counted_through_all_batches() -> None:
    rows = [{"OrderID": number} for number in range(1500)]
    assert places_of(rows, ORDERS, batch_rows=7)[-1] == "row 1,500"
    assert places_of(pa.Table.from_pylist(rows).to_reader(max_chunksize=11), ORDERS, batch_rows=7)[-1] == "row 1,500"


def test_the_writer_writes_a_json_line_for_each_bad_row(tmp_path: Path) -> None:
    path = written(tmp_path / "orders.csv", b"OrderID,Note\n1,a\nx,\xff\n3\n")
    with BadRowWriter(tmp_path / "bad.jsonl") as writer:
        rows_of(path, ORDERS, on_bad=writer)
    assert writer.count == 2
    lines = [json.loads(line) for line in (tmp_path / "bad.jsonl").read_text().splitlines()]
    assert lines == [
        {"file": str(path), "line": 3, "column": "OrderID", "reason": "'x' is not BIGINT", "raw": "x,\\xff"},
        {"file": str(path), "line": 4, "column": None, "reason": "1 value, expected 2", "raw": "3"},
    ]


def test_the_writer_makes_no_file_without_a_bad_row(tmp_path: Path) -> None:
    with BadRowWriter(tmp_path / "bad.jsonl") as writer:
        rows_of([{"OrderID": 1}], ORDERS, on_bad=writer)
    assert (writer.count, list(tmp_path.iterdir())) == (0, [])


def test_the_writer_replaces_an_older_file(tmp_path: Path) -> None:
    written(tmp_path / "bad.jsonl", "old\n" * 9)
    with BadRowWriter(tmp_path / "bad.jsonl") as writer:
        rows_of([5], ORDERS, on_bad=writer)
    assert [json.loads(line)["line"] for line in (tmp_path / "bad.jsonl").read_text().splitlines()] == [1]


def test_a_file_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(DiskError, match="cannot write bad rows to"):
        rows_of([5], ORDERS, on_bad=BadRowWriter(tmp_path / "no" / "bad.jsonl"))


def test_an_error_of_the_callback_comes_through() -> None:
    def stop(_: object) -> None:
        raise KeyError("stop")

    with pytest.raises(KeyError):
        rows_of([5], ORDERS, on_bad=stop)


def test_every_refusal_is_one_of_our_errors() -> None:
    for rows in ([{"OrderID": object()}], [{}], [{"OrderID": 1, "Day": "x" * 500}]):
        with pytest.raises((DataError, UnknownColumn)) as caught:
            rows_of(rows, ORDERS)
        assert len(caught.value.message) < 200
