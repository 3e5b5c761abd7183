"""Where the records of a CSV file begin and end.

    file    := record*                                     the last line end may be missing
    record  := field (',' field)* end
    field   := '"' (any byte but '"' | '""')* '"' plain*    a quote counts only where the field begins
             | plain*                                      not beginning with '"'
    plain   := any byte but ',', CR, LF
    end     := CR LF | LF | CR

This is how Arrow's parser reads, which does the work; but Arrow tells neither lines nor a quote that is never closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import BinaryIO

from viewkeeper.errors import BadRow

BLOCK_BYTES = 1 << 20
RECORD_BYTES = 64 << 20
"""A longer record is refused: it is more likely a quote that was never closed, and the rest of the file with it."""

_QUOTED = rb'"[^"]*+(?:""[^"]*+)*+"'
_FIELD = rb"(?>" + _QUOTED + rb'[^,\r\n]*+|(?!")[^,\r\n]*+)'
_VALUES = rb"(?>" + _FIELD + rb",)*+" + _FIELD
_one_field = re.compile(rb"(" + _FIELD + rb")(?:,|\r\n|\n|\r|\Z)")
_one_record = re.compile(_VALUES + rb"(?>\r\n|\n|\r)")
# A CR at the very end may be the first half of a line end whose LF has not been read yet.
_many_records = re.compile(rb"(?>" + _VALUES + rb"(?>\r\n|\n|\r(?!\Z)))*+")
_END = b"\r\n"


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a segment: data[start:end] with its line end, beginning in this line of the file."""

    start: int
    end: int
    line: int


@dataclass(frozen=True)
class Segment:
    """Whole records, and the line of the file that the first one begins in."""

    data: bytes
    line: int

    @cached_property
    def records(self) -> list[Record]:
        """The records that are not blank, as Arrow counts them. Found only when a line number is asked for."""
        return list(self.walk())

    def walk(self) -> Iterator[Record]:
        line = self.line
        for found in _one_record.finditer(self.data):
            start, end = found.span()
            if self.data[start] not in _END:
                yield Record(start, end, line)
            line += line_ends(self.data, start, end)

    def text(self, record: Record) -> str:
        return self.data[record.start : record.end].rstrip(_END).decode(errors="backslashreplace")


@dataclass(frozen=True, slots=True)
class Unclosed:
    """The end of a file behind a quote that is never closed."""

    data: bytes
    line: int


def line_ends(data: bytes, start: int = 0, end: int | None = None) -> int:
    """How many lines end in data[start:end]; CR LF is one end."""
    last = len(data) if end is None else end
    returns = data.count(b"\r", start, last)
    ends = data.count(b"\n", start, last)
    return ends + returns - data.count(b"\r\n", start, last) if returns else ends


def fields(record: bytes) -> list[bytes]:
    """The values of one record, quotes taken off.

    >>> fields(b'1,"a ""b"",",c\\r\\n')
    [b'1', b'a "b",', b'c']
    """
    values: list[bytes] = []
    place, text = 0, record.rstrip(_END)
    while True:
        found = _one_field.match(text, place)
        if found is None:
            return [*values, text[place:]]
        values.append(_unquoted(found[1]))
        place = found.end()
        if found.end() == found.end(1):
            return values


def _unquoted(field: bytes) -> bytes:
    if not field.startswith(b'"'):
        return field
    close = re.match(_QUOTED, field)
    if close is None:
        return field
    return field[1 : close.end() - 1].replace(b'""', b'"') + field[close.end() :]


def segments(
    stream: BinaryIO, name: str, size: int = BLOCK_BYTES, longest: int = RECORD_BYTES
) -> Iterator[Segment | Unclosed]:
    """The file cut between records, about `size` bytes a piece."""
    held = stream.read(size).removeprefix(b"\xef\xbb\xbf")
    line, want = 1, size
    while held:
        end = _last_end(held)
        if end:
            yield Segment(held[:end], line)
            line += line_ends(held, 0, end)
            held, want = held[end:], size
        elif len(held) > longest:
            raise BadRow(
                f"{name} line {line}: the record is longer than {longest >> 20} MB",
                hint="A quote is likely opened here and never closed.",
            )
        more = stream.read(want)
        if more:
            held += more
            # Doubled, so that a long record is not looked through once a megabyte.
            want = len(held)
        elif held:
            # Also makes a CR LF of a CR that the file ends with.
            last = held + b"\n"
            end = _last_end(last)
            if end:
                yield Segment(last[:end], line)
                line += line_ends(last, 0, end)
            if end < len(last):
                yield Unclosed(held[end:], line)
            return
        else:
            return


def _last_end(data: bytes) -> int:
    """The end of the last whole record in the data, 0 if there is none."""
    if b'"' not in data:
        end = data.rfind(b"\n") + 1
        if end:
            return end
    found = _many_records.match(data)
    return found.end() if found is not None else 0
