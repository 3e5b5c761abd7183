"""What a CSV file says, and where: NULL and empty, quotes, lines."""

from __future__ import annotations

import csv as standard
import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.load.reading import ORDERS, TAGS, places_of, rows_of, skipping, written
from viewkeeper.errors import BadDefinition, BadRow, BadText, MissingColumn, UnknownColumn
from viewkeeper.load import csv_records
from viewkeeper.load.csv_records import Segment, Unclosed, fields, segments


def _file(folder: Path, data: str | bytes) -> Path:
    return written(folder / "orders.csv", data)


@pytest.mark.parametrize(
    ("column", "null", "empty"), [("Note", None, ""), ("Label", None, b""), ("Price", None, None), ("At", None, None)]
)
def test_empty_is_null_and_quoted_empty_is_empty_text(column: str, null: Any, empty: Any, tmp_path: Path) -> None:
    found = rows_of(_file(tmp_path, f'OrderID,{column}\n1,\n2,""\n'), ORDERS)
    assert [row[column] for row in found] == [null, empty]


def test_texts_keep_blanks_and_other_types_ignore_them(tmp_path: Path) -> None:
    found = rows_of(_file(tmp_path, "OrderID, Note ,Price\n 1 , a ,\t2.5\n"), ORDERS)
    assert found == [{"OrderID": 1, "Note": " a ", "Price": 250}]


def test_the_word_null_is_a_text(tmp_path: Path) -> None:
    assert rows_of(_file(tmp_path, "OrderID,Note\n1,NULL\n"), ORDERS)[0]["Note"] == "NULL"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_the_file_has_them(end: str, tmp_path: Path) -> None:
    lines = ["", "OrderID,Note", "1,a", "", '2,"b', 'c"', "", "", "3,d", "4,"]
    path = _file(tmp_path, "\ufeff" + end.join(lines))
    assert places_of(path, ORDERS) == [f"{path} line {line}" for line in (3, 5, 9, 10)]


def test_lines_are_right_however_the_file_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _file(tmp_path, 'OrderID,Note\r\n1,"x\r\ny"\r\n\r\n2,b\r\n3,"""\r\n"\r\n4,d')
    whole = places_of(path, ORDERS), rows_of(path, ORDERS)
    for size in range(1, 40):
        monkeypatch.setattr(segments, "__defaults__", (size, csv_records.RECORD_BYTES))
        assert (places_of(path, ORDERS), rows_of(path, ORDERS)) == whole


PIECES = st.sampled_from([",", "\n", "\r\n", "\r", '"', '""', "a", "b c", "", "é"])


@given(st.lists(PIECES, max_size=30).map("".join), st.integers(1, 9))
def test_a_file_cut_into_segments_is_the_same_file(text: str, size: int) -> None:
    """Joined they are the bytes, and each record of a segment is one of the whole."""
    data = text.encode()
    whole = list(segments(io.BytesIO(data), "f", len(data) + 1))
    pieces = list(segments(io.BytesIO(data), "f", size))
    assert _records(pieces) == _records(whole)
    assert b"".join(piece.data for piece in pieces).rstrip(b"\r\n") == data.rstrip(b"\r\n")


def _records(pieces: list[Segment | Unclosed]) -> list[tuple[int, list[bytes] | bytes]]:
    found: list[tuple[int, list[bytes] | bytes]] = []
    for piece in pieces:
        if isinstance(piece, Unclosed):
            found.append((piece.line, piece.data))
        else:
            found += [(record.line, fields(piece.data[record.start : record.end])) for record in piece.records]
    return found


@given(st.lists(st.lists(st.text('ab",\n\r é', max_size=4), min_size=2, max_size=2), max_size=6))
def test_fields_are_what_another_reader_finds(rows: list[list[str]]) -> None:
    text = io.StringIO()
    standard.writer(text, quoting=standard.QUOTE_ALL).writerows(rows)
    pieces = list(segments(io.BytesIO(text.getvalue().encode()), "f", 5))
    assert [[value.decode() for value in values] for _, values in _records(pieces)] == rows


def test_a_quote_inside_a_plain_value_is_an_ordinary_character(tmp_path: Path) -> None:
    found = rows_of(_file(tmp_path, 'OrderID,Note\n1,5" pipe\n2,"a"b"c\n'), ORDERS)
    assert [row["Note"] for row in found] == ['5" pipe', 'ab"c']


def test_a_quote_that_is_never_closed_is_a_bad_row_with_the_line_it_began_in(tmp_path: Path) -> None:
    path = _file(tmp_path, 'OrderID,Note\n1,a\n2,"b\n3,c\n')
    with pytest.raises(BadRow, match=r"orders.csv line 3: a quote is opened and never closed"):
        rows_of(path, ORDERS)
    rows, bad = skipping(path, ORDERS)
    assert [row["OrderID"] for row in rows] == [1]
    assert [(line.line_no, line.raw_text) for line in bad] == [(3, '2,"b\n3,c\n')]


def test_a_record_without_end_is_refused_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(segments, "__defaults__", (16, 1 << 20))
    path = _file(tmp_path, 'OrderID,Note\n1,"' + "x\n" * (1 << 20))
    with pytest.raises(BadRow, match=r"line 2: the record is longer than 1 MB"):
        rows_of(path, ORDERS)


def test_rows_with_too_few_or_too_many_values_are_bad(tmp_path: Path) -> None:
    path = _file(tmp_path, 'OrderID,Note,Price\n1,a,1\n2,b\n3,"c\nc",3\n\n4,d,4,5\n5,e,5\n')
    with pytest.raises(BadRow, match=r"orders.csv line 3: 2 values, expected 3"):
        rows_of(path, ORDERS)
    rows, bad = skipping(path, ORDERS)
    assert [row["OrderID"] for row in rows] == [1, 3, 5]
    assert [(line.line_no, line.column, line.reason, line.raw_text) for line in bad] == [
        (3, None, "2 values, expected 3", "2,b"),
        (7, None, "4 values, expected 3", "4,d,4,5"),
    ]


def test_places_are_right_behind_rows_that_were_left_out(tmp_path: Path) -> None:
    path = _file(tmp_path, "OrderID,Price\n1,x\n2\n3,3\nno,4\n5,5\n")
    assert [place[-1] for place in places_of(path, ORDERS, on_bad=lambda _: None)] == ["4", "6"]


def test_bad_rows_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = _file(tmp_path, "OrderID,Price\n1,x\n2\n3,y\n4,5,6\n,7\n")
    assert [line.line_no for line in skipping(path, ORDERS)[1]] == [2, 3, 4, 5, 6]
    with pytest.raises(BadRow, match=r'line 2, column "Price": \'x\' is not DECIMAL\(10,2\)'):
        rows_of(path, ORDERS)


def test_the_leftmost_bad_column_is_named(tmp_path: Path) -> None:
    _, bad = skipping(_file(tmp_path, "OrderID,Price,Pieces\n1,x,y\n"), ORDERS)
    assert [line.column for line in bad] == ["Price"]


def test_invalid_utf8_is_bad_text_with_its_line(tmp_path: Path) -> None:
    path = _file(tmp_path, b"OrderID,Note\n1,ok\n2,caf\xe9\n")
    with pytest.raises(BadText, match=r'orders.csv line 3, column "Note": the text is not valid UTF-8') as caught:
        rows_of(path, ORDERS)
    assert "Byte 4 of the value is 0xe9" in caught.value.detail
    rows, bad = skipping(path, ORDERS)
    assert [row["OrderID"] for row in rows] == [1]
    assert bad[0].raw_text == "2,caf\\xe9"


def test_invalid_utf8_in_a_number_is_bad_text_too(tmp_path: Path) -> None:
    with pytest.raises(BadText, match=r'line 2, column "Price"'):
        rows_of(_file(tmp_path, b"OrderID,Price\n1,\xff\n"), ORDERS)


def test_names_of_columns_in_another_encoding_are_bad_text(tmp_path: Path) -> None:
    with pytest.raises(BadText, match=r"line 1: the names of the columns are not valid UTF-8"):
        rows_of(_file(tmp_path, "OrderID,Note\n1,a\n".encode("utf-16")), ORDERS)


@pytest.mark.parametrize("data", ["", "\n\r\n\n"])
def test_a_file_without_names_is_refused(data: str, tmp_path: Path) -> None:
    with pytest.raises(BadRow, match="has no first line that names the columns"):
        rows_of(_file(tmp_path, data), ORDERS)


def test_unknown_columns_are_named_with_those_of_the_table(tmp_path: Path) -> None:
    with pytest.raises(UnknownColumn, match=r'has columns "Cost", "Total", not in table "Orders"') as caught:
        rows_of(_file(tmp_path, "OrderID,Cost,Note,Total\n1,2,a,3\n"), ORDERS)
    assert "OrderID, Note, Price" in caught.value.detail


def test_unknown_columns_can_be_left_out(tmp_path: Path) -> None:
    path = _file(tmp_path, "Cost,OrderID,Total,Note\n2,1,x,a\n")
    assert rows_of(path, ORDERS, ignore_unknown=True) == [{"OrderID": 1, "Note": "a"}]


def test_another_separator_is_guessed_in_the_hint(tmp_path: Path) -> None:
    with pytest.raises(UnknownColumn) as caught:
        rows_of(_file(tmp_path, "OrderID;Note\n1;a\n"), ORDERS)
    assert "semicolons" in caught.value.hint


def test_a_missing_key_column_is_refused_before_any_row(tmp_path: Path) -> None:
    with pytest.raises(MissingColumn, match=r'lacks "tag" of the primary key of table "Tags"'):
        rows_of(_file(tmp_path, "docId,author\nx,y\n"), TAGS)


def test_a_column_named_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadDefinition, match=r'names column "Note" twice'):
        rows_of(_file(tmp_path, "OrderID,Note,NOTE\n"), ORDERS)
