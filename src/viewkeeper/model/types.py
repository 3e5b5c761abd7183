"""The column types and their limits.

Each type has two forms. The *Python form* is what users write and read (`Decimal`, `datetime`, …). The *cell* is
what rows hold inside and on disk, chosen so that arithmetic, comparison and msgpack need no conversion:

    type          Python form            cell                        limits
    BOOLEAN       bool                   bool
    INT           int                    int                         32 bits, signed
    BIGINT        int                    int                         64 bits, signed
    DOUBLE        float                  float                       IEEE 754; NaN sorts last, -0.0 equals 0.0
    DECIMAL(p,s)  Decimal                int, in units of 10**-s     1 <= p <= 38, 0 <= s <= p
    STRING        str                    str                         UTF-8
    BINARY        bytes                  bytes
    DATE          date                   int, days since 1970-01-01  years 1 to 9999
    TIMESTAMP     datetime, aware, UTC   int, µs since 1970-01-01    years 1 to 9999
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Cell = bool | int | float | str | bytes | None
"""One stored value."""

Row = tuple[Cell, ...]
"""A whole row as cells, by column id."""


class Kind(StrEnum):
    BOOLEAN = "BOOLEAN"
    INT = "INT"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    DECIMAL = "DECIMAL"
    STRING = "STRING"
    BINARY = "BINARY"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"


@dataclass(frozen=True, slots=True)
class Type:
    """A column type; `precision` and `scale` are 0 except for DECIMAL.

    >>> str(decimal(10, 2)), str(STRING)
    ('DECIMAL(10,2)', 'STRING')
    """

    kind: Kind
    precision: int = 0
    scale: int = 0

    def __post_init__(self) -> None:
        if self.kind is Kind.DECIMAL:
            if not (1 <= self.precision <= MAX_PRECISION and 0 <= self.scale <= self.precision):
                raise ValueError(
                    f"DECIMAL({self.precision},{self.scale}) is outside 1 <= p <= {MAX_PRECISION}, 0 <= s <= p"
                )
        elif self.precision or self.scale:
            raise ValueError(f"{self.kind} takes no precision")

    def __str__(self) -> str:
        if self.kind is Kind.DECIMAL:
            return f"DECIMAL({self.precision},{self.scale})"
        return str(self.kind)

    @property
    def is_wide(self) -> bool:
        """Whether its cell may exceed 64 bits, which msgpack integers do not."""
        return self.kind is Kind.DECIMAL and self.precision > WORD_PRECISION


MAX_PRECISION = 38
WORD_PRECISION = 18
"""The largest precision whose every value fits a signed 64-bit word."""

BOOLEAN = Type(Kind.BOOLEAN)
INT = Type(Kind.INT)
BIGINT = Type(Kind.BIGINT)
DOUBLE = Type(Kind.DOUBLE)
STRING = Type(Kind.STRING)
BINARY = Type(Kind.BINARY)
DATE = Type(Kind.DATE)
TIMESTAMP = Type(Kind.TIMESTAMP)


def decimal(precision: int, scale: int = 0) -> Type:
    return Type(Kind.DECIMAL, precision, scale)


INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
BIGINT_MIN, BIGINT_MAX = -(1 << 63), (1 << 63) - 1
DATE_MIN, DATE_MAX = -719162, 2932896
TIMESTAMP_MIN, TIMESTAMP_MAX = DATE_MIN * 86_400_000_000, (DATE_MAX + 1) * 86_400_000_000 - 1
