"""A table with a column of every type, and what loading a source into it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from viewkeeper.load import BadLine, open_source
from viewkeeper.model.arrow import table_schema, to_cells
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Cell,
    decimal,
)

ORDERS = Table(
    name="Orders",
    columns=(
        Column(name="OrderID", type=BIGINT, nullable=False),
        Column(name="Note", type=STRING),
        Column(name="Price", type=decimal(10, 2)),
        Column(name="Paid", type=BOOLEAN),
        Column(name="Pieces", type=INT),
        Column(name="Weight", type=DOUBLE),
        Column(name="Label", type=BINARY),
        Column(name="Day", type=DATE),
        Column(name="At", type=TIMESTAMP),
    ),
    primary_key=("OrderID",),
)
"""One column of each type."""

TAGS = Table(
    name="Tags",
    columns=(
        Column(name="docId", type=BIGINT, nullable=False),
        Column(name="tag", type=STRING, nullable=False),
        Column(name="weight", type=INT),
        Column(name="author", type=STRING, nullable=False),
    ),
    primary_key=("docId", "tag"),
)
"""A key of two columns, and a column that is NOT NULL without being in the key."""


def rows_of(source: Any, table: Table, **options: Any) -> list[dict[str, Cell]]:
    """The rows as cells by column, with every promise about a batch checked on the way."""
    rows: list[dict[str, Cell]] = []
    for batch in open_source(source, table, **options):
        data = batch.data
        assert data.num_rows > 0
        data.validate(full=True)
        expected = {field.name: field.type for field in table_schema(table)}
        assert {field.name: field.type for field in data.schema} == {name: expected[name] for name in data.schema.names}
        assert set(table.primary_key) <= set(data.schema.names)
        columns = {name: to_cells(data.column(name), table.column(name).type) for name in data.schema.names}
        for name, cells in columns.items():
            assert None not in cells or (table.column(name).nullable and name not in table.primary_key)
        rows += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return rows


def places_of(source: Any, table: Table, **options: Any) -> list[str]:
    return [
        batch.origin.place(row) for batch in open_source(source, table, **options) for row in range(batch.data.num_rows)
    ]


def skipping(source: Any, table: Table, **options: Any) -> tuple[list[dict[str, Cell]], list[BadLine]]:
    bad: list[BadLine] = []
    return rows_of(source, table, on_bad=bad.append, **options), bad


def written(path: Path, data: str | bytes) -> Path:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path
