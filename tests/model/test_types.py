"""The types, their limits and their texts."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import types
from viewkeeper.model import types as vt
from viewkeeper.model.types import Kind, Type, decimal


@pytest.mark.parametrize(
    ("precision", "scale"), [(0, 0), (-1, 0), (39, 0), (39, 39), (5, 6), (38, 39), (5, -1), (1, 2)]
)
def test_decimal_outside_its_limits_is_refused(precision: int, scale: int) -> None:
    with pytest.raises(ValueError, match=rf"^DECIMAL\({precision},{scale}\) is outside 1 <= p <= 38, 0 <= s <= p$"):
        decimal(precision, scale)


@given(st.integers(1, 38), st.data())
def test_every_decimal_inside_its_limits_is_made(precision: int, data: st.DataObject) -> None:
    scale = data.draw(st.integers(0, precision))
    type = decimal(precision, scale)
    assert (type.kind, type.precision, type.scale) == (Kind.DECIMAL, precision, scale)
    assert str(type) == f"DECIMAL({precision},{scale})"


def test_decimal_without_scale_is_whole() -> None:
    assert decimal(7) == decimal(7, 0)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.DECIMAL])
def test_only_decimal_takes_a_precision(kind: Kind) -> None:
    assert str(Type(kind)) == kind.value
    with pytest.raises(ValueError, match=f"^{kind} takes no precision$"):
        Type(kind, 10)
    with pytest.raises(ValueError, match=f"^{kind} takes no precision$"):
        Type(kind, 0, 2)


def test_wide_is_what_a_word_does_not_hold() -> None:
    assert [decimal(p, 0).is_wide for p in (1, 18, 19, 38)] == [False, False, True, True]
    assert not any(Type(kind).is_wide for kind in Kind if kind is not Kind.DECIMAL)
    assert 10**vt.WORD_PRECISION - 1 < 2**63 <= 10 ** (vt.WORD_PRECISION + 1) - 1


@given(types(), types())
def test_types_are_equal_just_when_their_texts_are(left: Type, right: Type) -> None:
    assert (left == right) == (str(left) == str(right))
    assert left == Type(left.kind, left.precision, left.scale)
    assert hash(left) == hash(Type(left.kind, left.precision, left.scale))


def test_limits_are_those_of_words_and_of_the_calendar() -> None:
    assert (vt.INT_MIN, vt.INT_MAX) == (-2_147_483_648, 2_147_483_647)
    assert (vt.BIGINT_MIN, vt.BIGINT_MAX) == (-9_223_372_036_854_775_808, 9_223_372_036_854_775_807)
    epoch, microsecond = date(1970, 1, 1), timedelta(microseconds=1)
    assert ((date.min - epoch).days, (date.max - epoch).days) == (vt.DATE_MIN, vt.DATE_MAX)
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    moment = datetime(1970, 1, 1, tzinfo=UTC)
    assert ((first - moment) // microsecond, (last - moment) // microsecond) == (vt.TIMESTAMP_MIN, vt.TIMESTAMP_MAX)
