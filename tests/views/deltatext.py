"""A delta plan as a text: one step a line, from the changes of the source down to the rows of the view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from viewkeeper.delta.deltaplan import (
    AggregateSink,
    Changes,
    Compute,
    Linear,
    MeasureKind,
    Multiply,
    RowsSink,
    Select,
    Words,
)
from viewkeeper.delta.program import Program
from viewkeeper.model.types import STRING
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.expr import Expr, Input
from viewkeeper.plan.relation import Field
from viewkeeper.plan.show import show_expr

_MEASURES = {MeasureKind.NOT_NULL: "count", MeasureKind.SUM: "sum", MeasureKind.SQUARES: "sum of squares"}


def show_delta(program: Program, source: str, columns: Sequence[str]) -> str:
    """`source` and `columns` name what the changes are of."""
    return "\n".join(_lines(program, source, columns))


def _lines(program: Program, source: str, columns: Sequence[str]) -> Iterator[str]:
    changes = program.plan.source
    assert isinstance(changes, Changes), "a delta plan of several inputs is not shown here"
    fields = [Field(columns[column], type) for column, type in zip(changes.columns, changes.types, strict=True)]
    yield f"changes of {source} ({', '.join(field.name for field in fields)})"
    for stage in program.plan.stages:
        for step in stage.linear:
            yield from (f"  {line}" for line in _step(step, fields))
            fields = _after(step, fields)
        match stage.sink:
            case AggregateSink():
                yield from _aggregate(stage.sink, fields)
                fields = _groups(stage.sink, fields)
            case RowsSink():
                key = ", ".join(program.layout.columns[place].name for place in program.layout.key)
                yield f"rows, {program.storage}, by ({key})"
            case _:
                assert_never(stage.sink)


def _step(step: Linear, fields: list[Field]) -> Iterator[str]:
    match step:
        case Select(condition):
            yield f"select {show_expr(condition, fields)}"
        case Compute(exprs):
            yield f"compute {_row(exprs, fields)}"
        case Multiply(projections):
            yield f"multiply {' | '.join(_row(exprs, fields) for exprs in projections)}"
        case Words(text):
            yield f"words of {show_expr(text, fields)}"
        case _:
            assert_never(step)


def _row(exprs: Sequence[Expr], fields: list[Field]) -> str:
    return f"({', '.join(show_expr(expr, fields) for expr in exprs)})"


def _after(step: Linear, fields: list[Field]) -> list[Field]:
    """What rows are behind a step; an expression is called by its place."""
    match step:
        case Select():
            return fields
        case Compute(exprs):
            return [_named(expr, place, fields) for place, expr in enumerate(exprs)]
        case Multiply(projections):
            return [_named(expr, place, fields) for place, expr in enumerate(projections[0])]
        case Words():
            return [*fields, Field("word", STRING)]
    assert_never(step)


def _named(expr: Expr, place: int, fields: list[Field]) -> Field:
    return fields[expr.index] if isinstance(expr, Input) else Field(f"x{place}", expr.type)


def _aggregate(sink: AggregateSink, fields: list[Field]) -> Iterator[str]:
    names = [field.name for field in fields]
    yield f"groups by ({', '.join(names[: len(sink.group)])})"
    sums = [f"{_MEASURES[measure.kind]} of {names[measure.column]}" for measure in sink.measures]
    values = [f"values of {names[kept.column]}" for kept in sink.preaggregations]
    yield f"  kept: {', '.join(['weight', *sums, *values])}"
    if sink.calls:
        yield f"  shown: {', '.join(_call(call, names) for call in sink.calls)}"


def _groups(sink: AggregateSink, fields: list[Field]) -> list[Field]:
    names = [field.name for field in fields]
    return [*fields[: len(sink.group)], *(Field(_call(call, names), call.type) for call in sink.calls)]


def _call(call: AggregateCall, names: Sequence[str]) -> str:
    if call.argument is None:
        return "COUNT(*)"
    inside = "DISTINCT " if call.kind is AggregateKind.COUNT_DISTINCT else ""
    return f"{'COUNT' if inside else call.kind}({inside}{names[call.argument]})"
