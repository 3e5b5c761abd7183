"""The tables of the store tests, and short ways to write to them and read them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from viewkeeper.model.keycodec import prefix_end
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import BIGINT, INT, STRING, Type
from viewkeeper.store.interface import ALL, Interval, Store, WriteSet


def column(name: str, type: Type, *, nullable: bool = True) -> Column:
    return Column(name=name, type=type, nullable=nullable)


def table(name: str, key: tuple[str, ...], *columns: Column, **options: Any) -> Table:
    """A base table; as in SQL, the columns of its key are NOT NULL."""
    settled = tuple(replace(one, nullable=one.nullable and one.name not in key) for one in columns)
    return Table(name=name, columns=settled, primary_key=key, **options)


ITEMS = table("Items", ("id",), column("id", BIGINT), column("name", STRING), column("stock", INT))
"""The plain one."""
TAGS = table("Tags", ("doc", "tag"), column("doc", BIGINT), column("tag", STRING), column("weight", INT))
"""A key of two columns."""
ORDERS = table("Orders", ("id",), column("id", BIGINT), column("buyer", STRING, nullable=False), column("note", STRING))
"""A column that is NOT NULL without being in the key."""
WORDS = table("Words", ("word",), column("word", STRING), column("count", INT))
"""Keys of any length."""


class Scanned(Protocol):
    """A snapshot or a transaction."""

    def scan(self, codec: RowCodec, interval: Interval, *, limit: int | None = None, reverse: bool = False) -> Any: ...


def codec_of(store: Store, name: str) -> RowCodec:
    return store.catalog().codec(name)


def put(store: Store, name: str, /, **values: Any) -> Position:
    codec = codec_of(store, name)
    return store.put(codec, codec.merge(values))


def insert(store: Store, name: str, /, **values: Any) -> Position:
    codec = codec_of(store, name)
    return store.put(codec, codec.merge(values), insert=True)


def delete(store: Store, name: str, *key: Any) -> Position:
    codec = codec_of(store, name)
    writes = WriteSet()
    writes.remove(codec, encoded(codec, *key))
    return store.commit(writes)


def get(store: Store, name: str, *key: Any) -> Any:
    """A row, or None; untyped, since tests compute with cells."""
    return store.get(name, key)[1]


def encoded(codec: RowCodec, *key: Any) -> bytes:
    """The code of a key, or of a prefix of one."""
    return codec.key.encode_key(codec.key_cells(key, prefix=True))


def between(codec: RowCodec, lower: Any = None, upper: Any = None) -> Interval:
    """lower <= first key column < upper."""
    start = b"" if lower is None else encoded(codec, lower)
    return Interval(start, None if upper is None else encoded(codec, upper))


def beginning(codec: RowCodec, *prefix: Any) -> Interval:
    code = encoded(codec, *prefix)
    return Interval(code, prefix_end(code))


def scan(
    reader: Scanned, codec: RowCodec, interval: Interval = ALL, *, limit: int | None = None, reverse: bool = False
) -> list[Any]:
    chunks = list(reader.scan(codec, interval, limit=limit, reverse=reverse))
    return [row for chunk in chunks for row in chunk]


def rows(store: Store, name: str, at: Position | None = None) -> list[Any]:
    """All rows of a table in key order, now or at a position."""
    return scan(store.snapshot(at), codec_of(store, name))


def fill(store: Store, name: str, values: Any) -> Position:
    """Rows in one transaction."""
    codec = codec_of(store, name)
    writes = WriteSet()
    for one in values:
        cells = codec.merge(one)
        writes.put(codec, codec.key_of_cells(cells), cells)
    return store.commit(writes)
