"""Which type converts to which, and whether that can fail on a value.

A conversion that fails gives NULL and counts as an error. DOUBLE does not become STRING: the digits would be those of
one engine. BINARY converts to nothing, since not every text of bytes is one of characters.
"""

from __future__ import annotations

from viewkeeper.model.types import Kind, Type
from viewkeeper.plan.numbers import is_number

_FROM_TEXT = frozenset(
    {Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE, Kind.DATE, Kind.TIMESTAMP, Kind.BINARY}
)
_TO_TEXT = frozenset({Kind.BOOLEAN, Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP})


def can_cast(source: Type, target: Type) -> bool:
    """Whether CAST(source AS target) is allowed at all."""
    if source == target or (is_number(source) and is_number(target)):
        return True
    match source.kind, target.kind:
        case Kind.STRING, kind:
            return kind in _FROM_TEXT
        case kind, Kind.STRING:
            return kind in _TO_TEXT
        case (Kind.DATE, Kind.TIMESTAMP) | (Kind.TIMESTAMP, Kind.DATE) | (Kind.BOOLEAN, Kind.INT | Kind.BIGINT):
            return True
    return False


def cast_can_fail(source: Type, target: Type) -> bool:
    """Whether some value of `source` has no value of `target`."""
    if source == target or target.kind is Kind.STRING:
        return False
    match source.kind, target.kind:
        case Kind.STRING, kind:
            return kind is not Kind.BINARY
        case (_, Kind.DOUBLE | Kind.TIMESTAMP | Kind.DATE) | (Kind.BOOLEAN | Kind.INT, Kind.INT | Kind.BIGINT):
            return False
        case (Kind.INT | Kind.BIGINT, Kind.DECIMAL) | (Kind.DECIMAL, Kind.INT | Kind.BIGINT):
            return _needs(source) > _holds(target)
        case Kind.DECIMAL, Kind.DECIMAL:
            # Rounding to fewer digits behind the point can carry into one more before it.
            return _needs(source) + (target.scale < source.scale) > _holds(target)
    return True


def _needs(type: Type) -> int:
    """The most digits before the point that a value has."""
    return {Kind.INT: 10, Kind.BIGINT: 19}.get(type.kind, type.precision - type.scale)


def _holds(type: Type) -> int:
    """How many digits before the point always fit."""
    return {Kind.INT: 9, Kind.BIGINT: 18}.get(type.kind, type.precision - type.scale)


def keeps_all(source: Type, target: Type) -> bool:
    """Whether different values of a type stay different when they are converted."""
    if source == target:
        return True
    if target.kind is Kind.DOUBLE:
        return source.kind is Kind.INT
    kinds = (Kind.INT, Kind.BIGINT, Kind.DECIMAL)
    if source.kind not in kinds or target.kind not in kinds:
        return (source.kind, target.kind) == (Kind.DATE, Kind.TIMESTAMP)
    return not cast_can_fail(source, target) and target.scale >= source.scale
