"""The columns that tasks are given: each different expression of all plans once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as sf

from viewkeeper.execute.spark.branches import Risk
from viewkeeper.execute.spark.chunk import Constant, Ref
from viewkeeper.execute.spark.code import all_of, any_of
from viewkeeper.execute.spark.expr import Translation
from viewkeeper.model.types import BOOLEAN, Type
from viewkeeper.plan.expr import Call, Expr, Input, Literal

WEIGHT = "_w"
"""The column of a source frame that holds the weights."""


def source_column(column: int) -> str:
    """The name that a column of the source has in a frame."""
    return f"c{column}"


@dataclass(frozen=True, slots=True)
class SourceColumns:
    """Columns of a source frame by number."""

    def __getitem__(self, column: int) -> Column:
        return sf.col(source_column(column))


class ColumnPool:
    """Gives each expression a name, and Spark columns for all of them. Needs a session to be active."""

    def __init__(self) -> None:
        self._translation = Translation(SourceColumns())
        self._names: dict[str, str] = {}
        self.columns: dict[str, Column] = {}
        self.types: dict[str, Type] = {}

    def ref(self, expr: Expr) -> Ref:
        """Where a task finds the value of an expression."""
        if isinstance(expr, Literal):
            return Constant(expr.value, expr.type)
        if isinstance(expr, Input):
            return self._named(source_column(expr.index), sf.col(source_column(expr.index)), expr.type)
        # By text, in which 0.0 and -0.0 differ.
        key = repr(expr)
        if key not in self._names:
            self._names[key] = self._named(f"e{len(self.columns)}", self._translation.column(expr), expr.type)
        return self._names[key]

    def condition(self, conditions: Sequence[Expr]) -> Ref | None:
        """Where a task finds whether all conditions are true, not FALSE or NULL; None if there are none."""
        if not conditions:
            return None
        if len(conditions) == 1:
            return self.ref(conditions[0])
        return self.ref(Call("and", tuple(conditions), BOOLEAN))

    def failure(self, risks: Sequence[Risk]) -> str | None:
        """Where a task finds whether anything failed on a row (TRUE, else FALSE or NULL); None if nothing can."""
        key = repr(risks)
        if key not in self._names:
            failed = [column for column in map(self._failed, risks) if column is not None]
            if not failed:
                return None
            self._names[key] = self._named(f"e{len(self.columns)}", any_of(failed), BOOLEAN)
        return self._names[key]

    def _failed(self, risk: Risk) -> Column | None:
        failed = self._translation.failed(risk.expr)
        if failed is None:
            return None
        return all_of([*map(self._translation.column, risk.conditions), failed])

    def _named(self, name: str, column: Column, type: Type) -> str:
        self.columns.setdefault(name, column)
        self.types.setdefault(name, type)
        return name
