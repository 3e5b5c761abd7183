"""How far a first fill has come, as it is kept in the group's state.

mark   := b""                                   nothing has been read yet
        | key                                   a view of one leaf: where to go on
        | done (4 bytes) leaf (2 bytes) key     a join or union: the leaves that are through, as a set of bits; the
                                                one that is being read; where to go on in it
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

_mark = struct.Struct(">IH")
MAX_LEAVES = 32


@dataclass(frozen=True, slots=True)
class Mark:
    done: frozenset[int]
    leaf: int
    key: bytes

    def at(self, key: bytes) -> Mark:
        return replace(self, key=key)


def parse_mark(data: bytes, leaves: int, first: int) -> Mark:
    """The mark of a view with so many leaves, of which `first` is to be read first."""
    if leaves == 1:
        return Mark(frozenset(), 0, data)
    if not data:
        return Mark(frozenset(), first, b"")
    bits, leaf = _mark.unpack_from(data)
    return Mark(frozenset(number for number in range(leaves) if bits >> number & 1), leaf, data[_mark.size :])


def format_mark(mark: Mark, leaves: int) -> bytes:
    if leaves == 1:
        return mark.key
    return _mark.pack(sum(1 << number for number in mark.done), mark.leaf) + mark.key
