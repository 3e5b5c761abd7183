"""Every function against the one that Spark SQL has by that name, on random arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from tests.execute.expressions.both import Outcome, all_in_rows, collect
from tests.execute.expressions.by_name import SPARK, named
from tests.execute.expressions.notation import call
from tests.execute.expressions.random_cells import TYPES, random_cell
from tests.execute.expressions.random_exprs import CONSTANTS, any_decimal, argument_types
from tests.strategies import same_cells
from viewkeeper.execute.rows.functions import IMPLEMENTATIONS as IN_ROWS
from viewkeeper.execute.rows.functions import LAZY
from viewkeeper.execute.spark.functions import IMPLEMENTATIONS as ON_SPARK
from viewkeeper.model.arrow import from_cells
from viewkeeper.model.types import Cell, Kind, Row, Type
from viewkeeper.plan.casts import can_cast
from viewkeeper.plan.expr import Cast, Expr, Input, Literal
from viewkeeper.plan.functions import FUNCTIONS

OWN = {"bucket", "has_word", "has_word_like"}
"""Functions that Spark has not."""
SIZE = 120


@dataclass(frozen=True, slots=True)
class Comparison:
    """One call of one function on columns of its own, in Spark's words and in ours."""

    expr: Expr
    types: list[Type]
    rows: list[Row]
    outcomes: list[Outcome]
    sql: str
    compared: list[bool]


def test_both_executors_implement_exactly_the_functions() -> None:
    assert set(ON_SPARK) == set(FUNCTIONS)
    assert set(IN_ROWS) | LAZY == set(FUNCTIONS)
    assert not set(IN_ROWS) & LAZY


def test_every_function_is_compared_with_the_one_of_spark() -> None:
    assert set(SPARK) | OWN == set(FUNCTIONS)
    assert not set(SPARK) & OWN


def _function(rng: Random, name: str, place: int) -> Comparison:
    types = argument_types(rng, name)
    constants = {number % len(types) for number in FUNCTIONS[name].constants if number < len(types)}
    args: list[Expr] = []
    texts = []
    for number, type in enumerate(types):
        if number in constants:
            value: Any = CONSTANTS[name](rng)
            args.append(Literal(value, type))
            texts.append(repr(value))
        else:
            args.append(Input(number, type))
            texts.append(f"c{place}_{number}")
    rows = [tuple(random_cell(rng, type) for type in types) for _ in range(SIZE)]
    spark, expr = named(name, types), call(name, *args)
    outcomes = all_in_rows(expr, rows)
    converted = [arg.type for arg in expr.args]
    kept = [
        not spark.exclude(converted, list(row)) and (spark.total or not outcome.failed)
        for row, outcome in zip(rows, outcomes, strict=True)
    ]
    return Comparison(expr, types, rows, outcomes, spark.sql(texts), kept)


def _own_values(spark: SparkSession, comparisons: Sequence[Comparison]) -> list[list[Cell]]:
    """What Spark gives for each, by row, NULL where it is not compared; all in one job."""
    arrays, names, columns = [], [], []
    for place, each in enumerate(comparisons):
        for number, type in enumerate(each.types):
            arrays.append(from_cells([row[number] for row in each.rows], type))
            names.append(f"c{place}_{number}")
        arrays.append(pa.array(each.compared))
        names.append(f"compared_{place}")
        columns.append(sf.expr(f"CASE WHEN compared_{place} THEN {each.sql} END"))
    frame = spark.createDataFrame(pa.table(arrays, names))
    _check_types(frame.select(*columns).schema, comparisons)
    return collect(frame, columns, [each.expr.type for each in comparisons])


def _check_types(schema: Any, comparisons: Sequence[Comparison]) -> None:
    found = [field.dataType.simpleString().upper() for field in schema]
    assert found == [str(each.expr.type) for each in comparisons]


def _deviations(comparisons: Sequence[Comparison], own: list[list[Cell]]) -> list[tuple[Any, ...]]:
    found = []
    for each, values in zip(comparisons, own, strict=True):
        for outcome, value, row, kept in zip(each.outcomes, values, each.rows, each.compared, strict=True):
            if kept and not same_cells([outcome.value], [value]):
                found.append((each.sql, each.types, row, outcome.value, value))
                break
    return found


def test_functions_are_those_of_spark(
    spark: SparkSession, seeds: list[int], record_property: pytest.RecordProperty
) -> None:
    for seed in seeds:
        rng = Random(seed)
        names = [name for name in SPARK for _ in range(4 if name in ("+", "-", "*", "/", "%", "round") else 2)]
        comparisons = [_function(rng, name, place) for place, name in enumerate(names)]
        assert _deviations(comparisons, _own_values(spark, comparisons)) == [], f"seed {seed}"
        record_property("random cases tried", sum(sum(each.compared) for each in comparisons))


def _cast(rng: Random, source: Type, target: Type, place: int) -> Comparison:
    rows: list[Row] = [(random_cell(rng, source),) for _ in range(SIZE)]
    expr = Cast(Input(0, source), target)
    outcomes = all_in_rows(expr, rows)
    kept = [not _cast_deviates(source, target, *pair) for pair in zip((row[0] for row in rows), outcomes, strict=True)]
    return Comparison(expr, [source], rows, outcomes, f"try_cast(c{place}_0 AS {target})", kept)


def _cast_deviates(source: Type, target: Type, cell: Any, outcome: Outcome) -> bool:
    """The deviations that docs/functions.md lists."""
    match source.kind, target.kind:
        case Kind.STRING, Kind.DOUBLE | Kind.DECIMAL | Kind.DATE | Kind.TIMESTAMP:
            return outcome.failed
        case Kind.DOUBLE, Kind.DECIMAL:
            return cell is not None and cell == cell and float(f"{cell:.15g}") != cell
        case Kind.DECIMAL, Kind.INT:
            return cell is not None and abs(cell) > 2**53
    return False


def test_conversions_are_those_of_spark(
    spark: SparkSession, seeds: list[int], record_property: pytest.RecordProperty
) -> None:
    for seed in seeds:
        rng = Random(seed)
        types = (*TYPES, *(any_decimal(rng) for _ in range(3)))
        pairs = [(given, target) for given in types for target in types if given != target and can_cast(given, target)]
        comparisons = [_cast(rng, given, target, place) for place, (given, target) in enumerate(pairs)]
        assert _deviations(comparisons, _own_values(spark, comparisons)) == [], f"seed {seed}"
        record_property("random cases tried", sum(sum(each.compared) for each in comparisons))
