"""Expressions run by both executors over the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from tests.strategies import same_cells
from viewkeeper.execute.rows.expr import Failures, compile_expr
from viewkeeper.execute.spark.expr import Translation
from viewkeeper.model.arrow import from_cells, to_cells
from viewkeeper.model.types import BOOLEAN, Cell, Row, Type
from viewkeeper.plan.expr import Expr


@dataclass(frozen=True, slots=True)
class Outcome:
    value: Cell
    failed: bool

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Outcome):
            return NotImplemented
        return self.failed == other.failed and same_cells([self.value], [other.value])

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Difference:
    """An expression on which the executors differ, and the row."""

    expr: Expr
    row: Row
    rows: Outcome
    spark: Outcome


def in_rows(expr: Expr, row: Row) -> Outcome:
    return all_in_rows(expr, [row])[0]


def all_in_rows(expr: Expr, rows: Sequence[Row]) -> list[Outcome]:
    function = compile_expr(expr)
    outcomes = []
    for row in rows:
        failures = Failures()
        value = function(row, failures)
        outcomes.append(Outcome(value, failures.count > 0))
    return outcomes


def data_frame(spark: SparkSession, types: Sequence[Type], rows: Sequence[Row]) -> tuple[DataFrame, list[Column]]:
    """The rows in Spark, and their columns."""
    arrays = [from_cells([row[place] for row in rows], type) for place, type in enumerate(types)]
    names = [f"c{place}" for place in range(len(types))]
    return spark.createDataFrame(pa.table(arrays, names)), [sf.col(name) for name in names]


def collect(frame: DataFrame, columns: Sequence[Column], types: Sequence[Type]) -> list[list[Cell]]:
    """The cells of these columns, by column, in the order of the rows."""
    selected = frame.select(*(column.alias(f"r{place}") for place, column in enumerate(columns))).toArrow()
    return [to_cells(array.combine_chunks(), type) for array, type in zip(selected.columns, types, strict=True)]


def in_spark(
    spark: SparkSession, exprs: Sequence[Expr], types: Sequence[Type], rows: Sequence[Row]
) -> list[list[Outcome]]:
    """For each expression its outcomes by row; all in one job."""
    frame, inputs = data_frame(spark, types, rows)
    translation = Translation(inputs)
    values = [translation.column(expr) for expr in exprs]
    flags = [translation.failed(expr) for expr in exprs]
    shown = [*values, *(sf.lit(False) if flag is None else flag for flag in flags)]
    cells = collect(frame, shown, [*(expr.type for expr in exprs), *(BOOLEAN for _ in exprs)])
    outcomes = []
    for place in range(len(exprs)):
        failed = cells[len(exprs) + place]
        assert None not in failed
        outcomes.append([Outcome(value, bool(flag)) for value, flag in zip(cells[place], failed, strict=True)])
    return outcomes


def differences(
    spark: SparkSession, exprs: Sequence[Expr], types: Sequence[Type], rows: Sequence[Row]
) -> list[Difference]:
    """Where the executors differ; of each expression the first row."""
    found = []
    for expr, outcomes in zip(exprs, in_spark(spark, exprs, types, rows), strict=True):
        for row, mine, outcome in zip(rows, all_in_rows(expr, rows), outcomes, strict=True):
            if mine != outcome:
                found.append(Difference(expr, row, mine, outcome))
                break
    return found
