"""What `accept` refuses: by class, code and column, in a short text."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from tests.strategies import EVERY_TYPE
from viewkeeper.errors import BadText, DataError, OutOfRange, WrongType
from viewkeeper.model.types import BIGINT, BINARY, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Type, decimal
from viewkeeper.model.values import accept


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


REFUSED: list[tuple[Type, Any, type[DataError]]] = [
    (BOOLEAN, 1, WrongType),
    (BOOLEAN, "true", WrongType),
    (INT, True, WrongType),
    (INT, "5", WrongType),
    (INT, 5.0, WrongType),
    (INT, Decimal(5), WrongType),
    (INT, int, WrongType),
    (INT, 2**31, OutOfRange),
    (INT, -(2**31) - 1, OutOfRange),
    (INT, 10**5000, OutOfRange),
    (BIGINT, False, WrongType),
    (BIGINT, 1e3, WrongType),
    (BIGINT, 2**63, OutOfRange),
    (BIGINT, -(2**63) - 1, OutOfRange),
    (DOUBLE, True, WrongType),
    (DOUBLE, "1.5", WrongType),
    (DOUBLE, Decimal("1.5"), WrongType),
    (DOUBLE, Fraction(1, 2), WrongType),
    (DOUBLE, 2**53 + 1, OutOfRange),
    (DOUBLE, 10**23, OutOfRange),
    (DOUBLE, 10**400, OutOfRange),
    (DOUBLE, -(10**400), OutOfRange),
    (decimal(10, 2), True, WrongType),
    (decimal(10, 2), "9.99", WrongType),
    (decimal(10, 2), Fraction(1, 2), WrongType),
    (decimal(10, 2), math.nan, OutOfRange),
    (decimal(10, 2), math.inf, OutOfRange),
    (decimal(10, 2), Decimal("NaN"), OutOfRange),
    (decimal(10, 2), Decimal("sNaN"), OutOfRange),
    (decimal(10, 2), Decimal("-Infinity"), OutOfRange),
    (decimal(10, 2), Decimal("9.999"), OutOfRange),
    (decimal(10, 2), 0.1 + 0.2, OutOfRange),
    (decimal(10, 2), Decimal("1E-99999999"), OutOfRange),
    (decimal(10, 2), Decimal("100000000.00"), OutOfRange),
    (decimal(10, 2), 10**8, OutOfRange),
    (decimal(10, 2), Decimal("1E+99999999"), OutOfRange),
    (decimal(38, 38), Decimal(1), OutOfRange),
    (decimal(38, 38), Decimal(10**37), OutOfRange),
    (decimal(38, 0), 10**38, OutOfRange),
    (decimal(38, 0), 10**5000, OutOfRange),
    (STRING, b"a", WrongType),
    (STRING, 5, WrongType),
    (STRING, "ok \ud800", BadText),
    (STRING, "\udfff", BadText),
    (STRING, "\ud83d\ude00", BadText),
    (BINARY, "a", WrongType),
    (BINARY, 5, WrongType),
    (BINARY, [1, 2], WrongType),
    (DATE, datetime(2024, 1, 1, tzinfo=UTC), WrongType),
    (DATE, "2024-01-01", WrongType),
    (DATE, 0, WrongType),
    (TIMESTAMP, date(2024, 1, 1), WrongType),
    (TIMESTAMP, "2024-01-01", WrongType),
    (TIMESTAMP, 0, WrongType),
    (TIMESTAMP, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), OutOfRange),
    (TIMESTAMP, datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))), OutOfRange),
]


def shown(part: Any) -> str:
    """The name of a test's part; Python has no text for an int of 5,000 digits."""
    return "huge" if isinstance(part, int) and part > 10**4000 else str(part)


@pytest.mark.parametrize(("type", "value", "error"), REFUSED, ids=shown)
def test_values_that_do_not_fit_are_refused_by_column(type: Type, value: Any, error: type[DataError]) -> None:
    with pytest.raises(DataError) as caught:
        accept(value, type, "price")
    assert caught.type is error
    assert 'column "price"' in caught.value.message
    assert len(caught.value.message) < 150


@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
@pytest.mark.parametrize("value", [object(), [1], {"a": 1}, 1j, Unprintable()], ids=lambda v: v.__class__.__name__)
def test_objects_of_no_type_are_refused_by_name(type: Type, value: Any) -> None:
    with pytest.raises(WrongType) as caught:
        accept(value, type, "c")
    assert caught.value.code == "data.wrong_type"
    assert caught.value.message.startswith(f'column "c" is {type}, found {value.__class__.__name__} ')


def test_texts_of_refusals() -> None:
    texts = []
    refused: list[tuple[Any, Type]] = [
        ("5", INT),
        (2**31, INT),
        (2**63, BIGINT),
        (2**53 + 1, DOUBLE),
        (Decimal("9.999"), decimal(10, 2)),
        (Decimal(10**8), decimal(10, 2)),
        ("a\ud800", STRING),
        ("a", BINARY),
        (10**5000, INT),
    ]
    for value, type in refused:
        with pytest.raises(DataError) as caught:
            accept(value, type, "c")
        texts.append(str(caught.value))
    assert texts == [
        "column \"c\" is INT, found str '5'",
        (
            '2147483648 does not fit column "c" of type INT\n'
            "  detail: INT holds -2147483648 to 2147483647; BIGINT holds more."
        ),
        (
            '9223372036854775808 does not fit column "c" of type BIGINT\n'
            "  detail: BIGINT holds -9223372036854775808 to 9223372036854775807; DECIMAL(38,0) holds more."
        ),
        (
            '9007199254740993 does not fit column "c" of type DOUBLE\n'
            "  detail: It would be rounded to 9007199254740992.0; pass a float if that is meant."
        ),
        (
            "Decimal('9.999') does not fit column \"c\" of type DECIMAL(10,2)\n"
            "  detail: It has more than 2 digits behind the point."
        ),
        "Decimal('100000000') does not fit column \"c\" of type DECIMAL(10,2)",
        (
            'column "c" holds text that is not valid Unicode\n'
            "  detail: Character 1 is half of a surrogate pair.\n"
            "  hint: Decode the bytes with the right encoding, or store them as BINARY."
        ),
        "column \"c\" is BINARY, found str 'a'\n  hint: Encode text to bytes first, or use STRING.",
        '<int> does not fit column "c" of type INT\n  detail: INT holds -2147483648 to 2147483647; BIGINT holds more.',
    ]
