"""Random cells, with the values at which functions and conversions break drawn often."""

from __future__ import annotations

import math
import struct
from random import Random
from typing import Any

from tests.strategies import edge_cells
from viewkeeper.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DATE_MAX,
    DATE_MIN,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_MAX,
    TIMESTAMP_MIN,
    Cell,
    Kind,
    Type,
    decimal,
)

DECIMALS = (
    decimal(3, 0),
    decimal(5, 2),
    decimal(10, 2),
    decimal(18, 6),
    decimal(20, 0),
    decimal(38, 0),
    decimal(38, 10),
    decimal(38, 38),
)
TYPES = (BOOLEAN, INT, BIGINT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, *DECIMALS)

TEXTS = (
    *("", " ", "  a b ", "abc", "Abc", "ABC", "a,b,,c", "50%", "a_c", "a\\", "\\%", "%", "_", "%b%", "a%c", "\\a"),
    *("é", "É", "ß", "ς", "Σ", "İ", "ı", "ŉ", "ǆ", "ﬁ", "日本", "😀", "😀b", "a\nb", "\t", "\0", "𐐀", "𐐨", "Ⅷ"),
    *("0", "-0", "+7", "12", " 12 ", "007", "1.5", ".5", "5.", "1e3", "-1E-3", "1e400", "1e-400", "1e9999", "1e99999"),
    *("2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808"),
    *("0.005", "0.015", "-0.005", "99999.995", "0x1p3", "1.5d", "1f", "٣", "NaN", "nan", "-NaN", "inf", "-Infinity"),
    *("true", "T", "YES", "y", "1", "false", "no", "off", " f\x7f", "\x1ft"),
    *("2024", "2024-2", "2024-02-29", "2023-02-29", "2024-2-9T10", "0001-01-01", "9999-12-31", "10000-01-01"),
    *("0000-01-01", "2024-01-01 10:20", "2024-01-01T10:20:30.123456Z", "2024-01-01 00:00:00+05:30", "-2024-01-01"),
    *(
        "2024-01-01 24:00:00",
        "0001-01-01 00:00:00+01:00",
        "9999-12-31 23:59:59.999999-18:00",
        "2024-01-01 10:20:30-19:00",
    ),
)
_LETTERS = "abcABC xyz%_\\,.-+0123456789éÉßΣς日😀"
_SMALL = (-10, -3, -2, -1, 0, 1, 2, 3, 5, 7, 10, 60, 100, 1000)


def random_cell(rng: Random, type: Type, *, nulls: float = 0.15) -> Cell:
    """A cell of the type: NULL, small, at a limit, or anything."""
    if rng.random() < nulls:
        return None
    choice = rng.random()
    if choice < 0.3:
        return rng.choice(edge_cells(type))
    return _small_cell(rng, type) if choice < 0.65 else _any_cell(rng, type)


def _small_cell(rng: Random, type: Type) -> Cell:
    match type.kind:
        case Kind.BOOLEAN:
            return rng.random() < 0.5
        case Kind.INT | Kind.BIGINT | Kind.DATE:
            return rng.choice(_SMALL)
        case Kind.TIMESTAMP:
            return rng.choice(_SMALL) * rng.choice((1, 1000, 1_000_000, 86_400_000_000))
        case Kind.DOUBLE:
            return rng.choice(_SMALL) / rng.choice((1, 2, 8, 10, 1000))
        case Kind.DECIMAL:
            most = 10**type.precision - 1
            return max(-most, min(most, rng.choice(_SMALL) * 10 ** rng.randint(0, type.scale)))
        case Kind.STRING:
            return rng.choice(TEXTS)
        case Kind.BINARY:
            return rng.choice((b"", b"a", b"ab", b"\0", b"\xff"))


def _any_cell(rng: Random, type: Type) -> Any:
    match type.kind:
        case Kind.BOOLEAN:
            return rng.random() < 0.5
        case Kind.INT:
            return rng.getrandbits(32) - (1 << 31) >> rng.randint(0, 31)
        case Kind.BIGINT:
            return rng.getrandbits(64) - (1 << 63) >> rng.randint(0, 63)
        case Kind.DOUBLE:
            return _any_double(rng)
        case Kind.DECIMAL:
            return rng.choice((-1, 1)) * rng.randrange(10 ** rng.randint(1, type.precision))
        case Kind.STRING:
            return "".join(rng.choices(_LETTERS, k=rng.randint(0, 8)))
        case Kind.BINARY:
            return rng.randbytes(rng.randint(0, 4))
        case Kind.DATE:
            return rng.randint(DATE_MIN, DATE_MAX)
        case Kind.TIMESTAMP:
            return rng.randint(TIMESTAMP_MIN, TIMESTAMP_MAX)


def _any_double(rng: Random) -> float:
    if rng.random() < 0.5:
        return round(rng.uniform(-1000, 1000), rng.randint(0, 6))
    value: float = struct.unpack(">d", rng.randbytes(8))[0]
    return value if not math.isnan(value) else math.nan
