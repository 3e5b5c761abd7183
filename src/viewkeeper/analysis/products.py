"""A sum of products over a join, factor by factor.

SUM(a · b)  =  SUM(a · Σb)      a of some sources, Σb the sum of b over the rows of the others that belong to one a
SUM(a)      =  SUM(a · n)       n how many these are
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from viewkeeper.analysis.conditions import core
from viewkeeper.model.types import Kind, Type
from viewkeeper.plan.expr import Call, Cast, Expr, inputs
from viewkeeper.plan.numbers import arithmetic


def factors(expr: Expr) -> list[Expr]:
    """What an expression is the product of; itself, if it is none."""
    inner = core(expr)
    match inner:
        case Call("*", (left, right), _):
            return [*factors(left), *factors(right)]
    return [inner]


def parted(expr: Expr, is_inside: Callable[[int], bool]) -> tuple[list[Expr], list[Expr]] | None:
    """The factors that read only what is inside, then all others; None if one reads both."""
    inside: list[Expr] = []
    outside: list[Expr] = []
    for one in factors(expr):
        sides = {is_inside(place) for place in inputs(one)}
        if len(sides) > 1:
            return None
        (inside if sides == {True} else outside).append(one)
    return inside, outside


def product(parts: Sequence[Expr]) -> Expr | None:
    """Some factors multiplied; None where digits behind the point would be given up."""
    made = parts[0]
    for one in parts[1:]:
        left, right, type = arithmetic("*", made.type, one.type)
        if type.kind is Kind.DECIMAL and type.scale < left.scale + right.scale:
            return None
        made = Call("*", (_as(made, left), _as(one, right)), type)
    return made


def _as(expr: Expr, type: Type) -> Expr:
    return expr if expr.type == type else Cast(expr, type)
