"""Cells into Arrow arrays and out of them, whole and sliced."""

from __future__ import annotations

import math
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import EVERY_TYPE, cells, edge_cells, same_cells, types
from viewkeeper.model.arrow import arrow_schema, arrow_type, from_cells, table_schema, to_cells
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
    Type,
    decimal,
)
from viewkeeper.model.values import present

columns_of_cells = types().flatmap(
    lambda type: st.tuples(st.just(type), st.lists(cells(type, nullable=True), max_size=20))
)


@given(columns_of_cells)
def test_cells_go_through_arrow(typed: tuple[Type, list[Any]]) -> None:
    type, column = typed
    array = from_cells(column, type)
    assert array.type == arrow_type(type)
    assert array.null_count == column.count(None)
    array.validate(full=True)
    assert same_cells(to_cells(array, type), column)


@given(columns_of_cells, st.integers(0, 20), st.integers(0, 20))
def test_a_slice_gives_the_slice_of_the_cells(typed: tuple[Type, list[Any]], start: int, size: int) -> None:
    type, column = typed
    array = from_cells(column, type).slice(start, size)
    assert same_cells(to_cells(array, type), column[start : start + size])
    assert same_cells(to_cells(array.slice(1), type), column[start : start + size][1:])


@given(columns_of_cells)
def test_cells_go_through_an_arrow_file(typed: tuple[Type, list[Any]]) -> None:
    """Buffers of a file are cut and padded by its writer, not by Arrow's builders."""
    type, column = typed
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([from_cells(column, type)], ["c"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    read = pa.ipc.open_stream(sink.getvalue()).read_all().column(0)
    again = [cell for chunk in read.chunks for cell in to_cells(chunk, type)]
    assert same_cells(again, column)


@given(columns_of_cells)
def test_arrow_shows_what_values_present(typed: tuple[Type, list[Any]]) -> None:
    """Users of to_arrow() and of rows see the same values."""
    type, column = typed
    assert same_cells(from_cells(column, type).to_pylist(), [present(cell, type) for cell in column])


@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
def test_every_edge_value_goes_through_arrow(type: Type) -> None:
    column = [None, *edge_cells(type), None]
    assert same_cells(to_cells(from_cells(column, type), type), column)


@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
def test_empty_and_all_null_columns(type: Type) -> None:
    assert to_cells(from_cells([], type), type) == []
    assert to_cells(pa.array([], arrow_type(type)), type) == []
    assert to_cells(from_cells([None] * 3, type), type) == [None] * 3
    assert to_cells(pa.nulls(3, arrow_type(type)), type) == [None] * 3
    assert to_cells(pa.nulls(3, arrow_type(type)).slice(2), type) == [None]


@pytest.mark.parametrize("type", [type for type in EVERY_TYPE if type not in (STRING, BINARY)], ids=str)
def test_an_array_without_buffers_has_no_cells(type: Type) -> None:
    empty = pa.Array.from_buffers(arrow_type(type), 0, [None, None])
    assert to_cells(empty, type) == []


ARROW_TYPES = [
    (BOOLEAN, "bool"),
    (INT, "int32"),
    (BIGINT, "int64"),
    (DOUBLE, "double"),
    (decimal(10, 2), "decimal128(10, 2)"),
    (decimal(38, 38), "decimal128(38, 38)"),
    (STRING, "string"),
    (BINARY, "binary"),
    (DATE, "date32[day]"),
    (TIMESTAMP, "timestamp[us, tz=UTC]"),
]


@pytest.mark.parametrize(("type", "name"), ARROW_TYPES, ids=str)
def test_arrow_types_do_not_change(type: Type, name: str) -> None:
    """Columnar blocks of the log hold these types."""
    assert str(arrow_type(type)) == name


def test_values_of_arrow_arrays_by_example() -> None:
    examples: list[tuple[Type, pa.Array, list[Any]]] = [
        (DATE, pa.array([date(1969, 12, 31), None]), [-1, None]),
        (TIMESTAMP, pa.array([datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)], arrow_type(TIMESTAMP)), [-1_000_000]),
        (decimal(10, 2), pa.array([Decimal("-9.99"), None], pa.decimal128(10, 2)), [-999, None]),
        (decimal(38, 2), pa.array([Decimal("-9.99"), None], pa.decimal128(38, 2)), [-999, None]),
        (DOUBLE, pa.array([None, 0.5], pa.float64()), [None, 0.5]),
    ]
    for type, array, column in examples:
        assert to_cells(array, type) == column


def test_nan_is_not_null() -> None:
    array = from_cells([math.nan, None], DOUBLE)
    assert array.null_count == 1
    assert same_cells(to_cells(array, DOUBLE), [math.nan, None])


def test_schema_of_a_table_has_its_names_types_and_nullability() -> None:
    columns = (Column(name="k", type=BIGINT, nullable=False), Column(name="Price", type=decimal(10, 2)))
    expected = pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field("Price", pa.decimal128(10, 2))])
    assert arrow_schema(columns) == expected
    assert table_schema(Table(name="t", columns=columns, primary_key=("k",))) == expected


def test_rows_are_coded_without_importing_pyarrow() -> None:
    """Opening a database and writing rows must not pay for it."""
    modules = ("change", "keycodec", "position", "rowcodec", "schema", "types", "values")
    program = "import sys\n" + "".join(f"import viewkeeper.model.{module}\n" for module in modules)
    program += "sys.exit('pyarrow' in sys.modules or 'pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
