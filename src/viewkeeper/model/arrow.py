"""The types as Arrow has them, and cells in and out of Arrow columns without a Python object more than needed.

Imports pyarrow, so it is itself imported only where bulk data is at hand: opening, writing and reading rows never
pays for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, Literal, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.model.layout import Layout
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import Cell, Kind, Type

_PLENTY = Context(prec=80)


def arrow_type(type: Type) -> pa.DataType:
    match type.kind:
        case Kind.BOOLEAN:
            return pa.bool_()
        case Kind.INT:
            return pa.int32()
        case Kind.BIGINT:
            return pa.int64()
        case Kind.DOUBLE:
            return pa.float64()
        case Kind.DECIMAL:
            return pa.decimal128(type.precision, type.scale)
        case Kind.STRING:
            return pa.string()
        case Kind.BINARY:
            return pa.binary()
        case Kind.DATE:
            return pa.date32()
        case Kind.TIMESTAMP:
            return pa.timestamp("us", tz="UTC")
    assert_never(type.kind)


def arrow_schema(columns: Sequence[Column]) -> pa.Schema:
    return pa.schema([pa.field(column.name, arrow_type(column.type), column.nullable) for column in columns])


def table_schema(table: Table | Layout) -> pa.Schema:
    return arrow_schema(table.columns)


def to_cells(array: pa.Array, type: Type) -> list[Cell]:
    """The cells of an Arrow array of `arrow_type(type)`."""
    match type.kind:
        case Kind.BOOLEAN | Kind.STRING | Kind.BINARY:
            return _listed(array)
        case Kind.INT:
            return _words(array, "i", 1)
        case Kind.BIGINT:
            return _words(array, "q", 1)
        case Kind.DOUBLE:
            return _words(array, "d", 1)
        case Kind.DATE:
            return _words(array, "i", 1)
        case Kind.TIMESTAMP:
            return _words(array, "q", 1)
        case Kind.DECIMAL:
            if not type.is_wide:
                # A decimal128 is two little-endian words; the value of a narrow one is its lower word.
                return _words(array, "q", 2)
            return [None if v is None else int(v.scaleb(type.scale, _PLENTY)) for v in array.to_pylist()]
    assert_never(type.kind)


def _listed(array: pa.Array) -> list[Cell]:
    cells: list[Cell] = array.to_pylist()
    return cells


def _words(array: pa.Array, code: Literal["i", "q", "d"], stride: int) -> list[Any]:
    """Values of constant width straight from the buffer, every `stride`-th word."""
    data = array.buffers()[1]
    if data is None:
        return [None] * len(array)
    words = memoryview(data).cast("b").cast(code)
    start = array.offset * stride
    values: list[Any] = words[start : start + len(array) * stride : stride].tolist()
    if array.null_count:
        for place in pc.indices_nonzero(array.is_null()).to_pylist():
            values[place] = None
    return values


def from_cells(cells: Sequence[Cell], type: Type) -> pa.Array:
    """An Arrow array of `arrow_type(type)` holding these cells."""
    match type.kind:
        case Kind.DATE:
            return pa.array(cells, pa.int32()).cast(pa.date32())
        case Kind.TIMESTAMP:
            return pa.array(cells, pa.int64()).cast(pa.timestamp("us", tz="UTC"))
        case Kind.DECIMAL:
            return _wide(cells, type) if type.is_wide else _narrow(cells, type)
        case Kind.BOOLEAN | Kind.INT | Kind.BIGINT | Kind.DOUBLE | Kind.STRING | Kind.BINARY:
            return pa.array(cells, arrow_type(type))
    assert_never(type.kind)


def _narrow(cells: Sequence[Cell], type: Type) -> pa.Array:
    # An int64 cast to decimal128(19, 0) has the very buffer that the scaled decimal has.
    units = pa.array(cells, pa.int64()).cast(pa.decimal128(19, 0))
    return pa.Array.from_buffers(arrow_type(type), len(units), units.buffers())


def _wide(cells: Sequence[Any], type: Type) -> pa.Array:
    values = [None if cell is None else Decimal(cell).scaleb(-type.scale, _PLENTY) for cell in cells]
    return pa.array(values, arrow_type(type))
