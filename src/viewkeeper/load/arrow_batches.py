"""Arrow batches from memory and from Parquet files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from viewkeeper.load.batch import Origin
from viewkeeper.load.block import Block
from viewkeeper.load.from_arrow import check_type, from_arrow
from viewkeeper.load.target import Target, match_columns
from viewkeeper.model.schema import Table


def match_schema(schema: pa.Schema, table: Table, name: str, *, ignore_unknown: bool) -> Target:
    """The columns that are filled. UnknownColumn, MissingColumn or WrongType before any row is read."""
    source = name or "the source"
    target = match_columns(table, schema.names, source, ignore_unknown=ignore_unknown)
    for column, place in zip(target.columns, target.places, strict=True):
        check_type(schema.field(place).type, column, source)
    return target


def blocks_of_batches(
    batches: Iterable[pa.RecordBatch], target: Target, name: str, size: int, first: int = 1
) -> Iterator[Block]:
    """Blocks of at most `size` rows; rows are counted from `first`."""
    for batch in batches:
        for start in range(0, batch.num_rows, size):
            yield _block(batch.slice(start, size), target, name, first + start)
        first += batch.num_rows


def _block(batch: pa.RecordBatch, target: Target, name: str, first: int) -> Block:
    return Block(
        columns=target.columns,
        converted=[
            from_arrow(batch.column(place), column) for column, place in zip(target.columns, target.places, strict=True)
        ],
        origin=Origin(name, "row", lambda row: first + row),
        raw=lambda row: _shown(batch, row),
    )


def _shown(batch: pa.RecordBatch, row: int) -> str:
    values = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            text = repr(column[row].as_py())
        except (ValueError, OverflowError):
            # Moments that Python cannot hold and bytes that are no text, as Arrow prints them.
            text = column.slice(row, 1).to_string().strip("[] \n")
        values.append(f"{name!r}: {text}")
    return "{" + ", ".join(values) + "}"
