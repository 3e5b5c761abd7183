"""Arrow columns of the types that the tables have."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pyarrow as pa


def longs(values: Iterable[int]) -> pa.Array:
    return pa.array(list(values), pa.int64())


def ints(values: Iterable[int]) -> pa.Array:
    return pa.array(list(values), pa.int32())


def money(cents: Iterable[int], digits: int = 15) -> pa.Array:
    """DECIMAL(digits, 2) from whole cents: the same bytes, read with two places behind the point."""
    whole = longs(cents).cast(pa.decimal128(19, 0))
    return pa.Array.from_buffers(pa.decimal128(digits, 2), len(whole), whole.buffers())


def moments(millis: Iterable[int]) -> pa.Array:
    """TIMESTAMP from milliseconds since 1970."""
    return longs(millis).cast(pa.timestamp("ms", "UTC"))


def days(numbers: Iterable[int]) -> pa.Array:
    """DATE from days since 1970."""
    return ints(numbers).cast(pa.date32())


def texts(draw: Random, count: int, prefix: str, size: int) -> list[str]:
    """Texts that nobody searches, of some length; each begins alike and ends in digits of its own."""
    return [f"{prefix} {draw.getrandbits(size * 4):0{size}x}" for _ in range(count)]
