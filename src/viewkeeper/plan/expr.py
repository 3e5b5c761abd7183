"""Scalar expressions over one input row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from viewkeeper.model.types import BOOLEAN, Cell, Type


@dataclass(frozen=True, slots=True)
class Input:
    """The input column at a place, counted from 0."""

    index: int
    type: Type


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant, as a cell; NULL has a type too."""

    value: Cell
    type: Type


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that is given when a query is run: `:key`, or the ? of that number, counted from 0.

    `element` is the place in a list that is given for IN; see sql/query_params.py for what fills the places behind its
    end. With `expr` it is not given but computed, once a run, from others that are; its key is the text of that.
    """

    key: str | int
    type: Type
    element: int | None = None
    expr: Expr | None = None

    @property
    def written(self) -> str:
        """As it stands in SQL."""
        if not isinstance(self.key, str):
            return "?"
        return self.key if self.expr is not None else f":{self.key}"


@dataclass(frozen=True, slots=True)
class Call:
    """A function of plan/functions.py. Its arguments have exactly the types that the function takes."""

    name: str
    args: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion; NULL, counted as an error, where it fails. See plan/casts.py for what converts to what."""

    arg: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Case:
    """The result of the first branch whose condition is true, else `otherwise`.

    Only conditions up to that branch, and its result, are evaluated: an error elsewhere does not count.
    """

    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr
    type: Type

    def __post_init__(self) -> None:
        if not self.branches:
            raise ValueError("CASE needs a branch")
        for condition, result in self.branches:
            if condition.type != BOOLEAN or result.type != self.type:
                raise ValueError("a branch of CASE has another type")
        if self.otherwise.type != self.type:
            raise ValueError("ELSE of CASE has another type")


Expr = Input | Literal | Parameter | Call | Cast | Case


def children(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Input() | Literal() | Parameter():
            return ()
        case Call(_, args, _):
            return args
        case Cast(arg, _):
            return (arg,)
        case Case(branches, otherwise, _):
            return (*(part for branch in branches for part in branch), otherwise)


def inputs(expr: Expr) -> Iterator[int]:
    """The input columns that an expression reads; one may come several times."""
    if isinstance(expr, Input):
        yield expr.index
    for child in children(expr):
        yield from inputs(child)


def rewrite(expr: Expr, change: Callable[[Input], Expr]) -> Expr:
    """The expression with each input replaced."""
    match expr:
        case Input():
            return change(expr)
        case Literal() | Parameter():
            return expr
        case Call(name, args, type):
            return Call(name, tuple(rewrite(arg, change) for arg in args), type)
        case Cast(arg, type):
            return Cast(rewrite(arg, change), type)
        case Case(branches, otherwise, type):
            pairs = tuple((rewrite(condition, change), rewrite(result, change)) for condition, result in branches)
            return Case(pairs, rewrite(otherwise, change), type)


def substitute(expr: Expr, columns: tuple[Expr, ...]) -> Expr:
    """The expression over another input, given what its columns are there."""
    return rewrite(expr, lambda column: columns[column.index])
