"""Random types, cells, tables and rows, with the values at which codecs break drawn often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import (
    BIGINT,
    BIGINT_MAX,
    BIGINT_MIN,
    BINARY,
    BOOLEAN,
    DATE,
    DATE_MAX,
    DATE_MIN,
    DOUBLE,
    INT,
    INT_MAX,
    INT_MIN,
    STRING,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Cell,
    Kind,
    Row,
    Type,
    decimal,
)

SIMPLE_TYPES = (BOOLEAN, INT, BIGINT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP)
EDGE_DECIMALS = (
    decimal(1, 0),
    decimal(1, 1),
    decimal(10, 2),
    decimal(18, 0),
    decimal(18, 18),
    decimal(19, 0),
    decimal(38, 0),
    decimal(38, 10),
    decimal(38, 38),
)
EVERY_TYPE = (*SIMPLE_TYPES, *EDGE_DECIMALS)
"""Each kind once, and DECIMAL on both sides of each of its limits: what a parametrized test runs over."""

DAY = 86_400_000_000

_EDGES: dict[Kind, tuple[Cell, ...]] = {
    Kind.BOOLEAN: (False, True),
    Kind.INT: (INT_MIN, INT_MIN + 1, -256, -1, 0, 1, 127, 128, 255, 256, INT_MAX - 1, INT_MAX),
    Kind.BIGINT: (BIGINT_MIN, BIGINT_MIN + 1, INT_MIN - 1, -1, 0, 1, 255, 256, INT_MAX + 1, BIGINT_MAX - 1, BIGINT_MAX),
    Kind.DOUBLE: (
        -math.inf,
        -1.7976931348623157e308,
        -1.0,
        -2.2250738585072014e-308,
        -5e-324,
        -0.0,
        0.0,
        5e-324,
        2.2250738585072014e-308,
        1.0,
        float(2**53),
        1.7976931348623157e308,
        math.inf,
        math.nan,
        -math.nan,
    ),
    Kind.STRING: (
        "",
        "\0",
        "\0\0",
        "\0\x01",
        "\0\uffff",
        "\x01",
        "\x7f",
        "a",
        "a\0",
        "a\0\0",
        "a\0b",
        "a\x01",
        "ab",
        "é",
        "\ud7ff",
        "\ue000",
        "\uffff",
        "\U00010000",
        "\U0010ffff",
        "\U0010ffff\U0010ffff",
    ),
    Kind.BINARY: (
        b"",
        b"\0",
        b"\0\0",
        b"\0\x01",
        b"\0\xff",
        b"\x01",
        b"\xff",
        b"\xff\xff",
        b"a",
        b"a\0",
        b"a\0\xff",
        b"a\xff",
    ),
    Kind.DATE: (DATE_MIN, DATE_MIN + 1, -1, 0, 1, DATE_MAX - 1, DATE_MAX),
    Kind.TIMESTAMP: (TIMESTAMP_MIN, TIMESTAMP_MIN + 1, -DAY, -DAY - 1, -1, 0, 1, DAY, TIMESTAMP_MAX - 1, TIMESTAMP_MAX),
}


def edge_cells(type: Type) -> tuple[Cell, ...]:
    """The values of a type, as cells, at or beside a limit of it or of its codecs; no NULL."""
    if type.kind is not Kind.DECIMAL:
        return _EDGES[type.kind]
    most = 10**type.precision - 1
    words = (2**31, 2**63 - 1, 2**63, 2**64, 2**64 + 1, 2**96)
    kept = [word for word in words if word <= most]
    return (-most, 1 - most, *(-word for word in kept), -1, 0, 1, *kept, most - 1, most)


def decimals() -> st.SearchStrategy[Type]:
    """Any DECIMAL(p,s)."""
    return st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: decimal(p, s)))


def types() -> st.SearchStrategy[Type]:
    """Any column type; every second DECIMAL is at a limit."""
    return st.one_of(st.sampled_from(SIMPLE_TYPES), st.sampled_from(EDGE_DECIMALS), decimals())


def cells(type: Type, *, nullable: bool = False) -> st.SearchStrategy[Any]:
    """Cells of a type, the edges often; NULL too if `nullable`."""
    drawn = st.one_of(st.sampled_from(edge_cells(type)), _any_cell(type))
    return st.one_of(st.none(), drawn) if nullable else drawn


def _any_cell(type: Type) -> st.SearchStrategy[Any]:
    match type.kind:
        case Kind.BOOLEAN:
            return st.booleans()
        case Kind.INT:
            return st.integers(INT_MIN, INT_MAX)
        case Kind.BIGINT:
            return st.integers(BIGINT_MIN, BIGINT_MAX)
        case Kind.DOUBLE:
            return st.floats()
        case Kind.DECIMAL:
            return st.integers(1 - 10**type.precision, 10**type.precision - 1)
        case Kind.STRING:
            return st.text(st.characters(codec="utf-8"), max_size=12)
        case Kind.BINARY:
            return st.binary(max_size=12)
        case Kind.DATE:
            return st.integers(DATE_MIN, DATE_MAX)
        case Kind.TIMESTAMP:
            return st.integers(TIMESTAMP_MIN, TIMESTAMP_MAX)


@st.composite
def tables(draw: st.DrawFn, *, max_columns: int = 6, nullable: bool = True) -> Table:
    """A table of random columns whose primary key is 1 to 4 of them in any order.

    With `nullable` false every column is NOT NULL; else each is, or is not.
    """
    column_types = draw(st.lists(types(), min_size=1, max_size=max_columns))
    columns = tuple(
        Column(name=f"c{number}", type=type, nullable=nullable and draw(st.booleans()))
        for number, type in enumerate(column_types)
    )
    names = draw(st.permutations([column.name for column in columns]))
    width = draw(st.integers(1, min(4, len(names))))
    return Table(name="t", columns=columns, primary_key=tuple(names[:width]))


def rows(table: Table) -> st.SearchStrategy[Row]:
    """Rows that the table may hold: NULL only where a column takes it and is not in the key."""
    keys = set(table.key_ids)
    return st.tuples(
        *(
            cells(column.type, nullable=column.nullable and number not in keys)
            for number, column in enumerate(table.columns)
        )
    )


def tables_and_rows(*, max_columns: int = 6) -> st.SearchStrategy[tuple[Table, Row]]:
    return tables(max_columns=max_columns).flatmap(lambda table: st.tuples(st.just(table), rows(table)))


def same_cells(left: Sequence[Cell], right: Sequence[Cell]) -> bool:
    """Whether two rows are the same cells of the same Python types; NaN is NaN, and -0.0 is not 0.0."""
    return len(left) == len(right) and all(map(_same_cell, left, right))


def _same_cell(left: Cell, right: Cell) -> bool:
    if type(left) is not type(right):
        return False
    if isinstance(left, float) and isinstance(right, float):
        if math.isnan(left) or math.isnan(right):
            return math.isnan(left) and math.isnan(right)
        return left == right and math.copysign(1.0, left) == math.copysign(1.0, right)
    return left == right
