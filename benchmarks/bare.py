"""The other side of the store benchmarks: LMDB with nothing around it."""

from __future__ import annotations

import struct
from pathlib import Path

import lmdb
import msgspec
import pyarrow as pa

_key = struct.Struct(">BQ").pack
_position = struct.Struct(">Q").pack


def encoded(rows: pa.Table) -> list[tuple[bytes, bytes]]:
    """Ready-made keys and values with the bytes that viewkeeper stores for these rows."""
    encode = msgspec.msgpack.Encoder().encode
    columns = [rows.column(name).to_pylist() for name in rows.column_names]
    columns[3] = [int(price * 100) for price in columns[3]]
    return [(_key(2, row[0] + (1 << 63)), encode(row)) for row in zip(*columns, strict=True)]


class Bare:
    """An environment with a table and a log, and the fsync that "sync" pays."""

    def __init__(self, path: Path) -> None:
        path.mkdir(parents=True)
        self.env = lmdb.Environment(str(path), map_size=1 << 40, max_dbs=8)
        self.table = self.env.open_db(b"table")
        self.log = self.env.open_db(b"log")
        self.head = 0

    def write(self, items: list[tuple[bytes, bytes]]) -> None:
        """One transaction: each item put into the table and appended to the log."""
        with self.env.begin(write=True) as txn:
            for key, value in items:
                txn.put(key, value, db=self.table)
                txn.put(_position(self.head), value, append=True, db=self.log)
                self.head += 1

    def write_all(self, parts: list[list[tuple[bytes, bytes]]]) -> None:
        for part in parts:
            self.write(part)

    def close(self) -> None:
        self.env.close()
