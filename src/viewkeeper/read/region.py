"""What a read asks of a view: keys from one on and before another, which all begin alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.read.bykey import range_interval
from viewkeeper.sql.statements import KeyRange
from viewkeeper.store.interface import ALL, Interval


@dataclass(frozen=True, slots=True)
class Region:
    """An interval of encoded keys, and the cells that the first key columns have in all of them."""

    interval: Interval = ALL
    prefix: Row = ()


WHOLE = (Region(),)
"""All of a view."""


def region_of(codec: RowCodec, prefix: Row) -> Region:
    """The keys that begin with these cells."""
    return Region(Interval.of_prefix(codec.key.encode_key(prefix)), prefix)


def regions_of(codec: RowCodec, ranges: Sequence[KeyRange]) -> tuple[Region, ...]:
    """What the key ranges of a statement stand for."""
    return tuple(Region(range_interval(codec, keys), keys.prefix) for keys in ranges)


def is_within(key: bytes, regions: Sequence[Region]) -> bool:
    return any(key in region.interval for region in regions)
