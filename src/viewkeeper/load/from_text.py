"""Columns of texts as cells: whole columns by Arrow where that means the same, else value by value.

`model.values.parse` says what a text means. Arrow's casts are used only where everything they accept, `parse` reads
as the same value; what they refuse, `parse` decides.
"""

from __future__ import annotations

from typing import assert_never

import pyarrow as pa
import pyarrow.compute as pc

from viewkeeper.errors import DataError
from viewkeeper.load.bad import Fault, misfit, not_text
from viewkeeper.load.block import Converted
from viewkeeper.model.arrow import arrow_type, from_cells
from viewkeeper.model.schema import Column
from viewkeeper.model.types import DATE_MAX, DATE_MIN, MAX_PRECISION, TIMESTAMP_MAX, TIMESTAMP_MIN, Cell, Kind, Type
from viewkeeper.model.values import parse


def decode(raw: pa.Array, column: str) -> Converted:
    """Bytes as texts; what is not UTF-8 is a fault."""
    try:
        return raw.cast(pa.string()), {}
    except pa.ArrowInvalid:
        faults: dict[int, Fault] = {}
        texts: list[str | None] = []
        for row, value in enumerate(raw.to_pylist()):
            try:
                texts.append(None if value is None else value.decode())
            except UnicodeDecodeError as error:
                texts.append(None)
                faults[row] = not_text(column, f"Byte {error.start + 1} of the value is 0x{value[error.start]:02x}.")
        return pa.array(texts, pa.string()), faults


def from_text(texts: pa.Array, column: Column) -> Converted:
    """The values that texts name; NULL stays NULL."""
    whole = as_column(texts, column.type)
    return (whole, {}) if whole is not None else one_by_one(texts, column)


def as_column(texts: pa.Array, type: Type) -> pa.Array | None:
    """All values at once; None if any has to be looked at by itself."""
    try:
        return _cast(texts, type)
    except pa.ArrowInvalid:
        pass
    try:
        return _cast(pc.ascii_trim_whitespace(texts), type)
    except pa.ArrowInvalid:
        return None


def one_by_one(texts: pa.Array, column: Column) -> Converted:
    cells: list[Cell] = []
    faults: dict[int, Fault] = {}
    for row, text in enumerate(texts.to_pylist()):
        cell: Cell = None
        if text is not None:
            try:
                cell = parse(text, column.type, column.name)
            except DataError as error:
                faults[row] = misfit(text, column.type, column.name, error)
        cells.append(cell)
    return from_cells(cells, column.type), faults


def _cast(texts: pa.Array, type: Type) -> pa.Array | None:
    target = arrow_type(type)
    match type.kind:
        case Kind.STRING:
            return texts
        case Kind.BINARY:
            return None
        case Kind.INT | Kind.BIGINT:
            # Arrow reads 0x1F.
            return None if _any_holds(texts, "x") else texts.cast(target)
        case Kind.DOUBLE:
            return _doubles(texts, target)
        case Kind.DECIMAL:
            # Arrow drops the upper bits of what is beyond its 38 digits while it scales, and 1e-999 to zero.
            longest = pc.max(pc.binary_length(texts)).as_py() or 0
            return texts.cast(target) if longest + type.scale <= MAX_PRECISION and not _any_holds(texts, "e") else None
        case Kind.BOOLEAN:
            return texts.cast(target)
        case Kind.DATE:
            return _within(texts.cast(target), DATE_MIN, DATE_MAX)
        case Kind.TIMESTAMP:
            return _within(_timestamps(texts, target), TIMESTAMP_MIN, TIMESTAMP_MAX)
    assert_never(type.kind)


def _doubles(texts: pa.Array, target: pa.DataType) -> pa.Array | None:
    # Arrow reads nan(…), and infinity out of a number that is too large.
    numbers = texts.cast(target)
    if _any_holds(texts, "(") or pc.any(pc.is_inf(numbers)).as_py():
        return None
    return numbers


def _timestamps(texts: pa.Array, target: pa.DataType) -> pa.Array:
    # Arrow reads either only texts with an offset or only texts without one.
    try:
        return texts.cast(target)
    except pa.ArrowInvalid:
        return texts.cast(pa.timestamp("us")).cast(target)


def _any_holds(texts: pa.Array, mark: str) -> bool:
    return bool(pc.any(pc.match_substring(texts, mark, ignore_case=True)).as_py())


def _within(moments: pa.Array, lowest: int, highest: int) -> pa.Array | None:
    """The array, if no value of it is outside the years 1 to 9999, both ends included."""
    words = moments.view(pa.int32() if moments.type == pa.date32() else pa.int64())
    found = pc.min_max(words).as_py()
    if found["min"] is not None and not lowest <= found["min"] <= found["max"] <= highest:
        return None
    return moments
