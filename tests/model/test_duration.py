"""Lengths of time as people write them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewkeeper.errors import WrongType
from viewkeeper.model.duration import milliseconds

UNITS = {
    1: ["ms", "millisecond", "milliseconds"],
    1000: ["s", "sec", "secs", "second", "seconds"],
    60_000: ["m", "min", "mins", "minute", "minutes"],
    3_600_000: ["h", "hour", "hours"],
    86_400_000: ["d", "day", "days"],
}
EVERY_UNIT = [(unit, word) for unit, words in UNITS.items() for word in words]


@given(
    st.integers(0, 10**9),
    st.sampled_from(EVERY_UNIT),
    st.sampled_from([str.lower, str.upper, str.title]),
    st.sampled_from(["", " ", "  "]),
)
def test_a_number_and_a_unit_is_their_product(number: int, unit: tuple[int, str], case: Any, blank: str) -> None:
    size, word = unit
    assert milliseconds(f"{blank}{number}{blank}{case(word)}{blank}") == number * size


@pytest.mark.parametrize(("text", "length"), [("500ms", 500), ("0.5ms", 0), ("1.5s", 1500), ("0.25 h", 900_000)])
def test_durations_by_example(text: str, length: int) -> None:
    assert milliseconds(text) == length


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "s",
        "5 mss",
        "5ss",
        "5 ds",
        "5 weeks",
        "-5s",
        "+5s",
        "1e3s",
        "1_000s",
        "5 s s",
        ".5s",
        "٣s",
        "5 ſ",
        "5\u00a0s",
        5,
        None,
        "9" * 400 + "s",
    ],
    ids=lambda text: repr(text)[:20],
)
def test_anything_else_is_refused(text: Any) -> None:
    with pytest.raises(WrongType, match="is not a duration") as caught:
        milliseconds(text)
    assert caught.value.hint == 'Write a number and a unit, such as "500ms", "90s" or "24h".'
