"""Columns converted at once mean what the same values mean one by one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta, timezone
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import EVERY_TYPE, cells, same_cells
from viewkeeper.errors import DataError
from viewkeeper.load import from_arrow, from_objects, from_text
from viewkeeper.model.arrow import arrow_type, from_cells, to_cells
from viewkeeper.model.schema import Column
from viewkeeper.model.types import Cell, Kind, Type
from viewkeeper.model.values import accept, parse, present

WIDE = Context(prec=100)
NUMERIC = "0123456789+-.eExX_, ()"
MOMENTS = "0123456789-:.TZ+ W"
ODD_TEXTS = [
    *("", " ", "0x1F", "-0x1", "1e3", "1E400", "-1e999", "1e-999", "nan", "nan(1)", "-NaN", "inf", "infinity", "iNF"),
    *("1.", ".5", "+5", "00012", "-0", "1_000", "٣", "5\0", "true", "TRUE", "t", "yes", "1.230", "9.999", "1" * 45),
    *("0000-01-01", "2024-02-30", "20240101", "2024-W01-1", "9999-12-31", "2024-01-01 10", "2024-01-01T24:00"),
    *("2024-01-01T10:00:60", "2024-01-01T10:00:00.1234567", "2024-01-01T10:00:00+99:99", "2024-01-01T10+01"),
    *("0001-01-01T00:00:00+14:00", "9999-12-31T23:00:00-12:00", "2024-01-01T10:00Z", "2024-01-01Z", "abc", "ab c"),
    "-9999999999999999999999999999.99999999995",
    *("0000-06-01T00:00", "2024-01-01T10:00:00,5", "2024-01-01T100000", "2024-01-01T10:00:00-00:00:30"),
]


def as_text(cell: Cell, type: Type) -> str:
    value = present(cell, type)
    match type.kind:
        case Kind.BINARY:
            return str(value.hex())
        case Kind.DATE | Kind.TIMESTAMP:
            return str(value.isoformat())
        case _:
            return str(value)


def texts(type: Type) -> st.SearchStrategy[str]:
    """Texts of values, some with a character changed, and texts that parsers differ over."""
    written = cells(type).map(lambda cell: as_text(cell, type))
    bent = st.tuples(written, st.integers(0, 40), st.sampled_from(MOMENTS + NUMERIC)).map(
        lambda drawn: drawn[0][: drawn[1]] + drawn[2] + drawn[0][drawn[1] + 1 :]
    )
    return st.one_of(
        written,
        bent,
        st.sampled_from(ODD_TEXTS),
        st.text(MOMENTS, max_size=26),
        st.text(NUMERIC, max_size=12),
        st.text(st.characters(codec="utf-8"), max_size=6),
    )


def outcome(value: Any, type: Type, take: Any) -> tuple[Cell, bool]:
    """The cell, and whether the value was refused."""
    try:
        return (None if value is None else take(value, type, "c")), False
    except DataError:
        return None, True


def check(got: tuple[pa.Array, dict[int, Any]], values: Sequence[Any], type: Type, take: Any) -> None:
    array, faults = got
    assert array.type == arrow_type(type)
    expected = [outcome(value, type, take) for value in values]
    assert same_cells(to_cells(array, type), [cell for cell, _ in expected])
    assert sorted(faults) == [row for row, (_, refused) in enumerate(expected) if refused]


@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
@given(data=st.data())
def test_texts_at_once_mean_what_parse_says(type: Type, data: st.DataObject) -> None:
    values = data.draw(st.lists(st.one_of(st.none(), texts(type)), max_size=4))
    column = Column(name="c", type=type)
    check(from_text.from_text(pa.array(values, pa.string()), column), values, type, parse)


@pytest.mark.parametrize("text", ODD_TEXTS)
@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
def test_an_odd_text_at_once_means_what_parse_says(type: Type, text: str) -> None:
    check(from_text.from_text(pa.array([text, None]), Column(name="c", type=type)), [text, None], type, parse)


@pytest.mark.parametrize("type", [type for type in EVERY_TYPE if type.kind is not Kind.BINARY], ids=str)
@given(data=st.data())
def test_ordinary_texts_are_converted_at_once(type: Type, data: st.DataObject) -> None:
    values = data.draw(st.lists(cells(type, nullable=True), max_size=4))
    written = [None if cell is None else as_text(cell, type) for cell in values]
    blanks = data.draw(st.sampled_from(["", " "])) if type.kind is not Kind.STRING else ""
    spaced = [None if text is None or _is_apart(text, type) else f"{blanks}{text}" for text in written]
    assert from_text.as_column(pa.array(spaced, pa.string()), type) is not None


def _is_apart(text: str, type: Type) -> bool:
    """Whether Arrow cannot be asked: infinity, and decimals with an exponent or with too many digits."""
    return text.endswith("inf") or (type.kind is Kind.DECIMAL and ("E" in text or len(text) + type.scale >= 38))


def objects(type: Type) -> st.SearchStrategy[Any]:
    """Values of a type in their Python form, and others that accept may or may not take."""
    zones = st.integers(-86_399_999_999, 86_399_999_999).map(lambda us: timezone(timedelta(microseconds=us)))
    return st.one_of(
        cells(type).map(lambda cell: present(cell, type)),
        st.sampled_from(
            [True, 1, 1.0, 2**31, 2**63, 2**53 + 1, 10**400, Decimal("1.5"), Decimal("NaN"), Decimal("1E+3")]
        ),
        st.sampled_from(
            ["1", "\ud800", "", b"", bytearray(b"x"), [], {}, Decimal("0E-60"), Decimal("sNaN"), -0.0, "ok"]
        ),
        st.decimals(),
        st.floats(),
        st.datetimes(timezones=st.one_of(st.none(), zones)),
        st.dates(),
        st.text(max_size=3),
    )


@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
@given(data=st.data())
def test_objects_at_once_mean_what_accept_says(type: Type, data: st.DataObject) -> None:
    alike = st.lists(st.one_of(st.none(), cells(type).map(lambda cell: present(cell, type))), max_size=4)
    values = data.draw(st.one_of(alike, st.lists(st.one_of(st.none(), objects(type)), max_size=4)))
    check(from_objects.from_objects(values, Column(name="c", type=type)), values, type, accept)


@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
@given(data=st.data())
def test_python_values_of_one_class_are_converted_at_once(type: Type, data: st.DataObject) -> None:
    values = [present(cell, type) for cell in data.draw(st.lists(cells(type, nullable=True), max_size=4))]
    assert from_objects.as_column(values, Column(name="c", type=type)) is not None


@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
@given(data=st.data())
def test_arrow_columns_of_the_own_type_pass_unchanged(type: Type, data: st.DataObject) -> None:
    values = data.draw(st.lists(cells(type, nullable=True), max_size=4))
    array, faults = from_arrow.from_arrow(from_cells(values, type), Column(name="c", type=type))
    assert same_cells(to_cells(array, type), values)
    assert faults == {}


WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


@pytest.mark.parametrize("type", [t for t in EVERY_TYPE if t.kind in (Kind.INT, Kind.BIGINT, Kind.DECIMAL)], ids=str)
@given(data=st.data())
def test_arrow_integers_mean_what_accept_says(type: Type, data: st.DataObject) -> None:
    found = data.draw(st.sampled_from(WHOLE))
    low = 0 if pa.types.is_unsigned_integer(found) else -(1 << (found.bit_width - 1))
    high = low + (1 << found.bit_width) - 1
    drawn = st.one_of(st.sampled_from([low, high, 0, 1, 35]), st.integers(low, high))
    values = data.draw(st.lists(st.one_of(st.none(), drawn), max_size=4))
    check(from_arrow.from_arrow(pa.array(values, found), Column(name="c", type=type)), values, type, accept)


@pytest.mark.parametrize("type", [t for t in EVERY_TYPE if t.kind is Kind.DECIMAL], ids=str)
@given(data=st.data())
def test_arrow_decimals_mean_what_accept_says(type: Type, data: st.DataObject) -> None:
    found = data.draw(st.sampled_from([pa.decimal128(38, 5), pa.decimal256(60, 20), pa.decimal128(3, 3)]))
    most, one = 10**found.precision - 1, 10**found.scale
    whole = st.integers(-(most // one), most // one).map(lambda number: number * one)
    units = st.one_of(st.integers(-most, most), whole, st.integers(-50, 50))
    drawn = units.map(lambda unit: Decimal(unit).scaleb(-found.scale, context=WIDE))
    values = data.draw(st.lists(st.one_of(st.none(), drawn), max_size=4))
    check(from_arrow.from_arrow(pa.array(values, found), Column(name="c", type=type)), values, type, accept)
