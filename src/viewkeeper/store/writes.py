"""What a transaction wants of each key, and the row that it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from viewkeeper.errors import Conflict, KeyExists
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Row
from viewkeeper.model.wholerow import SMALL_ROW


@dataclass(frozen=True, slots=True)
class Merge:
    """These cells into the row that is there, or a new row of just them."""

    cells: Mapping[int, Cell]


@dataclass(frozen=True, slots=True)
class Replace:
    """Exactly this row. `fresh`: KeyExists if one is there."""

    row: Row
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Remove:
    """No row."""


REMOVE = Remove()
Write = Merge | Replace | Remove


@dataclass(slots=True)
class WriteSet:
    """The net write for each key, by table id and encoded key, in order of the first write.

    `codecs` are those that the writes were made with: if DDL came between, `settle` carries them over or refuses.
    """

    tables: dict[int, dict[bytes, Write]] = field(default_factory=dict)
    codecs: dict[int, RowCodec] = field(default_factory=dict)

    def of(self, codec: RowCodec) -> dict[bytes, Write]:
        """The writes of a table; Conflict if its columns have changed since the first of them."""
        number = codec.table.id
        known = self.codecs.setdefault(number, codec)
        if known is not codec and known.table.columns != codec.table.columns:
            raise columns_changed(codec)
        return self.tables.setdefault(number, {})

    def __bool__(self) -> bool:
        return any(self.tables.values())

    def put(self, codec: RowCodec, key: bytes, cells: Mapping[int, Cell]) -> None:
        writes = self.of(codec)
        match writes.get(key):
            case None:
                whole = len(cells) == len(codec.names)
                writes[key] = Replace(codec.whole(cells)) if whole else Merge(cells)
            case Merge(earlier):
                writes[key] = Merge({**earlier, **cells})
            case Replace(row, fresh):
                writes[key] = Replace(codec.overlay(row, cells), fresh)
            case Remove():
                writes[key] = Replace(codec.whole(cells))

    def insert(self, codec: RowCodec, key: bytes, cells: Mapping[int, Cell]) -> None:
        """A row that must not be there; KeyExists at once if an earlier write of this set makes it."""
        row = codec.whole(cells)
        writes = self.of(codec)
        earlier = writes.get(key)
        if isinstance(earlier, Merge | Replace):
            raise key_exists(codec, row)
        writes[key] = Replace(row, fresh=earlier is None)

    def remove(self, codec: RowCodec, key: bytes) -> None:
        self.of(codec)[key] = REMOVE


def resolve(write: Write, before: bytes | None, codec: RowCodec) -> bytes | None:
    """The encoded row after a write; None if there is none."""
    match write:
        case Remove():
            return None
        case Replace(row, fresh):
            if fresh and before is not None:
                raise key_exists(codec, row)
        case Merge(cells):
            row = codec.whole(cells) if before is None else codec.overlay(codec.decode(before), cells)
        case _:
            assert_never(write)
    after = codec.encode(row)
    if len(after) > SMALL_ROW:
        codec.check_size(after)
    return after


def key_exists(codec: RowCodec, row: Row) -> KeyExists:
    pairs = zip(codec.table.primary_key, codec.present_key(row), strict=True)
    shown = ", ".join(f"{name}={value!r}" for name, value in pairs)
    return KeyExists(
        f'table "{codec.table.name}" already has a row with key {shown}',
        hint="put changes a row that is there; insert only adds.",
    )


def same_row(before: bytes, after: bytes, codec: RowCodec) -> bool:
    """Whether two encodings hold the same row, to the bit: one from before ADD COLUMN has NULLs behind it."""
    return before == after or (len(before) < len(after) and codec.encode(codec.decode(before)) == after)


def columns_changed(codec: RowCodec) -> Conflict:
    return Conflict(f'the columns of table "{codec.table.name}" have changed', hint="Run the transaction again.")
