"""Rows straight to bytes: the same bytes as by the long way, and never one that the long way refuses."""

from __future__ import annotations

import math
from collections import OrderedDict
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.strategies import tables, tables_and_rows
from viewkeeper.errors import ViewkeeperError
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Row, decimal
from viewkeeper.model.wholerow import SMALL_ROW


def long_way(codec: RowCodec, given: Any) -> tuple[bytes, bytes] | None:
    """Key and bytes by `merge` and `whole`; None if they refuse the row."""
    try:
        row = codec.whole(codec.merge(given))
    except ViewkeeperError:
        return None
    return codec.key.encode(row), codec.encode(row)


@given(tables_and_rows())
def test_shown_row_has_the_bytes_of_the_long_way(table_and_row: tuple[Table, Row]) -> None:
    table, row = table_and_row
    codec = RowCodec(table)
    shown = codec.to_dict(row)
    assert codec.ready(shown) == long_way(codec, shown) != None  # noqa: E711 - said of both


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**6), 10**6),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.decimals(),
    st.decimals(-1000, 1000, places=2),
    st.dates(),
    st.datetimes(),
    st.sampled_from(["\ud800", bytearray(b"a"), memoryview(b"b"), [], object]),
)


@settings(max_examples=500)
@given(tables(), st.data())
def test_any_values_have_the_bytes_of_the_long_way_or_are_left_to_it(table: Table, data: st.DataObject) -> None:
    codec = RowCodec(table)
    given = {name: data.draw(ODD) for name in table.column_names}
    assert codec.ready(given) in (None, long_way(codec, given))


@settings(max_examples=1000)
@given(st.integers(1, 38).flatmap(lambda p: st.tuples(st.just(p), st.integers(0, p))), st.data())
def test_float_is_the_decimal_of_its_text(size: tuple[int, int], data: st.DataObject) -> None:
    precision, scale = size
    codec = RowCodec(table_of(decimal(precision, scale)))
    digits = st.integers(-(10 ** min(precision, 17)), 10 ** min(precision, 17))
    value = data.draw(st.one_of(st.floats(), digits.map(lambda number: number / 10**scale)))
    given = {"id": 1, "c0": value}
    assert codec.ready(given) == long_way(codec, given)


def table_of(*types: Any) -> Table:
    others = [Column(name=f"c{number}", type=type) for number, type in enumerate(types)]
    columns = (Column(name="id", type=BIGINT, nullable=False), *others)
    return Table(name="t", columns=columns, primary_key=("id",))


COMMON = table_of(INT, DOUBLE, STRING, BOOLEAN, decimal(10, 2), DATE, TIMESTAMP)
ROW = {
    "id": 1,
    "c0": -5,
    "c1": math.inf,
    "c2": "é",
    "c3": True,
    "c4": 9.99,
    "c5": date(2024, 1, 1),
    "c6": datetime(2024, 1, 1, tzinfo=UTC),
}


@pytest.mark.parametrize(
    "change",
    [{}, {"c4": Decimal("9.99")}, {"c4": 7}, {"c0": None, "c1": None, "c2": None}, {"c1": 3}, {"c4": -0.0}],
    ids=str,
)
def test_common_rows_are_not_left_to_the_long_way(change: dict[str, Any]) -> None:
    codec = RowCodec(COMMON)
    assert codec.ready({**ROW, **change}) == long_way(codec, {**ROW, **change}) is not None


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        MappingProxyType(ROW),
        OrderedDict(ROW),
        {name: value for name, value in ROW.items() if name != "c0"},
        {**ROW, "more": 1},
        {("ID" if name == "id" else name): value for name, value in ROW.items()},
        {**ROW, "id": None},
        {**ROW, "id": True},
        {**ROW, "id": 2**63},
        {**ROW, "c0": 2**31},
        {**ROW, "c2": "\ud800"},
        {**ROW, "c2": "x" * SMALL_ROW},
        {**ROW, "c4": 9.999},
        {**ROW, "c4": math.nan},
    ],
)
def test_what_takes_a_closer_look_is_left_to_the_long_way(given: Any) -> None:
    assert RowCodec(COMMON).ready(given) is None


def test_null_where_there_must_be_a_value_is_left_to_the_long_way() -> None:
    columns = (Column(name="id", type=INT, nullable=False), Column(name="a", type=INT, nullable=False))
    codec = RowCodec(Table(name="t", columns=columns, primary_key=("id",)))
    assert codec.ready({"id": 1, "a": None}) is None
    assert codec.ready({"id": 1, "a": 2}) is not None


def test_names_of_columns_are_never_code() -> None:
    names = ["'", '"', "\\", "{0}", "a b", "row", "None", "): 1}", "\n", "é", "c1"]
    columns = tuple(Column(name=name, type=DATE) for name in names)
    codec = RowCodec(Table(name="t", columns=columns, primary_key=("'",)))
    given = dict.fromkeys(names, date(1970, 1, 1))
    assert codec.ready(given) == long_way(codec, given) is not None
