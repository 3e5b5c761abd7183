"""What the key codec promises beside order: one code per key, whichever way it is reached, and bytes that stay."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import cells, same_cells, tables_and_rows, types
from viewkeeper.model.keycodec import KeyCodec, prefix_end
from viewkeeper.model.schema import Table
from viewkeeper.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Row,
    Type,
    decimal,
)

GOLDEN: list[tuple[Type, Any, str]] = [
    (BOOLEAN, None, "01"),
    (BOOLEAN, False, "02 00"),
    (BOOLEAN, True, "02 01"),
    (INT, -(2**31), "02 00000000"),
    (INT, -1, "02 7fffffff"),
    (INT, 0, "02 80000000"),
    (INT, 2**31 - 1, "02 ffffffff"),
    (BIGINT, -(2**63), "02 0000000000000000"),
    (BIGINT, 258, "02 8000000000000102"),
    (BIGINT, 2**63 - 1, "02 ffffffffffffffff"),
    (DOUBLE, float("-inf"), "02 000fffffffffffff"),
    (DOUBLE, -1.0, "02 400fffffffffffff"),
    (DOUBLE, -0.0, "02 8000000000000000"),
    (DOUBLE, 0.0, "02 8000000000000000"),
    (DOUBLE, 1.5, "02 bff8000000000000"),
    (DOUBLE, float("inf"), "02 fff0000000000000"),
    (DOUBLE, float("nan"), "02 fff8000000000000"),
    (decimal(18, 2), -1, "02 7fffffffffffffff"),
    (decimal(18, 2), 999_999_999_999_999_999, "02 8de0b6b3a763ffff"),
    (decimal(19, 2), -1, "02 7fffffffffffffffffffffffffffffff"),
    (decimal(38, 0), 10**38 - 1, "02 cb3b4ca85a86c47a098a223fffffffff"),
    (STRING, None, "01"),
    (STRING, "", "02 0001"),
    (STRING, "a\0é", "02 61 00ff c3a9 0001"),
    (STRING, "\U0010ffff", "02 f48fbfbf 0001"),
    (BINARY, b"\0\0\xff\x01", "02 00ff 00ff ff 01 0001"),
    (DATE, -719162, "02 7ff506c6"),
    (DATE, 19_723, "02 80004d0b"),
    (TIMESTAMP, -1, "02 7fffffffffffffff"),
    (TIMESTAMP, 1_704_067_200_000_000, "02 80060dd710212000"),
]


def inverted(code: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in code)


@pytest.mark.parametrize(("type", "cell", "code"), GOLDEN, ids=str)
def test_bytes_of_a_key_column_do_not_change(type: Type, cell: Any, code: str) -> None:
    """The format of docs/formats.md: databases hold these bytes, so no entry here may ever be edited."""
    assert KeyCodec([0], [type]).encode((cell,)) == bytes.fromhex(code)


@pytest.mark.parametrize(("type", "cell", "code"), GOLDEN, ids=str)
def test_descending_column_is_the_ascending_one_inverted(type: Type, cell: Any, code: str) -> None:
    assert KeyCodec([0], [type], [True]).encode((cell,)) == inverted(bytes.fromhex(code))


def test_bytes_of_a_mixed_key_do_not_change() -> None:
    codec = KeyCodec([2, 0, 3, 1], [STRING, INT, decimal(20, 0), DOUBLE], [False, True, True, False])
    whole = bytes.fromhex("02 78 0001fd 7ffffffafd 7ffffffffffffffffffffffffffffffa02 bff0000000000000")
    assert codec.encode((5, 1.0, "x", 5)) == whole
    holes = bytes.fromhex("01fd 7ffffffafe01")
    assert codec.encode((5, None, None, None)) == holes


@given(tables_and_rows(), st.data())
def test_code_of_a_row_is_code_of_its_key(table_and_row: tuple[Table, Row], data: st.DataObject) -> None:
    table, row = table_and_row
    key_types = [table.columns[column].type for column in table.key_ids]
    descending = data.draw(st.lists(st.booleans(), min_size=len(key_types), max_size=len(key_types)))
    codec = KeyCodec(table.key_ids, key_types, descending)
    key = codec.key_of(row)
    assert same_cells(key, [row[column] for column in table.key_ids])
    assert codec.encode(row) == codec.encode_key(key) == codec.encode_key(list(key))


@given(st.lists(types(), min_size=1, max_size=4), st.data())
def test_code_begins_with_the_codes_of_its_prefixes(shape: list[Type], data: st.DataObject) -> None:
    descending = [data.draw(st.booleans()) for _ in shape]
    key = tuple(data.draw(cells(type, nullable=True)) for type in shape)
    codec = KeyCodec(range(len(shape)), shape, descending)
    code = codec.encode_key(key)
    sizes = []
    for width in range(len(shape) + 1):
        prefix = codec.encode_key(key[:width])
        assert code.startswith(prefix)
        sizes.append(len(prefix))
    assert sizes[0] == 0
    assert sizes == sorted(set(sizes)), "every column adds bytes"


@given(st.lists(types(), min_size=1, max_size=4), st.data())
def test_a_null_column_leaves_the_code_of_the_others(shape: list[Type], data: st.DataObject) -> None:
    """The expression that knows NULL and the fast one give the same bytes for what is not NULL."""
    descending = [data.draw(st.booleans()) for _ in shape]
    key = tuple(data.draw(cells(type, nullable=True)) for type in shape)
    codec = KeyCodec(range(len(shape)), shape, descending)
    columns = zip(shape, descending, key, strict=True)
    alone = [KeyCodec([0], [type], [reverse]).encode((cell,)) for type, reverse, cell in columns]
    assert codec.encode_key(key) == b"".join(alone)


@given(st.binary(max_size=6), st.binary(max_size=6))
def test_prefix_end_is_above_just_what_begins_with_the_prefix(prefix: bytes, other: bytes) -> None:
    end = prefix_end(prefix)
    for key in (other, prefix + other, prefix):
        below_end = end is None or key < end
        assert (key >= prefix and below_end) == key.startswith(prefix)


def test_prefix_end_of_nothing_or_of_only_ff_is_none() -> None:
    assert [prefix_end(prefix) for prefix in (b"", b"\xff", b"\xff\xff")] == [None, None, None]
    assert [prefix_end(prefix) for prefix in (b"\0", b"a\xff\xff", b"\xfe\xff")] == [b"\x01", b"b", b"\xff"]


def test_codec_of_uneven_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="differ in number"):
        KeyCodec([0, 1], [INT])
    with pytest.raises(ValueError, match="differ in number"):
        KeyCodec([0], [INT], [True, False])


def test_key_longer_than_the_shape_is_refused() -> None:
    with pytest.raises(IndexError):
        KeyCodec([0], [INT]).encode_key((1, 2))


@pytest.mark.parametrize(("type", "cell"), [(INT, 2**31), (INT, -(2**31) - 1), (BIGINT, 2**63), (BOOLEAN, 256)])
def test_cell_outside_its_type_is_refused_not_wrapped(type: Type, cell: int) -> None:
    for descending in (False, True):
        with pytest.raises(struct.error):
            KeyCodec([0], [type], [descending]).encode((cell,))


def test_wide_decimal_outside_128_bits_is_refused_not_wrapped() -> None:
    with pytest.raises(OverflowError):
        KeyCodec([0], [decimal(38, 0)]).encode((2**127,))


def test_keys_order_by_code_point_not_by_utf_16() -> None:
    encode = KeyCodec([0], [STRING]).encode
    assert encode(("\uffff",)) < encode(("\U00010000",))


def test_directions_default_to_ascending() -> None:
    codec = KeyCodec([1, 0], [INT, INT])
    assert codec.descending == (False, False)
    assert codec.encode((1, 2)) < codec.encode((0, 3))
