"""The block: what the log keeps of one transaction.

    block    := header section*
    header   := version 1 (1) padding (5) sections (u16) transaction id (u64)
    section  := kind (1) 0 (1) columns (u16) table (u32) changes (u32) length of body (u32) body padding
    body     := kind 1, rows:     msgpack [[before, after], …]; each a row of rowcodec.py, or nil for absent
              | kind 2, columnar: length before (u32) length after (u32) ops padding batch batch
    ops      := one byte a change: 1 insert, 2 delete, 3 update
    batch    := Arrow IPC record batch message of the rows before (of ops 2 and 3), then after (of ops 1 and 3),
                in the order of the changes; its schema is the first `columns` columns of the table

Integers big-endian, padding to a multiple of 8 bytes. A section holds the net changes of one table, one a key.
The key of a change is in its rows. Batches spare the reader a Python object per value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from viewkeeper.errors import StoreDamaged
from viewkeeper.model.rowcodec import RowCodec, widen
from viewkeeper.model.types import Row
from viewkeeper.store.environment import damaged, explained

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
ROWS, COLUMNAR = 1, 2
INSERT, DELETE, UPDATE = 1, 2, 3
COLUMNAR_FROM = 64
"""Changes of one table in one transaction from which a section is columnar."""

_HEADER = struct.Struct(">B5xHQ")
_SECTION = struct.Struct(">BxHIII")
_ROW_BLOCK = struct.Struct(_HEADER.format + _SECTION.format[1:])
_LENGTHS = struct.Struct(">II")
_unpack = msgspec.msgpack.Decoder(list[tuple[tuple | None, tuple | None]]).decode  # type: ignore[type-arg]

RawChange = tuple[bytes | None, bytes | None]
"""A change as the encoded rows before and after."""
RowPair = tuple[Row | None, Row | None]


_PADDING = [bytes(-size % 8) for size in range(8)]


def _padding(size: int) -> bytes:
    return _PADDING[size % 8]


def encode_block(transaction: int, sections: Sequence[bytes]) -> bytes:
    return _HEADER.pack(VERSION, len(sections), transaction) + b"".join(sections)


def encode_row_block(transaction: int, codec: RowCodec, before: bytes | None, after: bytes | None) -> bytes:
    """The block of a transaction with a single change: what `encode_block` and `encode_section` would make of it."""
    body = b"\x91\x92" + (before or b"\xc0") + (after or b"\xc0")
    size = len(body)
    head = _ROW_BLOCK.pack(VERSION, 1, transaction, ROWS, len(codec.names), codec.table.id, 1, size)
    return head + body + _PADDING[size % 8]


def encode_section(codec: RowCodec, changes: Sequence[RawChange]) -> bytes:
    """A section of these changes; columnar from COLUMNAR_FROM changes on."""
    if len(changes) >= COLUMNAR_FROM:
        return _columnar_from_rows(codec, changes)
    size = len(changes)
    head = bytes([0x90 | size]) if size < 16 else b"\xdc" + size.to_bytes(2, "big")
    pieces = [head]
    for before, after in changes:
        pieces.append(b"\x92")
        pieces.append(b"\xc0" if before is None else before)
        pieces.append(b"\xc0" if after is None else after)
    return _section(ROWS, codec, size, b"".join(pieces))


def _section(kind: int, codec: RowCodec, changes: int, body: bytes) -> bytes:
    columns = len(codec.names)
    return _SECTION.pack(kind, columns, codec.table.id, changes, len(body)) + body + _padding(len(body))


def _columnar_from_rows(codec: RowCodec, changes: Sequence[RawChange]) -> bytes:
    decode = codec.decode
    befores = [decode(before) for before, _ in changes if before is not None]
    afters = [decode(after) for _, after in changes if after is not None]
    ops = bytes(INSERT if before is None else DELETE if after is None else UPDATE for before, after in changes)
    return columnar_section(codec, ops, _batch(codec, befores), _batch(codec, afters))


def _batch(codec: RowCodec, rows: list[Row]) -> pa.RecordBatch | None:
    if not rows:
        return None
    import pyarrow as pa

    from viewkeeper.model.arrow import from_cells, table_schema

    columns = zip(*rows, strict=True)
    arrays = [from_cells(cells, column.type) for cells, column in zip(columns, codec.table.columns, strict=True)]
    return pa.record_batch(arrays, schema=table_schema(codec.table))


def columnar_section(codec: RowCodec, ops: bytes, before: pa.RecordBatch | None, after: pa.RecordBatch | None) -> bytes:
    """A columnar section of batches with all columns of the table, in its order."""
    old = b"" if before is None else before.serialize().to_pybytes()
    new = b"" if after is None else after.serialize().to_pybytes()
    body = b"".join(
        [_LENGTHS.pack(len(old), len(new)), ops, _padding(len(ops)), old, _padding(len(old)), new, _padding(len(new))]
    )
    return _section(COLUMNAR, codec, len(ops), body)


@dataclass(frozen=True, slots=True)
class Section:
    """The changes of one table in one block, still encoded; the first is `first` places behind the block's start."""

    kind: int
    columns: int
    table: int
    changes: int
    first: int
    body: bytes

    @explained
    def pairs(self, codec: RowCodec) -> list[RowPair]:
        """The rows before and after of each change, as whole rows of the table as it is now."""
        if self.kind == ROWS:
            return self._row_pairs(codec)
        ops, before, after = self.checked_batches(codec)
        old, new = iter(_rows(before, codec)), iter(_rows(after, codec))
        pairs: list[RowPair] = [
            (None if op == INSERT else next(old), None if op == DELETE else next(new)) for op in ops
        ]
        return pairs

    def checked_batches(self, codec: RowCodec) -> tuple[bytes, pa.RecordBatch | None, pa.RecordBatch | None]:
        """As `batches`; StoreDamaged where Arrow would follow offsets that lead out of the block."""
        import pyarrow as pa

        try:
            ops, before, after = self.batches(codec)
            for batch, absent in ((before, INSERT), (after, DELETE)):
                if batch is not None:
                    batch.validate(full=True)
                if (0 if batch is None else len(batch)) != self.changes - ops.count(absent):
                    raise pa.ArrowInvalid("a block has more changes than rows")
        except pa.ArrowException as error:
            raise damaged(error) from error
        return ops, before, after

    def _row_pairs(self, codec: RowCodec) -> list[RowPair]:
        pairs: list[RowPair] = _unpack(self.body)
        width = len(codec.names)
        wide = [number for number, column in enumerate(codec.table.columns) if column.type.is_wide]
        # Rows may be shorter even than the block's table was: they were written before a column came.
        if not wide and all(_is_whole(before, width) and _is_whole(after, width) for before, after in pairs):
            return pairs
        return [(_complete(before, width, wide), _complete(after, width, wide)) for before, after in pairs]

    def batches(self, codec: RowCodec) -> tuple[bytes, pa.RecordBatch | None, pa.RecordBatch | None]:
        """Ops, rows before and rows after of a columnar section, with the columns that the table had then."""
        import pyarrow as pa

        from viewkeeper.model.arrow import arrow_schema

        old, new = _LENGTHS.unpack_from(self.body)
        at = _LENGTHS.size
        ops = self.body[at : at + self.changes]
        at += self.changes + (-self.changes % 8)
        schema = arrow_schema(codec.table.columns[: self.columns])
        data = pa.py_buffer(self.body)
        before = pa.ipc.read_record_batch(data.slice(at, old), schema) if old else None
        at += old + (-old % 8)
        after = pa.ipc.read_record_batch(data.slice(at, new), schema) if new else None
        return ops, before, after


def _is_whole(row: Row | None, width: int) -> bool:
    return row is None or len(row) == width


def _complete(row: Row | None, width: int, wide: list[int]) -> Row | None:
    if row is None:
        return None
    if len(row) < width:
        row = row + (None,) * (width - len(row))
    return widen(row, wide) if wide else row


def _rows(batch: pa.RecordBatch | None, codec: RowCodec) -> Iterator[Row]:
    if batch is None:
        return iter(())
    from viewkeeper.model.arrow import to_cells

    columns: list[Any] = [
        to_cells(array, column.type) for array, column in zip(batch.columns, codec.table.columns, strict=False)
    ]
    columns += [[None] * len(batch)] * (len(codec.names) - len(columns))
    return zip(*columns, strict=True)


@dataclass(frozen=True, slots=True)
class Block:
    """One transaction of the log: its changes are at start <= position < end."""

    start: int
    changes: int
    transaction: int
    committed_at: int
    sections: tuple[Section, ...]

    @property
    def end(self) -> int:
        return self.start + self.changes


def decode_block(
    start: int, changes: int, committed_at: int, data: bytes, wanted: Callable[[int], bool] | None = None
) -> Block:
    """A block of the log; with `wanted`, only the sections of those tables."""
    version, count, transaction = _HEADER.unpack_from(data)
    if version != VERSION:
        raise StoreDamaged(f"a block of the log has version {version}", hint="Restore the folder from a backup.")
    sections = []
    at = _HEADER.size
    first = 0
    for _ in range(count):
        kind, columns, table, size, length = _SECTION.unpack_from(data, at)
        at += _SECTION.size
        if wanted is None or wanted(table):
            sections.append(Section(kind, columns, table, size, first, data[at : at + length]))
        first += size
        at += length + (-length % 8)
    return Block(start, changes, transaction, committed_at, tuple(sections))
