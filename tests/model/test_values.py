"""`accept` and `present`: what fits is kept exactly."""

from __future__ import annotations

import enum
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import EVERY_TYPE, cells, edge_cells, same_cells, types
from viewkeeper.errors import OutOfRange
from viewkeeper.model.types import (
    BIGINT,
    BINARY,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Kind,
    Type,
    decimal,
)
from viewkeeper.model.values import accept, present, presenter

PYTHON_FORM = {
    Kind.BOOLEAN: bool,
    Kind.INT: int,
    Kind.BIGINT: int,
    Kind.DOUBLE: float,
    Kind.DECIMAL: Decimal,
    Kind.STRING: str,
    Kind.BINARY: bytes,
    Kind.DATE: date,
    Kind.TIMESTAMP: datetime,
}


class Index:
    """A whole number of another library, as numpy's are: no int, but with `__index__`."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


class Float(float):
    """A float of another library, as numpy's float64 is, with a repr that is no number."""

    def __repr__(self) -> str:
        return f"other.Float({float(self)})"


class Colour(str, enum.Enum):  # noqa: UP042 - a StrEnum would print as its value, and the point is one that does not
    RED = "red"


class Nowhere(tzinfo):
    """A zone that does not say its offset; Python calls such a datetime naive."""

    def utcoffset(self, _: datetime | None) -> None:
        return None

    def tzname(self, _: datetime | None) -> str:
        return "nowhere"

    def dst(self, _: datetime | None) -> None:
        return None


@given(types().flatmap(lambda type: st.tuples(st.just(type), cells(type))))
def test_accept_gives_back_the_cell_that_was_presented(type_and_cell: tuple[Type, Any]) -> None:
    type, cell = type_and_cell
    value = present(cell, type)
    assert value.__class__ is PYTHON_FORM[type.kind]
    assert same_cells([accept(value, type, "c")], [cell])


@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
def test_every_edge_of_a_type_goes_through_its_python_form(type: Type) -> None:
    for cell in edge_cells(type):
        assert same_cells([accept(present(cell, type), type, "c")], [cell])


@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
def test_null_is_null_in_every_type(type: Type) -> None:
    assert accept(None, type, "c") is None
    assert present(None, type) is None


def test_presenter_is_none_where_cell_and_python_form_are_the_same() -> None:
    same = {Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DOUBLE, Kind.STRING, Kind.BINARY}
    assert {type.kind for type in EVERY_TYPE if presenter(type) is None} == same


PRESENTED: list[tuple[Type, Any, Any]] = [
    (decimal(10, 2), -1, Decimal("-0.01")),
    (decimal(10, 2), 0, Decimal("0.00")),
    (decimal(38, 0), 10**38 - 1, Decimal(10**38 - 1)),
    (decimal(38, 38), 1, Decimal("1E-38")),
    (decimal(38, 10), -(10**38) + 1, Decimal("-9999999999999999999999999999.9999999999")),
    (DATE, -719162, date(1, 1, 1)),
    (DATE, 19_782, date(2024, 2, 29)),
    (DATE, 2932896, date(9999, 12, 31)),
    (TIMESTAMP, -1, datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)),
    (TIMESTAMP, TIMESTAMP_MIN, datetime(1, 1, 1, tzinfo=UTC)),
    (TIMESTAMP, TIMESTAMP_MAX, datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)),
]


@pytest.mark.parametrize(("type", "cell", "value"), PRESENTED, ids=str)
def test_cells_that_differ_from_their_python_form(type: Type, cell: Any, value: Any) -> None:
    assert repr(present(cell, type)) == repr(value)
    assert accept(value, type, "c") == cell


ACCEPTED: list[tuple[Type, Any, Any]] = [
    (INT, Index(7), 7),
    (BIGINT, Index(-(2**63)), -(2**63)),
    (DOUBLE, 3, 3.0),
    (DOUBLE, 2**53, 2.0**53),
    (DOUBLE, 10**22, 1e22),
    (DOUBLE, Index(3), 3.0),
    (DOUBLE, Float(0.5), 0.5),
    (decimal(10, 2), 5, 500),
    (decimal(10, 2), Index(5), 500),
    (decimal(10, 2), 9.99, 999),
    (decimal(10, 2), Float(9.99), 999),
    (decimal(10, 2), -0.0, 0),
    (decimal(10, 2), Decimal("-0"), 0),
    (decimal(10, 2), Decimal("1E+7"), 10**9),
    (decimal(10, 2), Decimal("99999999.99"), 10**10 - 1),
    (decimal(10, 2), Decimal("1." + "0" * 60), 100),
    (decimal(10, 2), Decimal("0E+99999999"), 0),
    (decimal(2, 2), 0.99, 99),
    (decimal(38, 0), 10**38 - 1, 10**38 - 1),
    (STRING, Colour.RED, "red"),
    (STRING, "\U0010ffff", "\U0010ffff"),
    (BINARY, bytearray(b"\0\xff"), b"\0\xff"),
    (BINARY, memoryview(b"abcd")[::2], b"ac"),
    (TIMESTAMP, datetime(2024, 1, 1), 1_704_067_200_000_000),  # noqa: DTZ001 - one without a zone is taken as UTC
    (TIMESTAMP, datetime(2024, 1, 1, tzinfo=Nowhere()), 1_704_067_200_000_000),
    (TIMESTAMP, datetime(2024, 1, 1, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30))), 1_704_067_200_000_000),
    (TIMESTAMP, datetime(2023, 12, 31, 16, tzinfo=timezone(timedelta(hours=-8))), 1_704_067_200_000_000),
]


@pytest.mark.parametrize(("type", "value", "cell"), ACCEPTED)
def test_values_of_a_kindred_type_that_lose_nothing_are_accepted(type: Type, value: Any, cell: Any) -> None:
    assert same_cells([accept(value, type, "c")], [cell])


def test_whole_numbers_of_other_libraries_have_the_same_limits() -> None:
    for type, beyond in ((INT, 2**31), (BIGINT, 2**63), (DOUBLE, 2**53 + 1), (decimal(10, 2), 10**8)):
        with pytest.raises(OutOfRange):
            accept(Index(beyond), type, "c")


def test_decimals_do_not_depend_on_the_context_of_the_caller() -> None:
    exact = Decimal("9999999999999999999999999999.9999999999")
    with localcontext(prec=3, Emax=5, Emin=-5):
        cell = accept(exact, decimal(38, 10), "c")
        again = present(cell, decimal(38, 10))
    assert cell == 10**38 - 1
    assert again == exact


@given(types().filter(lambda type: type.kind is Kind.DECIMAL), st.decimals(allow_nan=False, allow_infinity=False))
def test_decimal_is_accepted_just_when_it_is_a_multiple_within_range(type: Type, value: Decimal) -> None:
    units = Fraction(value) * 10**type.scale
    if units.denominator == 1 and abs(units) < 10**type.precision:
        assert accept(value, type, "c") == units
    else:
        with pytest.raises(OutOfRange):
            accept(value, type, "c")


@given(st.datetimes(timezones=st.integers(-86_399, 86_399).map(lambda seconds: timezone(timedelta(seconds=seconds)))))
def test_timestamps_of_any_zone_are_the_same_moment_in_utc(moment: datetime) -> None:
    elapsed = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    if TIMESTAMP_MIN <= elapsed <= TIMESTAMP_MAX:
        shown = present(accept(moment, TIMESTAMP, "c"), TIMESTAMP)
        assert shown == moment.astimezone(UTC)
        assert shown.tzinfo is UTC
    else:
        with pytest.raises(OutOfRange):
            accept(moment, TIMESTAMP, "c")
