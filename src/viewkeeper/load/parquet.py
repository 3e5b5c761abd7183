"""Parquet files, a few megabytes of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from viewkeeper.errors import DiskError, WrongType
from viewkeeper.load.arrow_batches import blocks_of_batches, match_schema
from viewkeeper.load.block import Block
from viewkeeper.load.meter import Meter
from viewkeeper.load.target import match_columns
from viewkeeper.model.schema import Table

STRETCH_BYTES = 8 << 20
BUFFER_BYTES = 1 << 20


def blocks_of_parquet(
    path: Path, name: str, table: Table, size: int, meter: Meter, *, ignore_unknown: bool
) -> Iterator[Block]:
    """Blocks of at most `size` rows. A file is never read whole, nor is a row group."""
    try:
        # As they are by default, these two would hold whole columns of a row group before its first row comes.
        file = parquet.ParquetFile(path, pre_buffer=False, buffer_size=BUFFER_BYTES)
    except (pa.ArrowInvalid, OSError) as error:
        raise WrongType(f"{name} is not a Parquet file", detail=f"{error}.") from None
    with file:
        schema = file.schema_arrow
        filled = match_schema(schema, table, name, ignore_unknown=ignore_unknown)
        names = [schema.names[place] for place in sorted(filled.places)]
        target = match_columns(table, names, name)
        meter.total = file.metadata.num_rows
        try:
            for batch in file.iter_batches(batch_size=_stretch(file.metadata, size), columns=names):
                yield from blocks_of_batches([batch], target, name, size, meter.done + 1)
                meter.done += batch.num_rows
        except (pa.ArrowInvalid, OSError) as error:
            raise DiskError(f"{name} cannot be read behind row {meter.done:,}", detail=f"{error}.") from None


def _stretch(metadata: parquet.FileMetaData, most: int) -> int:
    """How many rows to read at a time, so that wide ones do not fill the memory."""
    size = sum(metadata.row_group(number).total_byte_size for number in range(metadata.num_row_groups))
    average: int = max(size // max(metadata.num_rows, 1), 1)
    return max(min(most, STRETCH_BYTES // average), 1)
