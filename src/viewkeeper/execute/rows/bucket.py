"""Which of m buckets values fall in: the same as the hash partitions of a table with that key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from zlib import crc32

from viewkeeper.model.keycodec import KeyCodec
from viewkeeper.model.types import Row, Type


def bucket_of(types: Sequence[Type], count: int) -> Callable[[Row], int]:
    """A function from values of these types to 0 … count - 1; NULL is a value like any other.

    CRC-32 of the encoded key, times 2654435761, its upper bits.
    """
    encode = KeyCodec(range(len(types)), types).encode
    return lambda values: ((crc32(encode(values)) * 2654435761 & 0xFFFF_FFFF) * count) >> 32
