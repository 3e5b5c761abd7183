"""The order of encoded keys is the order of the SQL values, against a comparison that shares no code with the codec."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.strategies import EVERY_TYPE, cells, edge_cells, types
from viewkeeper.model.keycodec import KeyCodec, prefix_end, sortable_double
from viewkeeper.model.types import BIGINT, BINARY, BOOLEAN, DOUBLE, INT, STRING, TIMESTAMP, Cell, Kind, Row, Type


def compare_values(left: Any, right: Any) -> int:
    """SQL order of two values of one type: NULL below all, NaN above all other doubles, -0.0 equal to 0.0."""
    if left is None or right is None:
        return (left is not None) - (right is not None)
    if isinstance(left, float) and (math.isnan(left) or math.isnan(right)):
        return math.isnan(left) - math.isnan(right)
    return int(left > right) - int(left < right)


def compare_keys(left: Row, right: Row, descending: tuple[bool, ...]) -> int:
    """The order of two keys: that of the first column in which they differ, turned round where it descends."""
    for mine, theirs, reverse in zip(left, right, descending, strict=False):
        order = compare_values(mine, theirs)
        if order:
            return -order if reverse else order
    return 0


def compare_bytes(left: bytes, right: bytes) -> int:
    return (left > right) - (left < right)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    types: tuple[Type, ...]
    descending: tuple[bool, ...]

    @property
    def codec(self) -> KeyCodec:
        return KeyCodec(range(len(self.types)), self.types, self.descending)


def neighbours(cell: Cell, type: Type) -> list[Cell]:
    """The values right beside a cell, where an order breaks first."""
    match type.kind:
        case Kind.STRING:
            assert isinstance(cell, str)
            return [cell + "\0", cell + "\x01", cell + "a", cell[:-1]]
        case Kind.BINARY:
            assert isinstance(cell, bytes)
            return [cell + b"\0", cell + b"\x01", cell + b"\xff", cell[:-1]]
        case Kind.DOUBLE:
            assert isinstance(cell, float)
            return [math.nextafter(cell, math.inf), math.nextafter(cell, -math.inf), -cell]
        case Kind.BOOLEAN:
            return [not cell]
        case _:
            assert isinstance(cell, int)
            lowest, highest = min(edge_cells(type)), max(edge_cells(type))  # type: ignore[type-var]
            return [near for near in (cell - 1, cell + 1, -cell) if lowest <= near <= highest]  # type: ignore[operator]


@st.composite
def pools(draw: st.DrawFn, type: Type) -> list[Cell]:
    """A few values of one column, some side by side; keys built from pools share prefixes and tie often."""
    cell = draw(cells(type))
    others = draw(st.lists(cells(type, nullable=True), max_size=2))
    return [None, cell, *others, *draw(st.lists(st.sampled_from(neighbours(cell, type)), max_size=2))]


shapes = st.lists(st.tuples(types(), st.booleans()), min_size=1, max_size=4).map(
    lambda parts: Shape(types=tuple(type for type, _ in parts), descending=tuple(reverse for _, reverse in parts))
)


@st.composite
def shapes_and_keys(draw: st.DrawFn) -> tuple[Shape, list[Row]]:
    shape = draw(shapes)
    columns = [draw(pools(type)) for type in shape.types]
    key = st.tuples(*(st.sampled_from(column) for column in columns))
    return shape, draw(st.lists(key, min_size=2, max_size=8))


@given(shapes_and_keys())
@settings(max_examples=5 * settings().max_examples)
@example((Shape(types=(STRING, INT), descending=(False, False)), [("a", 1), ("a\0", 0), ("a", None), ("", 5)]))
@example((Shape(types=(BINARY, INT), descending=(True, False)), [(b"a", 1), (b"a\0", 0), (b"a\xff", 0), (None, 0)]))
@example((Shape(types=(DOUBLE, DOUBLE), descending=(False, True)), [(0.0, -0.0), (-0.0, 0.0), (math.nan, None)]))
def test_order_of_codes_is_order_of_values(shape_and_keys: tuple[Shape, list[Row]]) -> None:
    shape, keys = shape_and_keys
    encode_key = shape.codec.encode_key
    for left in keys:
        for right in keys:
            expected = compare_keys(left, right, shape.descending)
            assert compare_bytes(encode_key(left), encode_key(right)) == expected, (left, right)


@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
@pytest.mark.parametrize("type", EVERY_TYPE, ids=str)
def test_every_two_edge_values_of_a_type_keep_their_order(type: Type, descending: bool) -> None:
    codec = KeyCodec([0], [type], [descending])
    every = [None, *edge_cells(type)]
    for left in every:
        for right in every:
            expected = compare_keys((left,), (right,), (descending,))
            assert compare_bytes(codec.encode_key((left,)), codec.encode_key((right,))) == expected, (left, right)


@given(shapes_and_keys())
def test_sorting_codes_sorts_keys(shape_and_keys: tuple[Shape, list[Row]]) -> None:
    shape, keys = shape_and_keys
    encode_key = shape.codec.encode_key

    def compare(left: Row, right: Row) -> int:
        return compare_keys(left, right, shape.descending)

    by_value = sorted(keys, key=cmp_to_key(compare))
    assert [encode_key(key) for key in by_value] == sorted(encode_key(key) for key in keys)


@given(shapes_and_keys(), st.integers(0, 4))
def test_keys_with_a_prefix_lie_between_it_and_its_end(shape_and_keys: tuple[Shape, list[Row]], size: int) -> None:
    shape, keys = shape_and_keys
    encode_key = shape.codec.encode_key
    prefix = keys[0][: min(size, len(shape.types))]
    lower, upper = encode_key(prefix), prefix_end(encode_key(prefix))
    assert (upper is None) == (prefix == ())
    for key in keys:
        code = encode_key(key)
        inside = lower <= code and (upper is None or code < upper)
        assert inside == (compare_keys(key, prefix, shape.descending) == 0), (key, prefix)


@given(shapes_and_keys())
def test_no_code_is_a_proper_prefix_of_another_of_its_width(shape_and_keys: tuple[Shape, list[Row]]) -> None:
    shape, keys = shape_and_keys
    encode_key = shape.codec.encode_key
    for width in range(1, len(shape.types) + 1):
        codes = {encode_key(key[:width]) for key in keys}
        assert not [(one, two) for one in codes for two in codes if one != two and two.startswith(one)]


@given(shapes_and_keys())
def test_null_is_first_ascending_and_last_descending(shape_and_keys: tuple[Shape, list[Row]]) -> None:
    shape, keys = shape_and_keys
    encode_key = shape.codec.encode_key
    for key in keys:
        for place, reverse in enumerate(shape.descending):
            if key[place] is not None:
                null, value = encode_key((*key[:place], None)), encode_key(key[: place + 1])
                assert (null > value) is reverse
                assert null != value


@pytest.mark.parametrize("negative_nan", [math.nan, -math.nan, math.copysign(math.nan, -1)])
def test_every_nan_has_one_code_above_infinity(negative_nan: float) -> None:
    assert sortable_double(negative_nan) == sortable_double(math.nan) > sortable_double(math.inf)


def test_timestamps_before_1970_sort_below_those_after() -> None:
    codec = KeyCodec([0], [TIMESTAMP])
    moments = [-(10**15), -1, 0, 1, 10**15]
    assert sorted(codec.encode_key((moment,)) for moment in moments) == [codec.encode_key((m,)) for m in moments]


def test_neighbours_stay_within_the_type() -> None:
    assert neighbours(2**63 - 1, BIGINT) == [2**63 - 2, -(2**63) + 1]
    assert neighbours(True, BOOLEAN) == [False]
