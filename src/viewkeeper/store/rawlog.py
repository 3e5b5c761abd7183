"""The log of one table as encoded sections: what a reader in bulk decodes by itself.

A block of one change is smaller than the objects that describe it, so the sections are given as plain tuples, thousands
at a time, and nothing is decoded here but their heads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from viewkeeper.errors import StoreDamaged
from viewkeeper.store import log
from viewkeeper.store.blocks import VERSION
from viewkeeper.store.environment import explained
from viewkeeper.store.undo import check_retained

if TYPE_CHECKING:
    from viewkeeper.store.embedded import EmbeddedStore

RawSection = tuple[int, int, int, bytes]
"""Kind, columns, number of changes and body of a section of blocks.py."""
BLOCKS = 4096
BYTES = 8 << 20
"""What is read by one transaction, but for its last block."""
_header = struct.Struct(">B5xH8x")
_section = struct.Struct(">BxHIII")
_whole = struct.Struct(">B5xH8xBxHIII")


def raw_sections(store: EmbeddedStore, table: int, lower: int, upper: int) -> Iterator[list[RawSection]]:
    """The sections of a table in the blocks that begin at lower <= position < upper, in log order, in lists.

    Both ends are thereby rounded up to the end of a transaction, as the position of a snapshot is. NotRetained if the
    log does not reach back to `lower`, at once or when it was truncated meanwhile.
    """
    at = lower
    while at < upper:
        sections, at = _read(store, table, at, upper)
        if sections:
            yield sections


@explained
def _read(store: EmbeddedStore, table: int, lower: int, upper: int) -> tuple[list[RawSection], int]:
    """The next sections, and where to go on."""
    found: list[RawSection] = []
    left = BYTES
    at = upper
    whole = _whole.unpack_from
    with store.base.begin() as txn:
        check_retained(store.database, lower, log.oldest(txn, store.log_db))
        cursor = txn.cursor(db=store.log_db)
        if not cursor.set_range(lower.to_bytes(8, "big")):
            return found, upper
        for blocks, (key, data) in enumerate(cursor.iternext()):
            start = int.from_bytes(key[:8], "big")
            if start >= upper:
                break
            if blocks == BLOCKS or left <= 0:
                at = start
                break
            left -= len(data)
            version, count, kind, columns, owner, changes, length = whole(data)
            if count != 1 or version != VERSION:
                found += _sections(data, table)
            elif owner == table:
                found.append((kind, columns, changes, data[32 : 32 + length]))
    return found, at


def _sections(data: bytes, table: int) -> list[RawSection]:
    """The sections of a table in a block of several."""
    version, count = _header.unpack_from(data)
    if version != VERSION:
        raise StoreDamaged(f"a block of the log has version {version}", hint="Restore the folder from a backup.")
    found: list[RawSection] = []
    place = _header.size
    for _ in range(count):
        kind, columns, owner, changes, length = _section.unpack_from(data, place)
        place += _section.size
        if owner == table:
            found.append((kind, columns, changes, data[place : place + length]))
        place += length + (-length % 8)
    return found


def raw_feed(store: EmbeddedStore, number: int, lower: int, upper: int) -> Iterator[list[RawSection]]:
    """The sections of a view's feed between two of its watermarks, as those of a table."""
    for _, block in store.view_tables.feed_between(number, lower, upper):
        yield [(section.kind, section.columns, section.changes, section.body) for section in block.sections]


@explained
def cut_log(store: EmbeddedStore, lower: int, upper: int, parts: int) -> list[tuple[int, int]]:
    """At most `parts` adjoining ranges of the log that together are [lower, upper), with about as many changes each.

    Each ends at a transaction boundary, but for the last one. Only keys are looked at, a few for each range.
    """
    edges = [lower]
    if upper > lower:
        with store.base.begin() as txn:
            for part in range(1, parts):
                most = (upper - lower) * part // parts
                edge = min(upper, log.boundary(txn, store.log_db, lower, most))
                if edge > edges[-1]:
                    edges.append(edge)
    edges.append(upper)
    return [(start, end) for start, end in pairwise(edges) if start < end]
