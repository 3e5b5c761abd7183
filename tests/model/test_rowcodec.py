"""Rows through bytes and dicts and back, across ADD COLUMN, and bytes that stay."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import edge_cells, rows, same_cells, tables, tables_and_rows, types
from viewkeeper.errors import RowTooLarge
from viewkeeper.model.rowcodec import MAX_ROW, RowCodec, widen
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Row,
    Type,
    decimal,
)
from viewkeeper.model.values import present


def table_of(*column_types: Type) -> Table:
    """Columns c0, c1, … with c0 the key."""
    columns = tuple(Column(name=f"c{number}", type=type) for number, type in enumerate(column_types))
    return Table(name="t", columns=columns, primary_key=("c0",))


@given(tables_and_rows())
def test_decode_gives_back_what_was_encoded(table_and_row: tuple[Table, Row]) -> None:
    table, row = table_and_row
    codec = RowCodec(table)
    assert same_cells(codec.decode(codec.encode(row)), row)


@pytest.mark.parametrize("type", [DOUBLE, STRING, BINARY, decimal(18, 0), decimal(19, 0), decimal(38, 38)], ids=str)
def test_every_edge_value_goes_through_bytes(type: Type) -> None:
    codec = RowCodec(table_of(INT, type))
    for cell in (None, *edge_cells(type)):
        assert same_cells(codec.decode(codec.encode((1, cell))), (1, cell))


@given(tables_and_rows(), st.lists(types(), min_size=1, max_size=3))
def test_row_written_before_add_column_reads_with_null_after(
    table_and_row: tuple[Table, Row], added: list[Type]
) -> None:
    table, row = table_and_row
    old = RowCodec(table)
    for number, type in enumerate(added):
        table = table.with_column(Column(name=f"added{number}", type=type))
    new = RowCodec(table)
    grown = new.decode(old.encode(row))
    assert same_cells(grown, (*row, *[None] * len(added)))
    assert new.key.encode(grown) == old.key.encode(row)
    assert same_cells(new.decode(new.encode(grown)), grown)


@given(tables_and_rows())
def test_dict_has_every_column_as_presented(table_and_row: tuple[Table, Row]) -> None:
    table, row = table_and_row
    shown = RowCodec(table).to_dict(row)
    assert tuple(shown) == table.column_names
    assert same_cells(
        list(shown.values()), [present(cell, column.type) for cell, column in zip(row, table.columns, strict=True)]
    )


@given(tables_and_rows())
def test_merge_of_a_shown_row_is_the_row(table_and_row: tuple[Table, Row]) -> None:
    table, row = table_and_row
    codec = RowCodec(table)
    assert same_cells(codec.whole(codec.merge(codec.to_dict(row))), row)


@given(tables_and_rows())
def test_key_goes_through_its_python_form(table_and_row: tuple[Table, Row]) -> None:
    table, row = table_and_row
    codec = RowCodec(table)
    key = codec.present_key(row)
    shown = codec.to_dict(row)
    assert same_cells(key, [shown[name] for name in table.primary_key])
    assert same_cells(codec.key_cells(key), codec.key.key_of(row))
    assert codec.key_of_cells(dict(enumerate(row))) == codec.key.encode(row)
    for size in range(len(key)):
        assert same_cells(codec.key_cells(key[:size], prefix=True), codec.key.key_of(row)[:size])


@given(tables().flatmap(lambda table: st.tuples(st.just(table), rows(table), rows(table))), st.data())
def test_overlay_replaces_just_the_given_columns(both: tuple[Table, Row, Row], data: st.DataObject) -> None:
    table, row, other = both
    places = data.draw(st.sets(st.integers(0, len(row) - 1)))
    merged = RowCodec(table).overlay(row, {place: other[place] for place in places})
    assert same_cells(merged, [(other if place in places else row)[place] for place in range(len(row))])


def test_names_of_columns_are_never_code() -> None:
    """The dict is built by compiled code, so a name must stay a text whatever it holds."""
    names = ["'", '"', "\\", "{0}", "a b", "row", "None", "): 1}", "\n", "é", "c1"]
    columns = tuple(Column(name=name, type=DATE) for name in names)
    codec = RowCodec(Table(name="t", columns=columns, primary_key=("'",)))
    assert codec.to_dict((0,) * len(names)) == dict.fromkeys(names, date(1970, 1, 1))


WHOLE_ROW: Row = (7, True, -1, 1.5, -999, 2**64, "é", b"\0\xff", -1, 1_704_067_200_000_000)
WHOLE_TABLE = table_of(INT, BOOLEAN, BIGINT, DOUBLE, decimal(10, 2), decimal(38, 0), STRING, BINARY, DATE, TIMESTAMP)
WHOLE_BYTES = bytes.fromhex(
    "9a"  # an array of 10
    "07"
    "c3"
    "ff"
    "cb 3ff8000000000000"
    "d1 fc19"
    "c4 10 00000000000000010000000000000000"
    "a2 c3a9"
    "c4 02 00ff"
    "ff"
    "cf 00060dd710212000"
)


def test_bytes_of_a_row_do_not_change() -> None:
    """The format of docs/formats.md: databases hold these bytes, so they may never be edited here."""
    codec = RowCodec(WHOLE_TABLE)
    assert codec.encode(WHOLE_ROW) == WHOLE_BYTES
    assert codec.decode(WHOLE_BYTES) == WHOLE_ROW
    assert codec.encode((7, *[None] * 9)) == bytes.fromhex("9a 07" + "c0" * 9)
    assert codec.decode(bytes.fromhex("93 07 c0 c0")) == (7, *[None] * 9)


def test_bytes_of_a_negative_wide_decimal_do_not_change() -> None:
    codec = RowCodec(table_of(INT, decimal(19, 4)))
    assert codec.encode((0, -2)) == bytes.fromhex("92 00 c4 10" + "ff" * 15 + "fe")


def test_dict_of_a_row_by_example() -> None:
    assert RowCodec(WHOLE_TABLE).to_dict(WHOLE_ROW) == {
        "c0": 7,
        "c1": True,
        "c2": -1,
        "c3": 1.5,
        "c4": Decimal("-9.99"),
        "c5": Decimal(2**64),
        "c6": "é",
        "c7": b"\0\xff",
        "c8": date(1969, 12, 31),
        "c9": datetime(2024, 1, 1, tzinfo=UTC),
    }


def test_nan_and_minus_zero_stay_what_they_are() -> None:
    codec = RowCodec(table_of(INT, DOUBLE, DOUBLE))
    nan, zero = codec.decode(codec.encode((1, math.nan, -0.0)))[1:]
    assert isinstance(nan, float)
    assert math.isnan(nan)
    assert str(zero) == "-0.0"


def test_widen_leaves_null_and_short_rows_alone() -> None:
    word: Any = (2**70).to_bytes(16, "big", signed=True)
    assert widen((1, word, None), [1, 2]) == (1, 2**70, None)
    assert widen((1,), [1, 2]) == (1,)


@pytest.mark.parametrize("damaged", [b"", b"\xc1", WHOLE_BYTES[:-1], WHOLE_BYTES + b"\0", b"\x07"])
def test_bytes_that_are_no_row_are_refused(damaged: bytes) -> None:
    with pytest.raises(msgspec.MsgspecError):
        RowCodec(WHOLE_TABLE).decode(damaged)


def test_row_above_its_limit_is_refused() -> None:
    codec = RowCodec(table_of(BIGINT, BINARY))
    codec.check_size(bytes(MAX_ROW))
    with pytest.raises(RowTooLarge) as caught:
        codec.check_size(bytes(MAX_ROW + 1))
    assert caught.value.code == "data.row_too_large"
    assert caught.value.message == 'a row of table "t" takes 16,777,217 bytes, more than 16,777,216'
    assert caught.value.hint == "Keep large objects elsewhere and their address in the row."
