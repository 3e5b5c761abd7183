"""Numbers: whole ones within 32 and 64 bits, IEEE doubles; decimals.py has the decimals."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, cast

from viewkeeper.execute.rows.bucket import bucket_of
from viewkeeper.execute.rows.code import Bind, Code, Implementation, calls, inline, range_check
from viewkeeper.execute.rows.decimals import decimal_arithmetic, decimal_round, quotient, remainder
from viewkeeper.model.types import BIGINT_MAX, BIGINT_MIN, Kind
from viewkeeper.plan.expr import Call, Literal
from viewkeeper.plan.failing import call_can_fail, rounding_digits

_PLENTY = Context(prec=800, rounding=ROUND_HALF_UP)
"""The widest double, written out to its smallest digit, has 767 digits."""


def _arithmetic(call: Call, bind: Bind) -> Code:
    match call.args[0].type.kind:
        case Kind.DECIMAL:
            return decimal_arithmetic(call, bind)
        case Kind.DOUBLE:
            return _double_arithmetic(call, bind)
        case _:
            return _whole_arithmetic(call, bind)


def _double_arithmetic(call: Call, bind: Bind) -> Code:
    fallible = call_can_fail(call)
    match call.name:
        case "/":
            return Code("({0} / {1} if {1} else None)" if fallible else "{0} / {1}", fallible=fallible)
        case "%":
            return Code(f"{bind(double_remainder)}({{0}}, {{1}})", fallible=fallible)
    return Code(f"{{0}} {call.name} {{1}}")


def double_remainder(value: float, divisor: float) -> float | None:
    """IEEE remainder of truncating division, NaN of an infinite value; None for the divisor 0."""
    if not divisor:
        return None
    return math.nan if math.isinf(value) else math.fmod(value, divisor)


def _whole_arithmetic(call: Call, bind: Bind) -> Code:
    divisor = call.args[1]
    positive = isinstance(divisor, Literal) and isinstance(divisor.value, int) and divisor.value > 0
    match call.name:
        case "%" if positive:
            return Code("({0} % {1} if {0} >= 0 else -(-{0} % {1}))")
        case "%":
            return Code(f"{bind(remainder)}({{0}}, {{1}})", fallible=True)
        case "div":
            return Code(f"{bind(quotient)}({{0}}, {{1}})", range_check(call.type), fallible=True)
    return Code(f"{{0}} {call.name} {{1}}", range_check(call.type))


def _checked(text: str) -> Implementation:
    """A text whose result may leave the range of an integer type."""
    return lambda call, bind: Code(text, range_check(call.type) if call_can_fail(call) else None)


def _whole_part(round_double: Callable[[float], int], sign: str) -> Implementation:
    """FLOOR (sign "") or CEIL (sign "-": the negated floor of what is negated)."""

    def implementation(call: Call, bind: Bind) -> Code:
        type = call.args[0].type
        match type.kind:
            case Kind.DOUBLE:
                return Code(f"{bind(_in_range(round_double))}({{0}})", fallible=True)
            case Kind.DECIMAL:
                return Code(f"{sign}({sign}{{0}} // {10**type.scale})")
        return Code("{0}")

    return implementation


def _in_range(round_double: Callable[[float], int]) -> Callable[[float], int | None]:
    def rounded(value: float) -> int | None:
        if not -(2.0**63) <= value < 2.0**63:
            return None
        return round_double(value)

    return rounded


def _round(call: Call, bind: Bind) -> Code:
    if call.args[0].type.kind is not Kind.DOUBLE:
        return decimal_round(call, bind)
    return Code(f"{bind(round_double)}({{0}}, {rounding_digits(call)})")


def round_double(value: float, digits: int) -> float:
    """The shortest decimal that reads back as this double, rounded half up, as a double again.

    >>> round_double(2.675, 2), round_double(-15.0, -1), round_double(1e300, 2)
    (2.68, -20.0, 1e+300)
    """
    if not math.isfinite(value):
        return value
    rounded = Decimal(repr(value)).quantize(Decimal((0, (1,), -digits)), context=_PLENTY)
    # Decimal keeps the sign of zero; rounding by way of a scaled integer, as the JVM does, gives the positive one.
    return float(rounded) if rounded else 0.0


def double_to_whole(value: float, least: int, most: int) -> int | None:
    """Cut towards zero; None for NaN and outside least … most.

    2.0**63 counts as the largest BIGINT, as it does in the JVM: that is what the largest BIGINT is as a double.
    """
    if not math.isfinite(value):
        return None
    whole = int(value)
    if least <= whole <= most:
        return whole
    return most if most == BIGINT_MAX and whole == -BIGINT_MIN else None


def double_to_decimal(value: float, precision: int, scale: int) -> int | None:
    """Units of 10**-scale of the shortest decimal that reads back as this double, rounded half up."""
    if not math.isfinite(value) or abs(value) >= 10.0**39:
        return None
    units = int(Decimal(repr(value)).scaleb(scale, _PLENTY).to_integral_value(ROUND_HALF_UP, _PLENTY))
    return units if abs(units) < 10**precision else None


def _sign(value: float) -> float:
    return value if value == 0 or value != value else math.copysign(1.0, value)


def _sqrt(value: float) -> float:
    return math.nan if value < 0 else math.sqrt(value)


def _bucket(call: Call, bind: Bind) -> Code:
    count = cast(Literal, call.args[-1])
    function: Any = bucket_of(tuple(arg.type for arg in call.args[:-1]), cast(int, count.value))
    cells = "".join(f"{{{place}}}, " for place in range(len(call.args) - 1))
    return Code(f"{bind(function)}(({cells}))")


NUMERIC: dict[str, Implementation] = {
    "+": _arithmetic,
    "-": _arithmetic,
    "*": _arithmetic,
    "/": _arithmetic,
    "%": _arithmetic,
    "div": _arithmetic,
    "negate": _checked("-{0}"),
    "abs": _checked("abs({0})"),
    "floor": _whole_part(math.floor, ""),
    "ceil": _whole_part(math.ceil, "-"),
    "round": _round,
    "sign": calls(_sign),
    "sqrt": calls(_sqrt),
    "isnan": inline("{0} != {0}"),
    "bucket": _bucket,
}
