"""Rows in bulk to Arrow columns: thousands of rows are decoded by one call, and only wanted columns are built."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
import pyarrow as pa

from viewkeeper.model.arrow import arrow_type, from_cells
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Row, Type
from viewkeeper.store.environment import explained

_cells = msgspec.msgpack.Decoder(list).decode
_NARROW = 16
"""Columns from which the head of a msgpack array takes more than its first byte."""


@explained
def encoded_columns(codec: RowCodec, values: Sequence[bytes], wanted: Sequence[int]) -> list[pa.Array]:
    """The wanted columns of encoded rows, each of which may be shorter than its table."""
    width = len(codec.names)
    types = [codec.table.columns[number].type for number in wanted]
    if width < _NARROW:
        try:
            # The cells of all rows as one list, of which a column is every n-th. A shorter row makes it too short.
            head = b"\xdd" + (width * len(values)).to_bytes(4, "big")
            cells = _cells(head + b"".join([value[1:] for value in values]))
        except msgspec.DecodeError:
            pass
        else:
            return [_column(cells[number::width], type) for number, type in zip(wanted, types, strict=True)]
    return row_columns([codec.decode(value) for value in values], wanted, types, widened=True)


def row_columns(
    rows: Sequence[Row], wanted: Sequence[int], types: Sequence[Type], *, widened: bool = False
) -> list[pa.Array]:
    """The wanted columns of rows as msgpack gives them; with `widened`, as the row codec does."""
    if not rows:
        return [pa.array([], arrow_type(type)) for type in types]
    shortest = min(map(len, rows))
    arrays = []
    for number, type in zip(wanted, types, strict=True):
        cells: list[Cell]
        if number < shortest:
            cells = [row[number] for row in rows]
        else:
            cells = [row[number] if number < len(row) else None for row in rows]
        arrays.append(from_cells(cells, type) if widened else _column(cells, type))
    return arrays


def _column(cells: Iterable[Cell], type: Type) -> pa.Array:
    """An Arrow array of cells, wide decimals being still in bytes."""
    if type.is_wide:
        wide = [int.from_bytes(cell, "big", signed=True) if isinstance(cell, bytes) else None for cell in cells]
        return from_cells(wide, type)
    return from_cells(cells if isinstance(cells, list) else list(cells), type)
