"""Reads of one table or view by key, prefix or key range."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
    """What a snapshot, a transaction and a view at a watermark offer."""

    def get(self, codec: RowCodec, key: bytes) -> Row | None: ...

    def scan(
        self, codec: RowCodec, interval: Interval, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[list[Row]]: ...


def key_interval(codec: RowCodec, prefix: Any = (), lower: Any = None, upper: Any = None) -> Interval:
    """The keys with this prefix, and lower <= the key columns behind it < upper; bounds are one value or several."""
    return interval_between(partial(_encoded, codec), prefix, lower, upper)


def interval_between(
    encoded: Callable[[tuple[Any, ...]], bytes], prefix: Any = (), lower: Any = None, upper: Any = None
) -> Interval:
    """The same for any keys, given what encodes the first columns of one."""
    start = _tuple(prefix)
    interval = Interval.of_prefix(encoded(start))
    if lower is not None:
        interval = interval.intersect(Interval(encoded(start + _tuple(lower)), None))
    if upper is not None:
        interval = interval.intersect(Interval(b"", encoded(start + _tuple(upper))))
    return interval


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def _encoded(codec: RowCodec, key: tuple[Any, ...]) -> bytes:
    return codec.key.encode_key(codec.key_cells(key, prefix=True))


def range_interval(codec: RowCodec, keys: KeyRange) -> Interval:
    """The interval of encoded keys that a key range of a statement stands for.

    Bounds of the range are values, so where the key column descends its lower bound is the upper one of the interval.
    """
    encode, prefix = codec.key.encode_key, keys.prefix
    interval = Interval.of_prefix(encode(prefix))
    if keys.lower is None and keys.upper is None and not keys.not_null:
        return interval
    first, last = (keys.lower, keys.lower_inclusive), (keys.upper, keys.upper_inclusive)
    descends = codec.key.descending[len(prefix)]
    if descends:
        first, last = last, first
    if first[0] is not None:
        interval = interval.intersect(on_from(encode((*prefix, first[0])), inclusive=first[1]))
    if last[0] is not None:
        interval = interval.intersect(up_to(encode((*prefix, last[0])), inclusive=last[1]))
    if keys.not_null:
        null = encode((*prefix, None))
        interval = interval.intersect(up_to(null, inclusive=False) if descends else on_from(null, inclusive=False))
    return interval


def on_from(code: bytes, *, inclusive: bool) -> Interval:
    """The keys that begin with a code, or not if not inclusive, and all behind them."""
    start = code if inclusive else prefix_end(code)
    return EMPTY if start is None else Interval(start, None)


def up_to(code: bytes, *, inclusive: bool) -> Interval:
    return Interval(b"", prefix_end(code) if inclusive else code)


def is_full_key(codec: RowCodec, keys: KeyRange) -> bool:
    return len(keys.prefix) == len(codec.key.columns)


def select(
    reader: Reader, codec: RowCodec, statement: Select, meta: ReadMeta, *, repeats: bool = False, looks: int = 1
) -> Rows:
    """The rows that a bound SELECT asks for; with `repeats`, a key may stand for several rows.

    What is stored in several parts takes `looks` operations where another takes one.
    """
    ids = [number for _, number in statement.columns]
    columns = [_named(codec.table.columns[number], name) for name, number in statement.columns]
    chunks = _selected(reader, codec, statement, meta, repeats, looks)
    if ids != list(range(len(codec.names))):
        chunks = ([tuple(row[number] for number in ids) for row in chunk] for chunk in chunks)
    return Rows(chunks, columns, dict_maker(columns), meta)


def _selected(
    reader: Reader, codec: RowCodec, statement: Select, meta: ReadMeta, repeats: bool, looks: int
) -> Iterator[list[Row]]:
    left = statement.limit
    ranges: Sequence[KeyRange] = statement.where
    for keys in reversed(ranges) if statement.descending else ranges:
        if left is not None and left <= 0:
            return
        meta.operations += looks
        if is_full_key(codec, keys) and not repeats:
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
