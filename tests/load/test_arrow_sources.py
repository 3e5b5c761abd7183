"""Arrow types that hold the same values are taken, others are refused before any row."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.load.reading import ORDERS, TAGS, rows_of, skipping
from viewkeeper.errors import BadDefinition, BadRow, MissingColumn, UnknownColumn, WrongType

TAKEN: list[tuple[str, pa.Array, Any]] = [
    ("OrderID", pa.array([7], pa.int8()), 7),
    ("OrderID", pa.array([7], pa.uint64()), 7),
    ("Pieces", pa.array([7], pa.int64()), 7),
    ("Weight", pa.array([0.5], pa.float32()), 0.5),
    ("Weight", pa.array([7], pa.int64()), 7.0),
    ("Price", pa.array([Decimal("1.500")], pa.decimal128(20, 3)), 150),
    ("Price", pa.array([Decimal("1.5")], pa.decimal256(40, 1)), 150),
    ("Price", pa.array([9.99], pa.float64()), 999),
    ("Price", pa.array([7], pa.int64()), 700),
    ("Note", pa.array(["a"]).dictionary_encode(), "a"),
    ("Note", pa.array(["a"], pa.large_string()), "a"),
    ("Note", pa.array(["a"], pa.string_view()), "a"),
    ("Note", pa.array([None], pa.null()), None),
    ("Label", pa.array([b"ab"], pa.binary(2)), b"ab"),
    ("Label", pa.array([b"ab"], pa.large_binary()), b"ab"),
    ("Label", pa.array([b"ab"], pa.binary_view()), b"ab"),
    ("Day", pa.array([date(1970, 1, 3)], pa.date64()), 2),
    ("At", pa.array([1], pa.timestamp("s")), 1_000_000),
    ("At", pa.array([1], pa.timestamp("ms", "Europe/Berlin")), 1_000),
    ("At", pa.array([-5_000], pa.timestamp("ns", "UTC")), -5),
    ("At", pa.array([datetime(1, 1, 1, tzinfo=UTC)], pa.timestamp("us", "+05:00")), -62_135_596_800_000_000),
]


def _with_key(column: str, array: pa.Array) -> pa.Table:
    columns = {} if column == "OrderID" else {"OrderID": pa.array(range(len(array)))}
    return pa.table(columns | {column: array})


@pytest.mark.parametrize(("column", "array", "cell"), TAKEN, ids=[f"{c} {a.type}" for c, a, _ in TAKEN])
def test_types_without_loss_are_taken(column: str, array: pa.Array, cell: Any) -> None:
    found = rows_of(_with_key(column, array), ORDERS)[0][column]
    assert (found, type(found)) == (cell, type(cell))


REFUSED: list[tuple[str, pa.DataType]] = [
    ("OrderID", pa.string()),
    ("OrderID", pa.float64()),
    ("OrderID", pa.decimal128(10)),
    ("OrderID", pa.timestamp("us")),
    ("Pieces", pa.bool_()),
    ("Price", pa.float32()),
    ("Price", pa.string()),
    ("Note", pa.binary()),
    ("Note", pa.int64()),
    ("Note", pa.list_(pa.string())),
    ("Note", pa.struct([("a", pa.string())])),
    ("Paid", pa.int8()),
    ("Weight", pa.decimal128(10, 2)),
    ("Label", pa.string()),
    ("Day", pa.timestamp("us")),
    ("Day", pa.string()),
    ("At", pa.date32()),
    ("At", pa.int64()),
    ("At", pa.time64("us")),
    ("Note", pa.dictionary(pa.int32(), pa.int64())),
]


@pytest.mark.parametrize(("column", "found"), REFUSED, ids=[f"{column} {found}" for column, found in REFUSED])
def test_other_types_are_refused_by_name_before_any_row(column: str, found: pa.DataType) -> None:
    kind = ORDERS.column(column).type
    schema = pa.schema({"OrderID": pa.int64()} | {column: found})
    reader = pa.RecordBatchReader.from_batches(schema, _never())
    with pytest.raises(WrongType) as caught:
        rows_of(reader, ORDERS)
    assert caught.value.message == f'the source, column "{column}": Arrow type {found} is not {kind}'
    assert "in Arrow" in caught.value.detail


def _never() -> Any:
    raise AssertionError("a batch was read")
    yield


LOSSY: list[tuple[str, pa.Array]] = [
    ("Pieces", pa.array([1, 2**31], pa.int64())),
    ("OrderID", pa.array([1, 2**63], pa.uint64())),
    ("Weight", pa.array([1, 2**53 + 1], pa.int64())),
    ("Price", pa.array([Decimal("1.500"), Decimal("1.505")], pa.decimal128(20, 3))),
    ("Price", pa.array([1.5, 1.505], pa.float64())),
    ("Price", pa.array([1, 10**9], pa.int64())),
    ("At", pa.array([1000, 1001], pa.timestamp("ns"))),
    ("At", pa.array([0, 2**60], pa.timestamp("s"))),
    ("At", pa.array([0, -(2**62)], pa.timestamp("us", "UTC"))),
    ("Day", pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32())),
    ("Day", pa.array([0, 5], pa.int64()).view(pa.date64())),
]


@pytest.mark.parametrize(("column", "array"), LOSSY, ids=[f"{column} {array.type}" for column, array in LOSSY])
def test_a_value_that_would_lose_something_is_a_bad_row(column: str, array: pa.Array) -> None:
    table = _with_key(column, array)
    with pytest.raises(BadRow, match=rf'^row 2, column "{column}": .* does not fit '):
        rows_of(table, ORDERS)
    rows, bad = skipping(table, ORDERS)
    assert (len(rows), [line.line_no for line in bad]) == (1, [2])


def test_a_decimal_with_more_digits_than_its_type_is_refused() -> None:
    wide = pa.array([Decimal(10**30)], pa.decimal128(38, 2))
    forged = pa.Array.from_buffers(pa.decimal128(10, 2), 1, wide.buffers())
    with pytest.raises(WrongType, match=r'column "Price" is not a valid Arrow array'):
        rows_of(_with_key("Price", forged), ORDERS)


def test_slices_of_larger_arrays_are_read_by_their_own_rows() -> None:
    table = pa.table({"OrderID": list(range(10)), "Note": [str(n) for n in range(10)]}).slice(4, 3)
    assert [(row["OrderID"], row["Note"]) for row in rows_of(table, ORDERS)] == [(4, "4"), (5, "5"), (6, "6")]


def test_columns_that_do_not_match_are_refused_before_any_row() -> None:
    with pytest.raises(UnknownColumn, match=r'the source has column "x"'):
        rows_of(pa.table({"OrderID": [1], "x": [2]}), ORDERS)
    with pytest.raises(MissingColumn, match=r'lacks "docId"'):
        rows_of(pa.table({"tag": ["a"]}), TAGS)
    with pytest.raises(BadDefinition, match="twice"):
        rows_of(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["OrderID", "orderid"]), ORDERS)
    assert rows_of(pa.table({"OrderID": [1], "x": [2]}), ORDERS, ignore_unknown=True) == [{"OrderID": 1}]
