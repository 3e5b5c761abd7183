"""Columns of Python values as cells: what `model.values.accept` takes, a column at a time where it is uniform."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from types import NoneType
from typing import Any

import pyarrow as pa

from viewkeeper.errors import DataError, OutOfRange
from viewkeeper.load.bad import Fault, misfit
from viewkeeper.load.block import Converted
from viewkeeper.load.from_text import from_text
from viewkeeper.model.arrow import arrow_type, from_cells
from viewkeeper.model.schema import Column
from viewkeeper.model.types import Cell, Kind, Type
from viewkeeper.model.values import accept, parse

_PLAIN: dict[Kind, set[type]] = {
    Kind.BOOLEAN: {bool},
    Kind.INT: {int},
    Kind.BIGINT: {int},
    Kind.DOUBLE: {float},
    Kind.DECIMAL: {Decimal, int},
    Kind.STRING: {str},
    Kind.BINARY: {bytes},
    Kind.DATE: {date},
    Kind.TIMESTAMP: {datetime},
}
"""Classes, exactly these and no subclass, of which Arrow makes the same value as `accept`."""

_TEXTUAL = {Kind.DOUBLE, Kind.DECIMAL, Kind.BINARY, Kind.DATE, Kind.TIMESTAMP}
"""Types with values that JSON can only say as a string."""


def from_objects(values: Sequence[Any], column: Column) -> Converted:
    """Python values in their Python form."""
    whole = as_column(values, column)
    return (whole, {}) if whole is not None else one_by_one(values, column, accept)


def from_json(values: Sequence[Any], column: Column) -> Converted:
    """JSON values: as Python ones, and strings for what JSON has no form of its own for."""
    kind = column.type.kind
    if kind in _TEXTUAL and set(map(type, values)) <= {str, NoneType}:
        return from_text(pa.array(values, pa.string()), column)
    whole = as_column(values, column)
    return (whole, {}) if whole is not None else one_by_one(values, column, _accept_json)


def as_column(values: Sequence[Any], column: Column) -> pa.Array | None:
    """All values at once; None if any has to be looked at by itself."""
    kind = column.type.kind
    if not set(map(type, values)) <= _PLAIN[kind] | {NoneType}:
        return None
    if kind is Kind.TIMESTAMP and not {value.tzinfo for value in values if value is not None} <= {None, UTC}:
        # Arrow drops what an offset has below a second, and goes beyond the year 9999.
        return None
    try:
        return pa.array(values, arrow_type(column.type))
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError, OverflowError):
        return None


def one_by_one(values: Sequence[Any], column: Column, take: Callable[..., Cell]) -> Converted:
    cells: list[Cell] = []
    faults: dict[int, Fault] = {}
    for row, value in enumerate(values):
        cell: Cell = None
        try:
            cell = take(value, column.type, column.name)
        except DataError as error:
            faults[row] = misfit(value, column.type, column.name, error)
        cells.append(cell)
    return from_cells(cells, column.type), faults


def _accept_json(value: Any, type: Type, column: str) -> Cell:
    if isinstance(value, str) and type.kind in _TEXTUAL:
        return parse(value, type, column)
    if type.kind is Kind.DOUBLE and isinstance(value, Decimal):
        # Numbers come as Decimal so that those of DECIMAL columns keep every digit.
        number = float(value)
        if math.isfinite(number):
            return number
        raise OutOfRange(f'{value} does not fit column "{column}" of type {type}')
    return accept(value, type, column)
