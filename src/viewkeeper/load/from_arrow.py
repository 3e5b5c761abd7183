"""Arrow columns as cells: every type that can hold the same values, cast without loss."""

from __future__ import annotations

from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from viewkeeper.errors import OutOfRange, WrongType
from viewkeeper.load.bad import Fault
from viewkeeper.load.block import Converted
from viewkeeper.load.from_objects import one_by_one
from viewkeeper.load.from_text import decode
from viewkeeper.model.arrow import arrow_type
from viewkeeper.model.schema import Column
from viewkeeper.model.types import DATE_MAX, DATE_MIN, MAX_PRECISION, TIMESTAMP_MAX, TIMESTAMP_MIN, Cell, Kind, Type
from viewkeeper.model.values import accept

_MS_A_DAY = 86_400_000
_WORD_DIGITS = 20
_DIGITS_256 = 76
_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def check_type(found: pa.DataType, column: Column, source: str) -> None:
    """WrongType if no value of the found Arrow type is meant to go into the column."""
    plain = found.value_type if pt.is_dictionary(found) else found
    if not (pt.is_null(plain) or _fits(plain, column.type)):
        raise WrongType(
            f'{source}, column "{column.name}": Arrow type {found} is not {column.type}',
            detail=f"{column.type} is {arrow_type(column.type)} in Arrow, or a type that is cast to it without loss.",
            hint="Cast the column before loading it.",
        )


def _fits(found: pa.DataType, type: Type) -> bool:
    match type.kind:
        case Kind.BOOLEAN:
            return bool(pt.is_boolean(found))
        case Kind.INT | Kind.BIGINT:
            return bool(pt.is_integer(found))
        case Kind.DOUBLE:
            return bool(pt.is_floating(found) or pt.is_integer(found))
        case Kind.DECIMAL:
            return bool(pt.is_decimal(found) or pt.is_integer(found) or pt.is_float64(found))
        case Kind.STRING:
            return bool(pt.is_string(found) or pt.is_large_string(found) or pt.is_string_view(found))
        case Kind.BINARY:
            return bool(
                pt.is_binary(found)
                or pt.is_large_binary(found)
                or pt.is_fixed_size_binary(found)
                or pt.is_binary_view(found)
            )
        case Kind.DATE:
            return bool(pt.is_date(found))
        case Kind.TIMESTAMP:
            return bool(pt.is_timestamp(found))
    assert_never(type.kind)


def from_arrow(array: pa.Array, column: Column) -> Converted:
    """The column in the table's type; a value that would lose something is a fault. `check_type` was passed."""
    target = arrow_type(column.type)
    if pt.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pt.is_null(array.type):
        return pa.nulls(len(array), target), {}
    if column.type.kind is Kind.DATE:
        return _dates(array, column)
    if column.type.kind is Kind.TIMESTAMP:
        return _timestamps(array, column)
    try:
        # Arrow lets any bytes pass as a string and any number as a short decimal, and so do Parquet files.
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        return _damaged(array, column, error)
    if column.type.kind is Kind.DECIMAL:
        return _decimals(array, column)
    try:
        return (array if array.type == target else array.cast(target)), {}
    except pa.ArrowInvalid:
        return one_by_one(array.to_pylist(), column, _accept_exact)


def _accept_exact(value: Any, type: Type, column: str) -> Cell:
    cell = accept(value, type, column)
    if type.kind is Kind.DOUBLE and isinstance(value, int) and cell != value:
        raise OutOfRange(f'{value} does not fit column "{column}"', detail="DOUBLE holds 53 bits of a whole number.")
    return cell


def _damaged(array: pa.Array, column: Column, error: pa.ArrowInvalid) -> Converted:
    if column.type.kind is Kind.STRING:
        raw = array.cast(pa.binary())
        try:
            raw.validate(full=True)
        except pa.ArrowInvalid as worse:
            error = worse
        else:
            return decode(raw, column.name)
    raise WrongType(f'column "{column.name}" is not a valid Arrow array of {array.type}', detail=f"{error}.") from None


def _decimals(array: pa.Array, column: Column) -> Converted:
    # A float would be rounded; `accept` takes its shortest text, or refuses it.
    if not pt.is_float64(array.type):
        # An integer goes by way of a decimal, since its own cast asks for room for every value of its type.
        plain = array.cast(pa.decimal128(_WORD_DIGITS)) if pt.is_integer(array.type) else array
        room = _DIGITS_256 if pt.is_decimal256(plain.type) else MAX_PRECISION
        # Arrow drops the upper bits of what grows beyond its digits while it scales.
        if plain.type.precision + max(column.type.scale - plain.type.scale, 0) <= room:
            try:
                return plain.cast(arrow_type(column.type)), {}
            except pa.ArrowInvalid:
                pass
    return one_by_one(array.to_pylist(), column, accept)


def _dates(array: pa.Array, column: Column) -> Converted:
    unit = 1 if pt.is_date32(array.type) else _MS_A_DAY
    words = array.view(pa.int32() if unit == 1 else pa.int64())
    return _moments(array, words, column, DATE_MIN * unit, DATE_MAX * unit, unit)


def _timestamps(array: pa.Array, column: Column) -> Converted:
    """Instants in UTC; one without a zone is taken as UTC, whatever zone the type names otherwise changes nothing."""
    unit = _PER_SECOND[array.type.unit]
    micros = _PER_SECOND["us"]
    words = array.view(pa.int64())
    lowest, highest = TIMESTAMP_MIN * unit // micros, TIMESTAMP_MAX * unit // micros
    if unit > micros:
        lowest, highest = max(lowest, -(1 << 63)), min(highest, (1 << 63) - 1)
    return _moments(array, words, column, lowest, highest, max(unit // micros, 1))


def _moments(array: pa.Array, words: pa.Array, column: Column, lowest: int, highest: int, step: int) -> Converted:
    """The array cast, but for words outside [lowest, highest] and words that are no multiple of `step`."""
    target = arrow_type(column.type)
    fits = pc.and_(pc.greater_equal(words, lowest), pc.less_equal(words, highest))
    if step > 1:
        fits = pc.and_(fits, pc.equal(pc.multiply(pc.divide(words, step), step), words))
    if pc.all(fits).as_py() is not False:
        return array.cast(target), {}
    wrong = pc.indices_nonzero(pc.invert(pc.fill_null(fits, True))).to_pylist()
    faults = {
        row: Fault(reason=f"{array.type} {words[row].as_py()} does not fit {column.type}", column=column.name)
        for row in wrong
    }
    return pc.if_else(fits, array, None).cast(target), faults
