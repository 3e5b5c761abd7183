"""Reads of one table by key, prefix or key range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from viewkeeper.errors import WrongType
from viewkeeper.model.keycodec import prefix_end
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column
from viewkeeper.model.types import Row
from viewkeeper.model.values import presenter
from viewkeeper.read.rows import ReadMeta, Rows
from viewkeeper.sql.statements import KeyRange, Select
from viewkeeper.store.interface import Interval

EMPTY = Interval(b"", b"")


def check_limit(limit: Any) -> None:
    """WrongType unless a limit is None or a whole number from 0 on."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 0):
        raise WrongType(f"limit is {limit!r}", hint="It is a whole number from 0 on, or None for all rows.")


class Reader(Protocol):
    """What a snapshot and a transaction both offer."""

    def get(self, codec: RowCodec, key: bytes) -> Row | None: ...

    def scan(
        self, codec: RowCodec, interval: Interval, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[list[Row]]: ...


def key_interval(codec: RowCodec, prefix: Any = (), lower: Any = None, upper: Any = None) -> Interval:
    """The keys with this prefix, and lower <= the key columns behind it < upper; bounds are one value or several."""
    start = _tuple(prefix)
    code = _encoded(codec, start)
    interval = Interval.of_prefix(code)
    if lower is not None:
        interval = interval.intersect(Interval(_encoded(codec, start + _tuple(lower)), None))
    if upper is not None:
        interval = interval.intersect(Interval(b"", _encoded(codec, start + _tuple(upper))))
    return interval


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _encoded(codec: RowCodec, key: tuple[Any, ...]) -> bytes:
    return codec.key.encode_key(codec.key_cells(key, prefix=True))


def range_interval(codec: RowCodec, keys: KeyRange) -> Interval:
    """The interval of encoded keys that a key range of a statement stands for."""
    encode = codec.key.encode_key
    interval = Interval.of_prefix(encode(keys.prefix))
    if keys.lower is not None:
        code = encode((*keys.prefix, keys.lower))
        start = code if keys.lower_inclusive else prefix_end(code)
        if start is None:
            return EMPTY
        interval = interval.intersect(Interval(start, None))
    if keys.upper is not None:
        code = encode((*keys.prefix, keys.upper))
        interval = interval.intersect(Interval(b"", prefix_end(code) if keys.upper_inclusive else code))
    return interval


def is_full_key(codec: RowCodec, keys: KeyRange) -> bool:
    return len(keys.prefix) == len(codec.key.columns)


def select(reader: Reader, codec: RowCodec, statement: Select, meta: ReadMeta) -> Rows:
    """The rows that a bound SELECT asks for."""
    ids = [number for _, number in statement.columns]
    columns = [_named(codec.table.columns[number], name) for name, number in statement.columns]
    chunks = _selected(reader, codec, statement, meta)
    if ids != list(range(len(codec.names))):
        chunks = ([tuple(row[number] for number in ids) for row in chunk] for chunk in chunks)
    return Rows(chunks, columns, dict_maker(columns), meta)


def _selected(reader: Reader, codec: RowCodec, statement: Select, meta: ReadMeta) -> Iterator[list[Row]]:
    left = statement.limit
    ranges: Sequence[KeyRange] = statement.where
    for keys in reversed(ranges) if statement.descending else ranges:
        if left is not None and left <= 0:
            return
        meta.operations += 1
        if is_full_key(codec, keys):
            row = reader.get(codec, codec.key.encode_key(keys.prefix))
            chunks = iter([[row]] if row is not None else [])
        else:
            interval = range_interval(codec, keys)
            chunks = reader.scan(codec, interval, limit=left, reverse=statement.descending)
        for chunk in chunks:
            if left is not None:
                left -= len(chunk)
            yield chunk


def _named(column: Column, name: str) -> Column:
    return Column(name=name, type=column.type, nullable=column.nullable, temporal=column.temporal)


def dict_maker(columns: Sequence[Column]) -> Any:
    names = [column.name for column in columns]
    converts = [presenter(column.type) for column in columns]

    def to_dict(row: Row) -> dict[str, Any]:
        return {
            name: cell if convert is None or cell is None else convert(cell)
            for name, cell, convert in zip(names, row, converts, strict=True)
        }

    return to_dict
