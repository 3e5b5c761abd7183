"""Positions: a partial order with printed forms, and no `<`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewkeeper.errors import BadPosition, ForeignPosition
from viewkeeper.model.position import Position

DATABASE = "0123abcd"

offsets = st.integers(0, 2**64 - 1)
one_log = st.builds(Position, st.just(DATABASE), st.tuples(offsets))
# Small numbers, so that places of two positions tie and cross.
three_logs = st.builds(Position, st.just(DATABASE), st.tuples(*[st.integers(0, 3)] * 3))
names = st.text("0123456789abcdefghijklmnopqrstuvwxyz", min_size=8, max_size=40)
anywhere = st.builds(Position, names, st.lists(offsets, min_size=1, max_size=4).map(tuple))


@given(anywhere)
def test_parse_gives_back_what_str_printed(position: Position) -> None:
    assert Position.parse(str(position)) == position


def test_text_of_a_position_does_not_change() -> None:
    """Positions travel in cookies: old ones must stay readable."""
    assert str(Position(DATABASE, (42,))) == "0123abcd@42"
    assert str(Position(DATABASE, (4, 0, 17))) == "0123abcd@4.0.17"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "42",
        "0123abcd",
        "0123abcd@",
        "@5",
        "0123abc@5",
        "0123ABCD@5",
        "0" * 41 + "@5",
        "0123abcd@-1",
        "0123abcd@+1",
        "0123abcd@1.",
        "0123abcd@.1",
        "0123abcd@1..2",
        "0123abcd@007",
        "0123abcd@1_0",
        "0123abcd@٣",
        "0123abcd@5\n",
        " 0123abcd@5",
        "0123abcd@" + "9" * 21,
        "0123abcd@" + "9" * 5000,
        5,
        None,
        b"0123abcd@5",
    ],
    ids=lambda text: repr(text)[:24],
)
def test_parse_refuses_any_other_text(text: Any) -> None:
    with pytest.raises(BadPosition, match="is not a position") as caught:
        Position.parse(text)
    assert caught.value.code == "position.bad"
    assert "0123abcd@42" in caught.value.hint


@given(one_log, one_log)
def test_one_log_is_totally_ordered_by_its_offset(a: Position, b: Position) -> None:
    assert a.covers(b) == (a.offsets >= b.offsets)
    assert a.covers(b) or b.covers(a)
    assert (a | b) == (a if a.covers(b) else b)


@given(three_logs, three_logs, three_logs)
def test_covers_is_a_partial_order(a: Position, b: Position, c: Position) -> None:
    assert a.covers(a)
    assert (a.covers(b) and b.covers(a)) == (a == b)
    if a.covers(b) and b.covers(c):
        assert a.covers(c)


def test_some_positions_of_several_logs_do_not_cover_each_other() -> None:
    a, b = Position(DATABASE, (1, 2)), Position(DATABASE, (2, 1))
    assert not a.covers(b)
    assert not b.covers(a)
    assert a | b == Position(DATABASE, (2, 2))


@given(three_logs, three_logs, three_logs)
def test_or_is_the_least_position_that_covers_both(a: Position, b: Position, c: Position) -> None:
    union = a | b
    assert union.covers(a)
    assert union.covers(b)
    assert c.covers(union) == (c.covers(a) and c.covers(b))
    assert union == b | a
    assert (a | a) == a


@pytest.mark.parametrize(
    "other", [Position("ffff0000", (5,)), Position(DATABASE, (5, 5))], ids=["database", "number of logs"]
)
@pytest.mark.parametrize("relate", [Position.covers, operator.or_], ids=["covers", "or"])
def test_positions_of_another_database_are_refused(relate: Callable[[Any, Any], Any], other: Position) -> None:
    mine = Position(DATABASE, (5,))
    for left, right in ((mine, other), (other, mine)):
        with pytest.raises(ForeignPosition, match="belongs to another database than") as caught:
            relate(left, right)
        assert caught.value.code == "position.foreign"
        assert str(left) in caught.value.message
        assert str(right) in caught.value.message


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
def test_positions_have_no_less_than(compare: Callable[[Any, Any], bool]) -> None:
    with pytest.raises(TypeError):
        compare(Position(DATABASE, (1,)), Position(DATABASE, (2,)))


def test_positions_are_values() -> None:
    position = Position(DATABASE, (5,))
    assert position == Position(DATABASE, (5,)) != Position("ffff0000", (5,))
    assert len({position, Position(DATABASE, (5,)), Position(DATABASE, (6,))}) == 2
    with pytest.raises(AttributeError):
        position.offsets = (6,)  # type: ignore[misc]
