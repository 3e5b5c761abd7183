"""Rules from the types of arguments to a signature, for the functions of plan/functions.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from viewkeeper.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    MAX_PRECISION,
    STRING,
    TIMESTAMP,
    Cell,
    Kind,
    Type,
    decimal,
)
from viewkeeper.plan.numbers import arithmetic, common, is_number

MAX_DIGITS = 38
MAX_PADDING = 65_536
TRUNCATION_UNITS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")


@dataclass(frozen=True, slots=True)
class Signature:
    """The types that the arguments are converted to, and the type of the result."""

    args: tuple[Type, ...]
    result: Type


Rule = Callable[[Sequence[Type]], Signature | None]
"""The signature for arguments of these types; None if there is none."""

ConstantRule = Callable[[Sequence[Type], Sequence[Cell]], Signature | None]
"""The same, given also the constants among the arguments; None too if they are not allowed."""


def fixed(result: Type, *args: Type) -> Rule:
    """Exactly these types; an INT may stand for a BIGINT, a DATE for a TIMESTAMP."""
    stand_in = {BIGINT: INT, TIMESTAMP: DATE}

    def rule(given: Sequence[Type]) -> Signature | None:
        if len(given) != len(args):
            return None
        for found, wanted in zip(given, args, strict=True):
            if found != wanted and found != stand_in.get(wanted):
                return None
        return Signature(args, result)

    return rule


def either(*rules: Rule) -> Rule:
    """The first of several signatures that fits."""

    def rule(given: Sequence[Type]) -> Signature | None:
        found = (each(given) for each in rules)
        return next((signature for signature in found if signature is not None), None)

    return rule


def operator(symbol: str) -> Rule:
    def rule(given: Sequence[Type]) -> Signature | None:
        if len(given) != 2 or not all(map(is_number, given)) or (symbol == "div" and DOUBLE in given):
            return None
        left, right, result = arithmetic(symbol, given[0], given[1])
        return Signature((left, right), result)

    return rule


def comparable(left: Type, right: Type) -> Type | None:
    """The type at which two values are compared; None if they are not."""
    if left == right:
        return left
    if is_number(left) and is_number(right):
        return common(left, right)
    if {left.kind, right.kind} == {Kind.DATE, Kind.TIMESTAMP}:
        return TIMESTAMP
    return None


def comparison(given: Sequence[Type]) -> Signature | None:
    if len(given) != 2:
        return None
    both = comparable(given[0], given[1])
    return None if both is None else Signature((both, both), BOOLEAN)


def logical(given: Sequence[Type]) -> Signature | None:
    return Signature((BOOLEAN,) * len(given), BOOLEAN) if given and set(given) == {BOOLEAN} else None


def same(least: int) -> Rule:
    """Any number of arguments that meet at one type, which is the result."""

    def rule(given: Sequence[Type]) -> Signature | None:
        if len(given) < least:
            return None
        result: Type | None = given[0]
        for type in given[1:]:
            result = None if result is None else comparable(result, type)
        return None if result is None else Signature((result,) * len(given), result)

    return rule


def membership(given: Sequence[Type]) -> Signature | None:
    found = same(2)(given)
    return None if found is None else Signature(found.args, BOOLEAN)


def any_to(result: Type) -> Rule:
    return lambda given: Signature(tuple(given), result) if len(given) == 1 else None


def number_to_itself(given: Sequence[Type]) -> Signature | None:
    return Signature((given[0],), given[0]) if len(given) == 1 and is_number(given[0]) else None


def number_to_double(given: Sequence[Type]) -> Signature | None:
    return Signature((DOUBLE,), DOUBLE) if len(given) == 1 and is_number(given[0]) else None


def whole_part(given: Sequence[Type]) -> Signature | None:
    """FLOOR and CEIL: BIGINT, or a decimal without digits behind the point."""
    if len(given) != 1 or not is_number(given[0]):
        return None
    type = given[0]
    if type.kind is Kind.DECIMAL:
        digits = type.precision - type.scale + (1 if type.scale else 0)
        return Signature((type,), decimal(digits, 0))
    return Signature((DOUBLE if type.kind is Kind.DOUBLE else BIGINT,), BIGINT)


def rounding(given: Sequence[Type]) -> Signature | None:
    """ROUND without digits, or with digits not yet known: then a decimal keeps its scale."""
    if not 1 <= len(given) <= 2 or not is_number(given[0]) or list(given[1:]) not in ([], [INT]):
        return None
    type = given[0]
    return _rounded(given, type.scale if len(given) == 2 else 0)


def rounding_to(given: Sequence[Type], constants: Sequence[Cell]) -> Signature | None:
    """ROUND to as many digits behind the point as the constant says; before it if negative."""
    digits = cast(int, constants[0]) if constants else 0
    if rounding(given) is None or not -MAX_DIGITS <= digits <= MAX_DIGITS:
        return None
    return _rounded(given, digits)


def _rounded(given: Sequence[Type], digits: int) -> Signature:
    type = given[0]
    if type.kind is not Kind.DECIMAL:
        return Signature(tuple(given), type)
    whole = type.precision - type.scale + 1
    if digits < 0:
        return Signature(tuple(given), decimal(min(max(whole, 1 - digits), MAX_PRECISION), 0))
    scale = min(type.scale, digits)
    return Signature(tuple(given), decimal(min(whole + scale, MAX_PRECISION), scale))


def epoch_arithmetic(symbol: str) -> Rule:
    """TIMESTAMP with a number of milliseconds, or with another TIMESTAMP."""

    def rule(given: Sequence[Type]) -> Signature | None:
        if len(given) != 2 or given[0] != TIMESTAMP:
            return None
        if symbol == "-" and given[1] == TIMESTAMP:
            return Signature((TIMESTAMP, TIMESTAMP), BIGINT)
        if given[1] not in (INT, BIGINT):
            return None
        return Signature((TIMESTAMP, BIGINT), BIGINT if symbol == "%" else TIMESTAMP)

    return rule


def date_part(given: Sequence[Type]) -> Signature | None:
    if len(given) != 1 or given[0] not in (DATE, TIMESTAMP):
        return None
    return Signature(tuple(given), INT)


def texts(least: int) -> Rule:
    """Any number of STRINGs to a STRING."""
    return lambda given: Signature(tuple(given), STRING) if len(given) >= least and set(given) == {STRING} else None


def size(given: Sequence[Type]) -> Signature | None:
    return Signature(tuple(given), INT) if len(given) == 1 and given[0] in (STRING, BINARY) else None


def buckets(given: Sequence[Type]) -> Signature | None:
    """Any values, then how many buckets there are."""
    return Signature(tuple(given), INT) if len(given) >= 2 and given[-1] == INT else None


def bucket_count(given: Sequence[Type], constants: Sequence[Cell]) -> Signature | None:
    return buckets(given) if cast(int, constants[-1]) > 0 else None


def truncation(given: Sequence[Type], constants: Sequence[Cell]) -> Signature | None:
    known = str(constants[0]).lower() in TRUNCATION_UNITS
    return fixed(TIMESTAMP, STRING, TIMESTAMP)(given) if known else None


def padding(given: Sequence[Type], constants: Sequence[Cell]) -> Signature | None:
    """The length is a constant, since whoever may choose it freely may ask for two gigabytes."""
    fits = 0 <= cast(int, constants[0]) <= MAX_PADDING
    return fixed(STRING, STRING, INT, STRING)(given) if fits else None
