"""Anything that can be loaded, opened."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

import pyarrow as pa

from viewkeeper.errors import DiskError, WrongType
from viewkeeper.load.arrow_batches import blocks_of_batches, match_schema
from viewkeeper.load.bad import OnBad, short
from viewkeeper.load.batch import LoadBatch, even
from viewkeeper.load.block import Block, settle
from viewkeeper.load.csv_file import blocks_of_csv
from viewkeeper.load.jsonl import blocks_of_jsonl
from viewkeeper.load.meter import Meter
from viewkeeper.load.parquet import blocks_of_parquet
from viewkeeper.load.rows import blocks_of_rows
from viewkeeper.model.schema import Table

BATCH_ROWS = 10_000
FORMATS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".parquet")


class Source:
    """The rows of a source as batches that fit a table; iterated once.

    `name` is the file as it was given, empty for rows in memory. Its file is open until the last batch was taken, a bad
    row was raised, or `close` was called.
    """

    def __init__(self, name: str, blocks: Iterator[Block], batches: Iterator[LoadBatch], meter: Meter) -> None:
        self.name = name
        self._blocks = blocks
        self._batches = self._closing(batches)
        self._meter = meter

    def __iter__(self) -> Iterator[LoadBatch]:
        return self._batches

    def _closing(self, batches: Iterator[LoadBatch]) -> Iterator[LoadBatch]:
        # An error keeps its frames alive, and with them the generator that holds the file, for as long as it is kept.
        try:
            yield from batches
        finally:
            self.close()

    def close(self) -> None:
        """Close the file, if there is one; no more batches come."""
        if isinstance(self._blocks, Generator):
            self._blocks.close()

    def fraction(self) -> float | None:
        """How much of it has been read, from 0 to 1; None where the end is not known."""
        return self._meter.fraction()


def open_source(
    source: Any,
    table: Table,
    *,
    batch_rows: int = BATCH_ROWS,
    on_bad: OnBad | None = None,
    ignore_unknown: bool = False,
) -> Source:
    """Opens rows, Arrow data or a file for loading into a table.

    A source that cannot be one, or a file that is not there, is refused here; columns that do not match, before the
    first batch. Nothing is read ahead of the batch that is asked for, and no more held than that.

    Args:
        source: an iterable of dicts; a pyarrow Table, RecordBatch or RecordBatchReader, or anything else that gives
            Arrow batches, such as a pandas or polars data frame; or the path of a file in one of FORMATS.
        batch_rows: rows a batch; fewer where rows are large or, in .jsonl and dicts, give different columns.
        on_bad: called with each row that does not fit; without it the first such row is raised.
        ignore_unknown: leave out columns that the table does not have.
    """
    if batch_rows < 1:
        raise ValueError(f"batch_rows is {batch_rows}, which is below 1")
    name, meter = "", Meter()
    if isinstance(source, str | Path):
        name = str(source)
        blocks = _of_file(_checked(source), name, table, batch_rows, meter, ignore_unknown)
    elif isinstance(source, pa.Table | pa.RecordBatch):
        meter.total = source.num_rows
        batches = source.to_batches() if isinstance(source, pa.Table) else [source]
        blocks = _of_arrow(source.schema, batches, table, batch_rows, meter, ignore_unknown)
    elif hasattr(source, "__arrow_c_stream__"):
        reader = _reader(source)
        blocks = _of_arrow(reader.schema, reader, table, batch_rows, meter, ignore_unknown)
    elif isinstance(source, Iterable) and not isinstance(source, Mapping | bytes | bytearray):
        blocks = blocks_of_rows(source, table, batch_rows, ignore_unknown=ignore_unknown)
    else:
        raise WrongType(
            f"cannot load from {type(source).__name__} {short(source)}",
            hint=f"Pass a list of dicts, Arrow data, or the path of a file: {', '.join(FORMATS)}.",
        )
    settled = (batch for block in blocks if (batch := settle(block, table, on_bad)) is not None)
    return Source(name, blocks, even(settled, batch_rows), meter)


def _checked(path: str | Path) -> Path:
    file = Path(path)
    formats = f"Files that can be loaded are {', '.join(FORMATS)}."
    if file.is_dir():
        raise WrongType(f'"{path}" is a folder', hint=f"Name the files in it. {formats}")
    if not file.exists():
        raise DiskError(f'file "{path}" does not exist', hint=formats)
    if not file.name.lower().endswith(FORMATS):
        raise WrongType(f'"{path}" is none of the files that can be loaded', hint=formats)
    return file


def _of_file(path: Path, name: str, table: Table, size: int, meter: Meter, ignore_unknown: bool) -> Iterator[Block]:
    kind = path.name.lower()
    if kind.endswith(".parquet"):
        return blocks_of_parquet(path, name, table, size, meter, ignore_unknown=ignore_unknown)
    if kind.removesuffix(".gz").endswith(".csv"):
        return _streamed(path, name, meter, lambda s: blocks_of_csv(s, name, table, ignore_unknown=ignore_unknown))
    return _streamed(path, name, meter, lambda s: blocks_of_jsonl(s, name, table, size, ignore_unknown=ignore_unknown))


def _streamed(path: Path, name: str, meter: Meter, read: Callable[[BinaryIO], Iterator[Block]]) -> Iterator[Block]:
    try:
        with path.open("rb") as raw:
            meter.total, meter.tell = path.stat().st_size, lambda: meter.done if raw.closed else raw.tell()
            if path.suffix.lower() == ".gz":
                with gzip.open(raw) as unpacked:
                    yield from read(cast("BinaryIO", unpacked))
            else:
                yield from read(raw)
            meter.done = meter.total
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DiskError(f"{name} is not a whole gzip file", detail=f"{error}.") from None
    except OSError as error:
        raise DiskError(f"{name} cannot be read: {error.strerror}") from error


def _of_arrow(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], table: Table, size: int, meter: Meter, ignore_unknown: bool
) -> Iterator[Block]:
    target = match_schema(schema, table, "", ignore_unknown=ignore_unknown)
    for batch in batches:
        yield from blocks_of_batches([batch], target, "", size, meter.done + 1)
        meter.done += batch.num_rows


def _reader(source: Any) -> pa.RecordBatchReader:
    try:
        return pa.RecordBatchReader.from_stream(source)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise WrongType(f"cannot load from {type(source).__name__}", detail=f"{error}.") from None
