"""Which expressions can fail on some row.

What cannot fail needs no check in an executor and no flag beside its value. The answer leans to yes: it is no only
where no value of the argument types, with the constants as they are, makes the expression fail.
"""

from __future__ import annotations

from viewkeeper.model.types import DOUBLE, MAX_PRECISION, TIMESTAMP, Kind
from viewkeeper.plan.casts import cast_can_fail
from viewkeeper.plan.expr import Call, Cast, Expr, Literal, children
from viewkeeper.plan.functions import FUNCTIONS
from viewkeeper.plan.likes import like_parts
from viewkeeper.plan.numbers import exact_digits


def can_fail(expr: Expr) -> bool:
    """Whether an expression, or a part of it, can fail."""
    match expr:
        case Call():
            here = call_can_fail(expr)
        case Cast(arg, type):
            here = cast_can_fail(arg.type, type)
        case _:
            here = False
    return here or any(map(can_fail, children(expr)))


def call_can_fail(call: Call) -> bool:
    """Whether a call can fail on arguments that do not."""
    if not FUNCTIONS[call.name].can_fail:
        return False
    first, last = call.args[0], call.args[-1]
    match call.name:
        case "+" | "-" | "*":
            return call.type != DOUBLE and not _is_exact(call)
        case "/" | "%":
            return not _is_nonzero(last) or not (call.type == DOUBLE or call.name == "%" or _is_exact(call))
        case "div":
            return not _is_nonzero(last) or first.type.kind is Kind.DECIMAL or last == Literal(-1, last.type)
        case "epoch%" | "split_part":
            return not _is_nonzero(last)
        case "epoch-":
            return last.type != TIMESTAMP
        case "negate" | "abs":
            return call.type.kind in (Kind.INT, Kind.BIGINT)
        case "floor" | "ceil":
            return first.type == DOUBLE
        case "round":
            return _round_can_fail(call)
        case "like":
            return not (
                isinstance(last, Literal) and isinstance(last.value, str) and like_parts(last.value) is not None
            )
    return True


def _is_exact(call: Call) -> bool:
    """Whether decimal arithmetic has room for every result."""
    if call.type.kind is not Kind.DECIMAL:
        return False
    precision, _ = exact_digits(call.name, call.args[0].type, call.args[1].type)
    return precision <= MAX_PRECISION


def _is_nonzero(arg: Expr) -> bool:
    return isinstance(arg, Literal) and arg.value is not None and arg.value != 0


def _round_can_fail(call: Call) -> bool:
    type, digits = call.args[0].type, rounding_digits(call)
    match type.kind:
        case Kind.INT | Kind.BIGINT:
            return digits < 0
        case Kind.DECIMAL:
            # One digit more before the point than the argument has, unless 38 are not enough.
            whole = max(type.precision - type.scale, -digits) + 1
            return digits < type.scale and whole > call.type.precision - call.type.scale
    return False


def rounding_digits(call: Call) -> int:
    """How many digits behind the point a ROUND keeps; 0 where it does not say."""
    if len(call.args) == 1:
        return 0
    digits = call.args[1]
    if not (isinstance(digits, Literal) and isinstance(digits.value, int)):
        raise ValueError("the digits of ROUND are a constant")
    return digits.value
