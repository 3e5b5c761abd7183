"""`parse`: the texts of files and literals, each type's own and nothing that Python merely happens to read."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import EVERY_TYPE, cells, same_cells, types
from viewkeeper.errors import BadText, DataError, OutOfRange, WrongType
from viewkeeper.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Cell,
    Kind,
    Type,
    decimal,
)
from viewkeeper.model.values import accept, parse, present


def written(cell: Cell, type: Type) -> str:
    """The text that a file would have for a cell."""
    value = present(cell, type)
    match type.kind:
        case Kind.BINARY:
            return str(value.hex())
        case Kind.DATE | Kind.TIMESTAMP:
            return str(value.isoformat())
        case _:
            return str(value)


@given(types().flatmap(lambda type: st.tuples(st.just(type), cells(type))))
def test_parse_reads_what_python_writes(type_and_cell: tuple[Type, Any]) -> None:
    type, cell = type_and_cell
    assert same_cells([parse(written(cell, type), type, "c")], [cell])


@given(
    st.sampled_from([type for type in EVERY_TYPE if type is not STRING]).flatmap(
        lambda type: st.tuples(st.just(type), cells(type))
    ),
    st.text(" \t\n\v\f\r", max_size=3),
    st.text(" \t\n\v\f\r", max_size=3),
)
def test_blanks_around_are_ignored(type_and_cell: tuple[Type, Any], before: str, after: str) -> None:
    type, cell = type_and_cell
    assert same_cells([parse(before + written(cell, type) + after, type, "c")], [cell])


@given(st.text(st.characters(codec="utf-8")))
def test_a_string_is_the_text_as_it_stands(text: str) -> None:
    assert parse(text, STRING, "c") == text
    assert parse(f" {text}\n", STRING, "c") == f" {text}\n"


READ: list[tuple[Type, str, Any]] = [
    (BOOLEAN, "TRUE", True),
    (BOOLEAN, "t", True),
    (BOOLEAN, "1", True),
    (BOOLEAN, "False", False),
    (BOOLEAN, "F", False),
    (BOOLEAN, "0", False),
    (INT, "+7", 7),
    (INT, "-007", -7),
    (BIGINT, "9223372036854775807", 2**63 - 1),
    (DOUBLE, "1", 1.0),
    (DOUBLE, ".5", 0.5),
    (DOUBLE, "5.", 5.0),
    (DOUBLE, "-1.5E-3", -0.0015),
    (DOUBLE, "9007199254740993", 2.0**53),
    (DOUBLE, "1e-999", 0.0),
    (DOUBLE, "inf", math.inf),
    (DOUBLE, "-Infinity", -math.inf),
    (DOUBLE, "NaN", math.nan),
    (decimal(10, 2), "9.99", 999),
    (decimal(10, 2), "-.5", -50),
    (decimal(10, 2), "1e3", 100_000),
    (decimal(10, 2), "1.500000", 150),
    (decimal(38, 0), "9" * 38, 10**38 - 1),
    (STRING, "", ""),
    (BINARY, "", b""),
    (BINARY, "00fFA5", b"\0\xff\xa5"),
    (DATE, "2024-02-29", 19_782),
    (DATE, "0001-01-01", -719_162),
    (TIMESTAMP, "2024-01-01", 1_704_067_200_000_000),
    (TIMESTAMP, "2024-01-01T00:00:00Z", 1_704_067_200_000_000),
    (TIMESTAMP, "2024-01-01 05:30:00+05:30", 1_704_067_200_000_000),
    (TIMESTAMP, "2024-01-01T00:00:00.000001", 1_704_067_200_000_001),
    (TIMESTAMP, "2024-01-01T00:00:00.100", 1_704_067_200_100_000),
    (TIMESTAMP, "2024-01-01T00:00:00.123456000Z", 1_704_067_200_123_456),
    (TIMESTAMP, "1969-12-31T23:59:59.999999", -1),
]


@pytest.mark.parametrize(("type", "text", "cell"), READ)
def test_texts_that_name_a_value(type: Type, text: str, cell: Any) -> None:
    assert same_cells([parse(text, type, "c")], [cell])


REFUSED: list[tuple[Type, str, type[DataError]]] = [
    *((type, "", WrongType) for type in EVERY_TYPE if type.kind not in (Kind.STRING, Kind.BINARY)),
    *((type, "null", WrongType) for type in EVERY_TYPE if type.kind is not Kind.STRING),
    (BOOLEAN, "yes", WrongType),
    (BOOLEAN, "2", WrongType),
    (INT, "1_000", WrongType),
    (INT, "1,000", WrongType),
    (INT, "1.0", WrongType),
    (INT, "1e3", WrongType),
    (INT, "0x10", WrongType),
    (INT, "- 5", WrongType),
    (INT, "--5", WrongType),
    (INT, "٣", WrongType),
    (INT, "５", WrongType),
    (INT, "\u00a05", WrongType),
    (INT, "5\0", WrongType),
    (INT, "2147483648", OutOfRange),
    (BIGINT, "9223372036854775808", OutOfRange),
    (BIGINT, "9" * 5000, OutOfRange),
    (DOUBLE, "1_000.5", WrongType),
    (DOUBLE, "1,5", WrongType),
    (DOUBLE, "٣.5", WrongType),
    (DOUBLE, "e5", WrongType),
    (DOUBLE, ".", WrongType),
    (DOUBLE, "1e", WrongType),
    (DOUBLE, "infi", WrongType),
    (DOUBLE, "ınf", WrongType),
    (DOUBLE, "0x1p3", WrongType),
    (DOUBLE, "1e999", OutOfRange),
    (DOUBLE, "-1e999", OutOfRange),
    (decimal(10, 2), "1_000", WrongType),
    (decimal(10, 2), "٣", WrongType),
    (decimal(10, 2), "$5", WrongType),
    (decimal(10, 2), "sNaN", WrongType),
    (decimal(10, 2), "nan", OutOfRange),
    (decimal(10, 2), "-inf", OutOfRange),
    (decimal(10, 2), "9.999", OutOfRange),
    (decimal(10, 2), "123456789.00", OutOfRange),
    (decimal(10, 2), "1e99999999999999999999", OutOfRange),
    (STRING, "\ud800", BadText),
    (BINARY, "abc", WrongType),
    (BINARY, "ab cd", WrongType),
    (BINARY, "0xab", WrongType),
    (BINARY, "٣٣", WrongType),
    (DATE, "2024-02-30", WrongType),
    (DATE, "2024-1-1", WrongType),
    (DATE, "01/02/2024", WrongType),
    (DATE, "0000-01-01", WrongType),
    (DATE, "10000-01-01", WrongType),
    (DATE, "٢٠٢٤-01-01", WrongType),
    (DATE, "2024-01-01T00:00:00", WrongType),
    (TIMESTAMP, "2024-01-01x10:00", WrongType),
    (TIMESTAMP, "2024-01-01T25:00", WrongType),
    (TIMESTAMP, "2024-01-01T10:00 UTC", WrongType),
    (TIMESTAMP, "1704067200", WrongType),
    (TIMESTAMP, "2024-01-01T00:00:00.1234567", OutOfRange),
    (TIMESTAMP, "0001-01-01T00:00:00+14:00", OutOfRange),
    (TIMESTAMP, "9999-12-31T23:00:00-12:00", OutOfRange),
]


@pytest.mark.parametrize(("type", "text", "error"), REFUSED, ids=lambda part: repr(part)[:30])
def test_texts_that_name_no_value_are_refused_by_column(type: Type, text: str, error: type[DataError]) -> None:
    with pytest.raises(DataError) as caught:
        parse(text, type, "price")
    assert caught.type is error
    assert 'column "price"' in caught.value.message
    assert len(caught.value.message) < 150


@pytest.mark.parametrize("type", [type for type in EVERY_TYPE if type is not STRING], ids=str)
@given(text=st.one_of(st.text("0123456789+-._,:eETtfZWina \u0663\u00a0\0", max_size=12), st.text(max_size=8)))
def test_any_text_is_read_or_refused_with_our_error(type: Type, text: str) -> None:
    try:
        cell = parse(text, type, "c")
    except (WrongType, OutOfRange):
        return
    assert same_cells([accept(present(cell, type), type, "c")], [cell])
    assert text.isascii()


digits = st.text("0123456789", min_size=1, max_size=6)


@pytest.mark.parametrize("type", [INT, BIGINT, DOUBLE, decimal(38, 10)], ids=str)
@given(left=digits, right=digits, between=st.sampled_from(["_", ",", " ", "'", "\u066b", "\u2009"]))
def test_digits_are_never_grouped(type: Type, left: str, right: str, between: str) -> None:
    with pytest.raises(WrongType):
        parse(left + between + right, type, "c")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4), st.integers(-3, 3))
def test_a_decimal_with_an_exponent_is_its_value(value: Decimal, exponent: int) -> None:
    text = f"{value:f}e{exponent}"
    units = Fraction(value) * Fraction(10) ** (exponent + 7)
    if abs(units) < 10**38:
        assert parse(text, decimal(38, 7), "c") == units
    else:
        with pytest.raises(OutOfRange):
            parse(text, decimal(38, 7), "c")


@given(st.datetimes(), st.integers(-1439, 1439))
def test_an_offset_moves_a_timestamp_to_utc(local: datetime, minutes: int) -> None:
    moment = local.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    cell = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    if TIMESTAMP_MIN <= cell <= TIMESTAMP_MAX:
        assert parse(moment.isoformat(), TIMESTAMP, "c") == cell
    else:
        with pytest.raises(OutOfRange):
            parse(moment.isoformat(), TIMESTAMP, "c")
