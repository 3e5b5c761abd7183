"""CSV files: the first line names the columns, an empty value is NULL and an empty quoted one is an empty text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from viewkeeper.errors import BadRow, BadText
from viewkeeper.load.bad import Fault
from viewkeeper.load.batch import Origin
from viewkeeper.load.block import Block, Converted, Lost
from viewkeeper.load.csv_records import Record, Segment, Unclosed, fields, line_ends, segments
from viewkeeper.load.from_text import decode, from_text
from viewkeeper.load.target import Target, match_columns
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import Kind

_NOT_EMPTY = {Kind.STRING, Kind.BINARY}
"""Types of which an empty quoted text is a value; of the others it is NULL."""


def blocks_of_csv(stream: BinaryIO, name: str, table: Table, *, ignore_unknown: bool) -> Iterator[Block]:
    """Blocks of about a megabyte of file each. Blank lines are passed over, and counted."""
    pieces = segments(stream, name)
    for first in pieces:
        # Not by `records`, which would look for every record of the segment.
        head = next(first.walk(), None) if isinstance(first, Segment) else None
        if head is not None:
            break
    else:
        raise BadRow(f"{name} has no first line that names the columns")
    assert isinstance(first, Segment)
    names = _names(first, head, name)
    target = match_columns(table, names, name, ignore_unknown=ignore_unknown)
    after = Segment(first.data[head.end :], first.line + line_ends(first.data, 0, head.end))
    if after.data:
        yield _block(after, name, len(names), target)
    for piece in pieces:
        if isinstance(piece, Segment):
            yield _block(piece, name, len(names), target)
        else:
            yield _unclosed(piece, name)


def _names(segment: Segment, head: Record, name: str) -> list[str]:
    try:
        return [value.decode().strip() for value in fields(segment.data[head.start : head.end])]
    except UnicodeDecodeError as error:
        raise BadText(
            f"{name} line {head.line}: the names of the columns are not valid UTF-8",
            detail=f"Found byte 0x{error.object[error.start]:02x}.",
            hint="Convert the file to UTF-8.",
        ) from None


def _block(segment: Segment, name: str, width: int, target: Target) -> Block:
    lost: list[Lost] = []
    try:
        values = _parse(segment.data, width, target)
    except pa.ArrowInvalid:
        segment, lost = _well_formed(segment, width)
        values = _parse(segment.data, width, target)
    converted = [_convert(array, column) for array, column in zip(values, target.columns, strict=True)]
    return Block(
        columns=target.columns,
        converted=converted,
        origin=Origin(name, "line", lambda row: segment.records[row].line),
        raw=lambda row: segment.text(segment.records[row]),
        lost=lost,
    )


def _parse(data: bytes, width: int, target: Target) -> list[pa.Array]:
    """The values of the target's columns as bytes. ArrowInvalid if a record has not `width` values."""
    if not data:
        return [pa.array([], pa.binary()) for _ in target.places]
    names = [str(place) for place in range(width)]
    parsed = csv.read_csv(
        pa.BufferReader(data),
        # One block, and no threads: the file is already cut, and the store's writer wants the other core.
        read_options=csv.ReadOptions(column_names=names, block_size=len(data) + 1, use_threads=False),
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(
            # Bytes, since a text that is not UTF-8 would fail the whole block.
            column_types=dict.fromkeys(names, pa.binary()),
            include_columns=[str(place) for place in target.places],
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return [column.combine_chunks() for column in parsed.columns]


def _convert(raw: pa.Array, column: Column) -> Converted:
    texts, undecoded = decode(raw, column.name)
    if column.type.kind not in _NOT_EMPTY:
        empty = pc.equal(pc.binary_length(texts), 0)
        if pc.any(empty).as_py():
            texts = pc.if_else(empty, None, texts)
    array, unparsed = from_text(texts, column)
    return array, undecoded | unparsed


class _Kept(Segment):
    """What is left of a segment: its data has lost records, so theirs cannot be counted from it."""

    def __init__(self, data: bytes, records: list[Record]) -> None:
        super().__init__(data, 0)
        self.__dict__["records"] = records


def _well_formed(segment: Segment, width: int) -> tuple[Segment, list[Lost]]:
    """The segment without the records that have not `width` values, and those."""
    pieces: list[bytes] = []
    kept: list[Record] = []
    lost: list[Lost] = []
    size = 0
    for record in segment.records:
        data = segment.data[record.start : record.end]
        found = len(fields(data))
        if found == width:
            kept.append(Record(size, size + len(data), record.line))
            pieces.append(data)
            size += len(data)
        else:
            reason = f"{found} {'value' if found == 1 else 'values'}, expected {width}"
            fault = Fault(reason=reason, hint="Quote values that hold commas or quotes.")
            lost.append(Lost(record.line, fault, segment.text(record)))
    return _Kept(b"".join(pieces), kept), lost


def _unclosed(rest: Unclosed, name: str) -> Block:
    fault = Fault(
        reason="a quote is opened and never closed",
        detail="Everything from this line to the end of the file belongs to one value.",
    )
    lost = Lost(rest.line, fault, rest.data.decode(errors="backslashreplace"))
    return Block(
        columns=(), converted=[], origin=Origin(name, "line", lambda _: rest.line), raw=lambda _: "", lost=[lost]
    )
