"""JSON lines: one object a line, its members the columns."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, BinaryIO

import msgspec

from viewkeeper.errors import BadRow
from viewkeeper.load.bad import Fault, not_text, short
from viewkeeper.load.block import Block, Lost
from viewkeeper.load.from_objects import from_json
from viewkeeper.load.rows import Grouping, Rows
from viewkeeper.model.schema import Table
from viewkeeper.model.types import Kind

BLOCK_BYTES = 4 << 20
LINE_BYTES = 64 << 20
"""A longer line is refused: it is more likely a file of another kind than a row."""

_BOM = b"\xef\xbb\xbf"


def blocks_of_jsonl(stream: BinaryIO, name: str, table: Table, size: int, *, ignore_unknown: bool) -> Iterator[Block]:
    """Blocks of at most `size` lines and some megabytes. Blank lines are passed over, and counted."""
    grouping = Grouping(table, name, "line", from_json, ignore_unknown)
    decimals = any(column.type.kind is Kind.DECIMAL for column in table.columns)
    decoder = msgspec.json.Decoder(float_hook=Decimal) if decimals else msgspec.json.Decoder()
    for first, lines in _stretches(stream, name, size):
        yield from grouping.blocks(_decoded(lines, first, decoder))


def _stretches(stream: BinaryIO, name: str, size: int) -> Iterator[tuple[int, list[bytes]]]:
    """Lines some at a time, with the number of the first."""
    number, first = 0, 1
    held = 0
    lines: list[bytes] = []
    while line := stream.readline(LINE_BYTES + 1):
        number += 1
        if len(line) > LINE_BYTES:
            raise BadRow(f"{name} line {number}: the line is longer than {LINE_BYTES >> 20} MB")
        lines.append(line.removeprefix(_BOM) if number == 1 else line)
        held += len(line)
        if len(lines) >= size or held >= BLOCK_BYTES:
            yield first, lines
            lines, held, first = [], 0, number + 1
    if lines:
        yield first, lines


def _decoded(lines: list[bytes], first: int, decoder: msgspec.json.Decoder[Any]) -> Rows:
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    lost: list[Lost] = []
    decode = decoder.decode
    for number, line in enumerate(lines, first):
        fault: Fault | None = None
        try:
            row = decode(line)
            if type(row) is dict:
                rows.append(row)
                numbers.append(number)
                continue
            fault = Fault(reason=f"the line is not a JSON object, found {short(row)}")
        except UnicodeDecodeError as error:
            fault = not_text(None, f"Byte 0x{error.object[error.start]:02x} starts no character.")
        except (msgspec.DecodeError, RecursionError, InvalidOperation) as error:
            if line.isspace():
                continue
            fault = Fault(reason="the line is not valid JSON", detail=f"{error}.")
        lost.append(Lost(number, fault, _text(line)))
    return Rows(rows, numbers, lambda place: _text(lines[numbers[place] - first]), lost)


def _text(line: bytes) -> str:
    return line.rstrip(b"\r\n").decode(errors="backslashreplace")
