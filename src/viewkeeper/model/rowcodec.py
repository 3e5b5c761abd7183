"""Rows as msgpack arrays by column id.

    row    := msgpack array of cells, the cell of column id n at place n
    cell   := nil | bool | int | float 64 | str | bin, as in model/types.py
            | bin of 16 bytes, big-endian, two's complement, for a DECIMAL with p > 18

A row may be shorter than its table: a column added later reads as NULL. The key columns are part of the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from viewkeeper.errors import MissingColumn, NullKey, RowTooLarge, UnknownColumn, WrongType
from viewkeeper.model.keycodec import KeyCodec
from viewkeeper.model.layout import Layout
from viewkeeper.model.schema import Table
from viewkeeper.model.types import Cell, Row
from viewkeeper.model.values import accept, present, presenter
from viewkeeper.model.wholerow import ReadyRow, compile_ready

MAX_ROW = 16 << 20
"""Bytes of an encoded row."""

_pack = msgspec.msgpack.Encoder().encode
_unpack: Callable[[bytes], Row] = msgspec.msgpack.Decoder(tuple).decode


class RowCodec:
    """Turns the rows of one table version into bytes, keys and dicts and back."""

    __slots__ = ("_absent", "_ids", "_pads", "_ready", "_wide", "decode", "encode", "key", "names", "table", "to_dict")

    def __init__(self, table: Table | Layout) -> None:
        self.table = table
        self.names = table.column_names
        types = [table.columns[column].type for column in table.key_ids]
        self.key = KeyCodec(table.key_ids, types, table.descending)
        self._ids = {name: number for number, name in enumerate(self.names)}
        self._absent: Row = (None,) * len(self.names)
        self._pads: list[Row] = [self._absent[size:] for size in range(len(self.names) + 1)]
        self._wide = [number for number, column in enumerate(table.columns) if column.type.is_wide]
        self.encode: Callable[[Row], bytes] = self._encode_wide if self._wide else _pack
        self.decode: Callable[[bytes], Row] = _compile_decode(len(self.names), self._pads, self._wide)
        self.to_dict: Callable[[Row], dict[str, Any]] = _compile_to_dict(table)
        self._ready: Callable[[Any], ReadyRow | None] | None = None

    def ready(self, given: Any) -> ReadyRow | None:
        """Key and bytes of a row that names every column, if nothing about it is unusual. See model/wholerow.py."""
        if self._ready is None:
            # Only tables that are written by row need it.
            self._ready = compile_ready(self.table.columns, self.key.columns, self.key.encode, self.encode)
        return self._ready(given)

    def merge(self, given: Mapping[str, Any]) -> dict[int, Cell]:
        """The given columns as cells by column id. UnknownColumn, WrongType, OutOfRange, NullKey."""
        if not isinstance(given, Mapping):
            raise WrongType(f"a row is a mapping of columns to values, found {type(given).__name__}")
        cells: dict[int, Cell] = {}
        columns = self.table.columns
        for name, value in given.items():
            number = self._ids.get(name)
            if number is None:
                number = self._find(name)
            column = columns[number]
            if number in cells:
                raise UnknownColumn(f'column "{column.name}" is given twice in one row')
            cell = accept(value, column.type, column.name)
            if cell is None and not column.nullable and number not in self.key.columns:
                raise WrongType(f'column "{column.name}" of table "{self.table.name}" is NOT NULL, found NULL')
            cells[number] = cell
        for number in self.key.columns:
            if cells.get(number) is None:
                raise self._key_problem(number, number in cells)
        return cells

    def whole(self, cells: Mapping[int, Cell]) -> Row:
        """A row of just these cells, NULL elsewhere; MissingColumn if a NOT NULL column is not among them."""
        row = list(self._absent)
        for number, cell in cells.items():
            row[number] = cell
        for number, column in enumerate(self.table.columns):
            if row[number] is None and not column.nullable:
                raise self.missing(number)
        return tuple(row)

    def overlay(self, row: Row, cells: Mapping[int, Cell]) -> Row:
        """The row with these cells replaced."""
        merged = list(row)
        for number, cell in cells.items():
            merged[number] = cell
        return tuple(merged)

    def key_cells(self, key: tuple[Any, ...], *, prefix: bool = False) -> Row:
        """A key of Python values as cells; with `prefix`, it may be shorter than the primary key."""
        wanted = len(self.key.columns)
        if len(key) > wanted or (len(key) < wanted and not prefix):
            raise WrongType(
                f'table "{self.table.name}" has a key of {wanted} column{"s" * (wanted != 1)}, '
                f"({', '.join(self.table.primary_key)}), found {len(key)} value{'s' * (len(key) != 1)}",
                hint="" if prefix else "Pass one value for each key column; scan takes a prefix.",
            )
        cells = []
        for number, value in zip(self.key.columns, key, strict=False):
            column = self.table.columns[number]
            cell = accept(value, column.type, column.name)
            if cell is None and not self.table.has_null_keys:
                raise self._key_problem(number, True)
            cells.append(cell)
        return tuple(cells)

    def key_of_cells(self, cells: Mapping[int, Cell]) -> bytes:
        """The encoded key among given cells, all key columns of which are there."""
        return self.key.encode_key([cells[number] for number in self.key.columns])

    def present_key(self, row: Row) -> tuple[Any, ...]:
        """The key of a row in Python form."""
        columns = self.table.columns
        return tuple(present(row[number], columns[number].type) for number in self.key.columns)

    def check_size(self, encoded: bytes) -> None:
        if len(encoded) > MAX_ROW:
            raise RowTooLarge(
                f'a row of table "{self.table.name}" takes {len(encoded):,} bytes, more than {MAX_ROW:,}',
                hint="Keep large objects elsewhere and their address in the row.",
            )

    def _find(self, name: Any) -> int:
        # Rows come from users and JSON: whatever is no text is no column either.
        return self.table.column_id(name if isinstance(name, str) else repr(name))

    def missing(self, number: int) -> MissingColumn:
        name = self.table.columns[number].name
        return MissingColumn(f'column "{name}" of table "{self.table.name}" is NOT NULL and not given')

    def _key_problem(self, number: int, given: bool) -> NullKey:
        name = self.table.columns[number].name
        if given:
            return NullKey(f'key column "{name}" of table "{self.table.name}" is NULL')
        return NullKey(
            f'key column "{name}" of table "{self.table.name}" is not given',
            hint=f"Every write names the whole key: {', '.join(self.table.primary_key)}.",
        )

    def _encode_wide(self, row: Row) -> bytes:
        cells: list[Any] = list(row)
        for number in self._wide:
            if cells[number] is not None:
                cells[number] = cells[number].to_bytes(16, "big", signed=True)
        return _pack(cells)


def _compile_decode(width: int, pads: list[Row], wide: list[int]) -> Callable[[bytes], Row]:
    def decode(data: bytes) -> Row:
        row = _unpack(data)
        if len(row) < width:
            row += pads[len(row)]
        return row

    def decode_wide(data: bytes) -> Row:
        return widen(decode(data), wide)

    return decode_wide if wide else decode


def widen(row: Row, wide: list[int]) -> Row:
    """The row with its wide decimals as ints again."""
    cells: list[Any] = list(row)
    for number in wide:
        if number < len(cells) and cells[number] is not None:
            cells[number] = int.from_bytes(cells[number], "big", signed=True)
    return tuple(cells)


def _compile_to_dict(table: Table | Layout) -> Callable[[Row], dict[str, Any]]:
    """Row to dict as one display expression; several times faster than zip for the widths that tables have."""
    names: dict[str, Any] = {}
    parts = []
    for number, column in enumerate(table.columns[: table.visible]):
        convert = presenter(column.type)
        if convert is None:
            parts.append(f"{column.name!r}: row[{number}]")
        else:
            names[f"c{number}"] = convert
            parts.append(f"{column.name!r}: None if row[{number}] is None else c{number}(row[{number}])")
    exec(compile(f"def to_dict(row):\n    return {{{', '.join(parts)}}}\n", "<row codec>", "exec"), names)
    to_dict: Callable[[Row], dict[str, Any]] = names["to_dict"]
    return to_dict
