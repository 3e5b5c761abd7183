"""Which partition a key falls in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from zlib import crc32

from viewkeeper.model.keycodec import KeyCodec
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import PartitionKind
from viewkeeper.model.types import Row


def partition_function(codec: RowCodec) -> Callable[[Row], int]:
    """A function from a row (of which only the key columns are looked at) to its partition, from 0.

    The hash is CRC-32 times 2654435761, its upper bits: the lower bits of the plain CRC choose the samples.
    """
    partitioning = codec.table.partitioning
    if partitioning is None or partitioning.count == 1:
        return lambda _: 0
    if partitioning.kind is PartitionKind.RANGE:
        bounds, whole = partitioning.bounds, codec.key.encode
        return lambda row: bisect_right(bounds, whole(row))
    ids = [codec.table.column_id(name) for name in partitioning.columns]
    encode = KeyCodec(ids, [codec.table.columns[column].type for column in ids]).encode
    count = partitioning.count
    return lambda row: ((crc32(encode(row)) * 2654435761 & 0xFFFF_FFFF) * count) >> 32
