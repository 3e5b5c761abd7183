"""Whether LMDB's data file still has all the pages that it speaks of.

LMDB reads its file through a memory map and trusts it: a page behind the end of a truncated file kills the process.
But a shorter file is not always a truncated one, for pages that came and went in one transaction are counted and never
written. So the pages behind the end must all be free; the free ones are listed in a tree of their own.

    page   := number (u64) 0 (u16) flags (u16) lower (u16) upper (u16) places of nodes (u16 each, up to `lower`) … nodes
    meta   := head of a page, magic (u32) version (u32) … free tree (48) main tree (48) last page (u64) version (u64)
    tree   := page size (u32) flags (u16) depth (u16) … root (u64) in its last 8 bytes
    node   := low (u16) high (u16) flags (u16) length of key (u16) key value
    free   := transaction → count (u64) page numbers (u64 each); the value of a large node is the number of its own page

Little-endian, as LMDB 0.9 writes it on the machines that we run on.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import NamedTuple

_HEAD = 16
_META = struct.Struct("<IIQQ48s48sQQ")
_PAGE = struct.Struct("<QHHHH")
_NODE = struct.Struct("<HHHH")
_WORD = struct.Struct("<Q")
_MAGIC, _VERSION = 0xBEEFC0DE, 1
_BRANCH, _LEAF = 1, 2
_LARGE = 1
_NONE = (1 << 64) - 1


def lost_pages(path: Path) -> int:
    """How many pages that are in use lie behind the end of a data file; 0 for a format that is not known here."""
    with open(path, "rb", buffering=0) as file:
        meta = _newest_meta(file)
        while meta is not None:
            # Writers lengthen the file before they say so in a meta page, hence the order of these two reads.
            size = os.fstat(file.fileno()).st_size
            behind = range(size // meta.page_size, meta.last + 1)
            free = _free_among(behind, file, meta) if behind else 0
            before, meta = meta, _newest_meta(file)
            # The tree of the newest transaction is never written over: if it still is the newest, it was read whole.
            if meta == before:
                return len(behind) - free
    return 0


class _Meta(NamedTuple):
    transaction: int
    last: int
    page_size: int
    free_root: int


def _newest_meta(file: FileIO) -> _Meta | None:
    first = _meta(file, 0)
    second = None if first is None else _meta(file, first.page_size)
    return max(first, second) if first is not None and second is not None else None


def _meta(file: FileIO, at: int) -> _Meta | None:
    file.seek(at + _HEAD)
    raw = file.read(_META.size)
    if len(raw) < _META.size:
        return None
    magic, version, _, _, free, _, last, transaction = _META.unpack(raw)
    page_size = struct.unpack_from("<I", free)[0]
    if magic != _MAGIC or version != _VERSION or page_size < _META.size or sys.byteorder != "little":
        return None
    return _Meta(transaction, last, page_size, _WORD.unpack_from(free, 40)[0])


def _free_among(pages: range, file: FileIO, meta: _Meta) -> int:
    """How many of these pages are free; 0 if the tree of free pages makes no sense."""
    try:
        return len({page for page in _free(file, meta.free_root, meta.page_size) if page in pages})
    except (struct.error, RecursionError, OverflowError, OSError):
        return 0


def _free(file: FileIO, number: int, size: int) -> Iterator[int]:
    """The page numbers in a subtree of the free tree; what cannot be read is taken for lost."""
    page = _read(file, number, size) if number != _NONE else b""
    if len(page) < size:
        return
    _, _, flags, lower, _ = _PAGE.unpack_from(page)
    for place in range(_HEAD, lower, 2):
        at = struct.unpack_from("<H", page, place)[0]
        low, high, node_flags, key_length = _NODE.unpack_from(page, at)
        if flags & _BRANCH:
            yield from _free(file, low | high << 16 | node_flags << 32, size)
        elif flags & _LEAF:
            value = page[at + _NODE.size + key_length :][: low | high << 16]
            if node_flags & _LARGE:
                file.seek(_WORD.unpack_from(value)[0] * size + _HEAD)
                value = file.read(low | high << 16)
            if len(value) >= _WORD.size:
                count = min(_WORD.unpack_from(value)[0], len(value) // 8 - 1)
                yield from struct.unpack_from(f"<{count}Q", value, 8)


def _read(file: FileIO, number: int, size: int) -> bytes:
    file.seek(number * size)
    return file.read(size)
