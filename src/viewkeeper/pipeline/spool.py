"""A temporary file of tuples, written once and read in the same order: what does not fit into memory.

file   := frame*
frame  := length (u32, big-endian) msgpack [[…], …], FRAME tuples or fewer
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

FRAME = 2048
_length = struct.Struct(">I")
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(list[tuple]).decode  # type: ignore[type-arg]


class Spool:
    """Tuples of numbers, bytes and None in a file; the file is its folder's to remove."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("wb")
        self._waiting: list[Any] = []
        self.count = 0

    def extend(self, items: Iterable[tuple[Any, ...]]) -> None:
        rest = iter(items)
        while chunk := list(islice(rest, FRAME)):
            self.count += len(chunk)
            self._write(chunk)

    def append(self, item: tuple[Any, ...]) -> None:
        self.count += 1
        self._waiting.append(item)
        if len(self._waiting) == FRAME:
            self._flush()

    def _flush(self) -> None:
        self._write(self._waiting)
        self._waiting = []

    def _write(self, items: list[Any]) -> None:
        data = _pack(items)
        self._file.write(_length.pack(len(data)))
        self._file.write(data)

    def close(self) -> None:
        """No more is appended."""
        if not self._file.closed:
            if self._waiting:
                self._flush()
            self._file.close()

    def __iter__(self) -> Iterator[Any]:
        self.close()
        with self._path.open("rb") as file:
            while head := file.read(_length.size):
                yield from _unpack(file.read(_length.unpack(head)[0]))
