"""Decimal arithmetic on scaled integers: exact, then rounded half up, away from zero, to the scale of the result."""

from __future__ import annotations

from viewkeeper.execute.rows.code import Bind, Code, range_check
from viewkeeper.model.types import Kind
from viewkeeper.plan.expr import Call
from viewkeeper.plan.failing import call_can_fail, rounding_digits


def half_up(units: int, divisor: int) -> int:
    """units / divisor, a positive one, to the nearest whole number; a half away from zero.

    >>> half_up(25, 10), half_up(-25, 10), half_up(-24, 10)
    (3, -3, -2)
    """
    if units < 0:
        return -((divisor - 2 * units) // (2 * divisor))
    return (2 * units + divisor) // (2 * divisor)


def divide(units: int, divisor: int) -> int | None:
    """Like half_up, for any divisor; None for 0."""
    if divisor < 0:
        return half_up(-units, -divisor)
    return half_up(units, divisor) if divisor else None


def remainder(units: int, divisor: int) -> int | None:
    """What truncating division leaves, with the sign of `units`; None for the divisor 0.

    >>> remainder(-7, 2), remainder(7, -2)
    (-1, 1)
    """
    if not divisor:
        return None
    left = abs(units) % abs(divisor)
    return -left if units < 0 else left


def quotient(units: int, divisor: int) -> int | None:
    """The whole part of units / divisor; None for the divisor 0.

    >>> quotient(-7, 2)
    -3
    """
    if not divisor:
        return None
    whole = abs(units) // abs(divisor)
    return whole if (units < 0) == (divisor < 0) else -whole


def rescaled(text: str, scale: int, target: int, bind: Bind) -> str:
    """The text of units at one scale as text of units at another."""
    if target >= scale:
        return _times(text, target - scale)
    return f"{bind(half_up)}({text}, {10 ** (scale - target)})"


def _times(text: str, power: int) -> str:
    return f"{text} * {10**power}" if power else text


def decimal_arithmetic(call: Call, bind: Bind) -> Code:
    left, right = call.args[0].type.scale, call.args[1].type.scale
    target = call.type.scale
    check = range_check(call.type) if call_can_fail(call) else None
    both = max(left, right)
    first, second = _times("{0}", both - left), _times("{1}", both - right)
    match call.name:
        case "+" | "-":
            return Code(rescaled(f"({first} {call.name} {second})", both, target, bind), check)
        case "*":
            return Code(rescaled("({0} * {1})", left + right, target, bind), check)
        case "/":
            power = target + right - left
            numerator, denominator = _times("{0}", max(power, 0)), _times("{1}", max(-power, 0))
            return Code(f"{bind(divide)}({numerator}, {denominator})", check, fallible=True)
        case "%":
            return Code(f"{bind(remainder)}({first}, {second})", fallible=True)
        case "div":
            return Code(f"{bind(quotient)}({first}, {second})", range_check(call.type), fallible=True)
    raise ValueError(f"no decimal arithmetic {call.name}")


def decimal_round(call: Call, bind: Bind) -> Code:
    """To so many digits behind the point, at the scale of the result; to a negative number, digits before it are 0."""
    scale, digits = call.args[0].type.scale, rounding_digits(call)
    check = range_check(call.type) if call_can_fail(call) else None
    if call.args[0].type.kind is not Kind.DECIMAL:
        scale = 0
    kept = min(digits, scale)
    return Code(_times(rescaled("{0}", scale, kept, bind), call.type.scale - kept), check)
