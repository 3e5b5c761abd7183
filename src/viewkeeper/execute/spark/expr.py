"""Expressions as columns, each with the rows on which it failed.

A function that propagates NULL failed where its value is NULL and its arguments are not. CASE and COALESCE fail only in
what the row executor would have evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, assert_never

from pyspark.sql import Column
from pyspark.sql import functions as sf

from viewkeeper.execute.spark.casts import cast_column
from viewkeeper.execute.spark.code import all_of, any_of
from viewkeeper.execute.spark.functions import IMPLEMENTATIONS
from viewkeeper.execute.spark.literals import literal
from viewkeeper.plan.casts import cast_can_fail
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, Parameter
from viewkeeper.plan.failing import call_can_fail


def column(expr: Expr, inputs: Sequence[Column]) -> Column:
    """The value of an expression over these input columns, which have the types that the expression says."""
    return Translation(inputs).column(expr)


def failed(expr: Expr, inputs: Sequence[Column]) -> Column | None:
    """Whether an expression failed on a row, never NULL; None if it cannot fail."""
    return Translation(inputs).failed(expr)


class Inputs(Protocol):
    """The columns that `Input` speaks of."""

    def __getitem__(self, index: int, /) -> Column: ...


class Translation:
    """Columns and failures of any number of expressions over the same input."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        # By identity: constants that are equal, such as 0.0 and -0.0, need not be the same.
        self._columns: dict[int, tuple[Expr, Column]] = {}

    def column(self, expr: Expr) -> Column:
        known = self._columns.get(id(expr))
        if known is not None:
            return known[1]
        made = self._column(expr)
        self._columns[id(expr)] = expr, made
        return made

    def _column(self, expr: Expr) -> Column:
        match expr:
            case Input(index, _):
                return self._inputs[index]
            case Literal(value, type):
                return literal(value, type)
            case Parameter():
                raise ValueError("parameters are filled in before a plan comes to Spark")
            case Call(name, args, _):
                return IMPLEMENTATIONS[name](expr, [self.column(arg) for arg in args])
            case Cast(arg, _):
                return cast_column(expr, self.column(arg))
            case Case(branches, otherwise, _):
                (condition, result), *more = branches
                chain = sf.when(self.column(condition), self.column(result))
                for condition, result in more:
                    chain = chain.when(self.column(condition), self.column(result))
                return chain.otherwise(self.column(otherwise))
        assert_never(expr)

    def failed(self, expr: Expr) -> Column | None:
        match expr:
            case Input() | Literal() | Parameter():
                return None
            case Call("coalesce", args, _):
                return self._coalesce_failed(args)
            case Call(_, args, _):
                return _either([self._failed_here(expr, args, call_can_fail(expr)), *map(self.failed, args)])
            case Cast(arg, type):
                return _either([self._failed_here(expr, (arg,), cast_can_fail(arg.type, type)), self.failed(arg)])
            case Case():
                return self._case_failed(expr)
        assert_never(expr)

    def _failed_here(self, expr: Expr, args: Sequence[Expr], can_fail: bool) -> Column | None:
        if not can_fail:
            return None
        known = [self.column(arg).isNotNull() for arg in args if not isinstance(arg, Literal)]
        if any(isinstance(arg, Literal) and arg.value is None for arg in args):
            return None
        return all_of([self.column(expr).isNull(), *known])

    def _coalesce_failed(self, args: Sequence[Expr]) -> Column | None:
        """An argument counts where all before it are NULL."""
        later: Column | None = None
        for arg in reversed(args):
            if later is not None:
                later = self.column(arg).isNull() & later
            later = _either([self.failed(arg), later])
        return later

    def _case_failed(self, expr: Case) -> Column | None:
        """A condition counts where none before it is true, a result where its condition is the first that is."""
        later = self.failed(expr.otherwise)
        for condition, result in reversed(expr.branches):
            here = self.failed(result)
            if here is not None or later is not None:
                no = sf.lit(False)
                later = sf.when(self.column(condition), no if here is None else here).otherwise(
                    no if later is None else later
                )
            later = _either([self.failed(condition), later])
        return later


def _either(columns: list[Column | None]) -> Column | None:
    known = [column for column in columns if column is not None]
    return any_of(known) if known else None


def _or_no(column: Column | None) -> Column:
    return sf.lit(False) if column is None else column
