"""Linear steps as expressions over the columns of the source: what becomes of a row, on which conditions.

    σ_{n > 1} π_{a + 1 AS n} R    becomes    conditions (a + 1 > 1), columns (a + 1)

A step that makes several rows of one makes several branches. So two views that say the same in other words, or read
other columns beside, have equal expressions, which are then computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from viewkeeper.delta.deltaplan import Changes, Compute, Linear, Multiply, Select, Words
from viewkeeper.delta.joinplan import ManySource
from viewkeeper.plan.expr import Expr, Input, children, substitute
from viewkeeper.plan.failing import can_fail

MAX_SIZE = 300
"""Operations of one expression. Each step may use what is below it twice, so depth alone could make it any size."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One row of what a source row becomes: these columns, where all conditions are true.

    The index of an `Input` is the id of a column of the source.
    """

    conditions: tuple[Expr, ...]
    columns: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Risk:
    """An expression that can fail, and the conditions on which it is evaluated at all."""

    conditions: tuple[Expr, ...]
    expr: Expr


@dataclass(frozen=True, slots=True)
class Branches:
    branches: tuple[Branch, ...]
    risks: tuple[Risk, ...]


def branches(source: Changes | ManySource, linear: Sequence[Linear]) -> Branches | None:
    """What linear steps make of a source row; None if that cannot be said in expressions of sensible size.

    The words of a text cannot: how many there are is not known beforehand.
    """
    start = tuple(Input(column, type) for column, type in zip(source.columns, source.types, strict=True))
    open_ones = [Branch((), start)]
    risks: dict[str, Risk] = {}
    for step in linear:
        if isinstance(step, Words):
            return None
        grown: list[Branch] = []
        for branch in open_ones:
            made = _step(step, branch, risks)
            if made is None:
                return None
            grown += made
        open_ones = grown
    return Branches(tuple(open_ones), tuple(risks.values()))


def _step(step: Select | Compute | Multiply, branch: Branch, risks: dict[str, Risk]) -> list[Branch] | None:
    shapes: tuple[tuple[Expr, ...], ...]
    match step:
        case Select(condition):
            shapes = ((condition,),)
        case Compute(exprs):
            shapes = (exprs,)
        case Multiply(projections):
            shapes = projections
        case _:
            assert_never(step)
    sizes = [_size(column, None) for column in branch.columns]
    if any(_size(expr, sizes) > MAX_SIZE for shape in shapes for expr in shape):
        return None
    made = []
    for shape in shapes:
        over = tuple(substitute(expr, branch.columns) for expr in shape)
        for expr, said in zip(shape, over, strict=True):
            # What a column brings along was at risk where it was computed, and is counted there.
            if can_fail(expr):
                risk = Risk(branch.conditions, said)
                risks[repr(risk)] = risk
        if isinstance(step, Select):
            made.append(Branch((*branch.conditions, *over), branch.columns))
        else:
            made.append(Branch(branch.conditions, over))
    return made


def _size(expr: Expr, columns: list[int] | None) -> int:
    """The operations in an expression, those of its input columns included."""
    if isinstance(expr, Input):
        return 1 if columns is None else columns[expr.index]
    return 1 + sum(_size(child, columns) for child in children(expr))
