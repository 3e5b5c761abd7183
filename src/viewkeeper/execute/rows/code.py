"""Python text for one operation, which expr.py joins into one function per expression.

An implementation is asked once per call in a plan, and may choose by the types and constants of that call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viewkeeper.model.types import BIGINT_MAX, BIGINT_MIN, INT_MAX, INT_MIN, Kind, Type
from viewkeeper.plan.expr import Call

Bind = Callable[[Any], str]
"""Makes an object known to the generated function, and gives the name that it has there."""


@dataclass(frozen=True, slots=True)
class Code:
    """An operation as text, in which `{0}`, `{1}` … are its arguments: names or constants, safe to repeat.

    Where the function propagates NULL, no argument is None when the text runs. `fits` is a condition on the result
    `{v}` without which the operation failed; `fallible` says that the text itself gives None where it fails.
    """

    text: str
    fits: str | None = None
    fallible: bool = False


Implementation = Callable[[Call, Bind], Code]


def inline(text: str) -> Implementation:
    """The same text for every call; it cannot fail."""
    return lambda call, bind: Code(text)


def calls(function: Callable[..., Any], *, fallible: bool = False) -> Implementation:
    """A plain Python function of the arguments, which gives None where it fails."""

    def implementation(call: Call, bind: Bind) -> Code:
        places = ", ".join(f"{{{place}}}" for place in range(len(call.args)))
        return Code(f"{bind(function)}({places})", fallible=fallible)

    return implementation


def range_check(type: Type) -> str | None:
    """The condition on `{v}` that a whole number, or the units of a decimal, are within the type."""
    match type.kind:
        case Kind.INT:
            return f"{INT_MIN} <= {{v}} <= {INT_MAX}"
        case Kind.BIGINT:
            return f"{BIGINT_MIN} <= {{v}} <= {BIGINT_MAX}"
        case Kind.DECIMAL:
            return f"-{10**type.precision} < {{v}} < {10**type.precision}"
    return None
