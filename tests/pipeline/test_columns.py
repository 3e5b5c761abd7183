"""Rows decoded in bulk are the rows, column by column, whatever their types and however old they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import rows, same_cells, tables
from viewkeeper.model.arrow import arrow_type, to_cells
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import BIGINT, STRING, Row
from viewkeeper.pipeline.columns import encoded_columns


def _decoded(codec: RowCodec, values: list[bytes], wanted: list[int]) -> list[Row]:
    arrays = encoded_columns(codec, values, wanted)
    types = [codec.table.columns[number].type for number in wanted]
    assert [array.type for array in arrays] == list(map(arrow_type, types))
    return list(zip(*(to_cells(array, type) for array, type in zip(arrays, types, strict=True)), strict=True))


@given(st.data())
def test_columns_are_those_of_the_rows(data: st.DataObject) -> None:
    table = data.draw(tables(max_columns=20))
    codec = RowCodec(table)
    found = data.draw(st.lists(rows(table), min_size=1, max_size=8))
    wanted = data.draw(st.lists(st.sampled_from(range(len(table.columns))), min_size=1, unique=True))
    expected = [tuple(row[number] for number in wanted) for row in found]
    decoded = _decoded(codec, [codec.encode(row) for row in found], wanted)
    assert all(map(same_cells, decoded, expected))
    assert len(decoded) == len(expected)


@pytest.mark.parametrize("width", [3, 15, 16, 17, 40])
def test_rows_that_are_older_than_a_column_have_null_there(width: int) -> None:
    columns = tuple(Column(name=f"c{n}", type=STRING if n % 2 else BIGINT) for n in range(width))
    codec = RowCodec(Table(name="t", columns=columns, primary_key=("c0",)))
    whole: Row = tuple(f"text {n}" if n % 2 else n for n in range(width))
    old = [codec.encode(whole), RowCodec(Table(name="t", columns=columns[:2], primary_key=("c0",))).encode(whole[:2])]
    wanted = [0, 1, width - 1]
    assert _decoded(codec, old, wanted) == [(0, "text 1", whole[-1]), (0, "text 1", None)]
    assert _decoded(codec, old[:1], wanted) == [(0, "text 1", whole[-1])]


def test_rows_of_lengths_that_add_up_are_not_mixed() -> None:
    """The head of a row takes three bytes from 16 columns on, and one before."""
    columns = tuple(Column(name=f"c{n}", type=BIGINT) for n in range(17))
    codec = RowCodec(Table(name="t", columns=columns, primary_key=("c0",)))
    older = RowCodec(Table(name="t", columns=columns[:15], primary_key=("c0",)))
    values = [older.encode(tuple(range(15))), codec.encode(tuple(range(17)))]
    assert _decoded(codec, values, [0, 14, 16]) == [(0, 14, None), (0, 14, 16)]
