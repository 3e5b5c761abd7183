"""Intervals of keys hold every row that passes the filters, and few others."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from viewkeeper.model.layout import Layout
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT, INT, STRING, Row
from viewkeeper.spark.keyfilters import key_intervals
from viewkeeper.store.scan import ALL, Interval

NAMES = ("a", "b", "c")
_letters = st.sampled_from(["", "x", "x\0", "y"])
_numbers = st.integers(-2, 2)
_rows = st.tuples(st.one_of(st.none(), _numbers), st.one_of(st.none(), _letters), st.one_of(st.none(), _numbers))


def _codec(descending: tuple[bool, bool]) -> RowCodec:
    columns = tuple(Column(name=name, type=type) for name, type in zip(NAMES, (BIGINT, STRING, INT), strict=True))
    return RowCodec(Layout(id=1, name="v", columns=columns, visible=3, key=(0, 1), descending=descending))


@st.composite
def _filters(draw: st.DrawFn) -> Filter:
    place = draw(st.integers(0, 2))
    values: st.SearchStrategy[Any] = _letters if place == 1 else _numbers
    path = (NAMES[place],)
    kind = draw(st.sampled_from([EqualTo, EqualNullSafe, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual]))
    plain = kind(path, draw(values))
    listed = In(path, tuple(draw(st.lists(values, max_size=3))))
    return draw(st.sampled_from([plain, plain, listed, Not(plain), IsNotNull(path)]))


def _passes(row: Row, filter: Filter) -> bool:
    if isinstance(filter, Not):
        value = row[NAMES.index(filter.child.attribute[0])]  # type: ignore[attr-defined]
        return value is not None and not _passes(row, filter.child)
    cell: Any = row[NAMES.index(filter.attribute[0])]  # type: ignore[attr-defined]
    if cell is None:
        return False
    if isinstance(filter, IsNotNull):
        return True
    wanted: Any = filter.value  # type: ignore[attr-defined]
    if isinstance(filter, In):
        return cell in wanted
    if isinstance(filter, EqualTo | EqualNullSafe):
        return bool(cell == wanted)
    if isinstance(filter, GreaterThan | GreaterThanOrEqual):
        return bool(cell > wanted or (isinstance(filter, GreaterThanOrEqual) and cell == wanted))
    return bool(cell < wanted or (isinstance(filter, LessThanOrEqual) and cell == wanted))


@given(
    descending=st.tuples(st.booleans(), st.booleans()),
    filters=st.lists(_filters(), max_size=4),
    rows=st.lists(_rows, max_size=12),
)
def test_no_row_that_passes_is_outside(descending: tuple[bool, bool], filters: list[Filter], rows: list[Row]) -> None:
    codec = _codec(descending)
    intervals = key_intervals(codec, filters)
    for left, right in itertools.pairwise(intervals):
        assert left.upper is not None
        assert left.upper <= right.lower
    for row in rows:
        if all(_passes(row, filter) for filter in filters):
            assert sum(codec.key.encode(row) in interval for interval in intervals) == 1


@pytest.mark.parametrize("descending", [False, True])
def test_rows_that_do_not_pass_are_outside(descending: bool) -> None:
    codec = _codec((descending, descending))

    def found(*filters: Filter) -> set[tuple[int, str]]:
        intervals = key_intervals(codec, filters)
        keys = [(a, b) for a in range(5) for b in "xyz"]
        return {key for key in keys if any(codec.key.encode((*key, None)) in interval for interval in intervals)}

    assert found(EqualTo(("a",), 3)) == {(3, "x"), (3, "y"), (3, "z")}
    assert found(EqualTo(("A",), 3), In(("b",), ("y", "x", "q"))) == {(3, "x"), (3, "y")}
    assert found(In(("a",), (1, 3)), LessThan(("b",), "y")) == {(1, "x"), (3, "x")}
    assert found(GreaterThan(("a",), 2), LessThanOrEqual(("a",), 3)) == {(3, "x"), (3, "y"), (3, "z")}
    assert found(GreaterThanOrEqual(("a",), 4), LessThan(("a",), 4)) == set()


def test_what_is_not_about_the_key_leaves_everything() -> None:
    codec = _codec((False, False))
    others = [EqualTo(("c",), 1), EqualTo(("b",), "x"), EqualTo(("a",), "not a number"), EqualTo(("a", "b"), 1)]
    for filter in (*others, Not(EqualTo(("a",), 1)), EqualNullSafe(("a",), None)):
        assert key_intervals(codec, [filter]) == [ALL]
    assert key_intervals(codec, [In(("a",), tuple(range(5000)))]) == [ALL]
    assert key_intervals(codec, [EqualTo(("a",), 1)]) == [Interval.of_prefix(codec.key.encode_key((1,)))]
