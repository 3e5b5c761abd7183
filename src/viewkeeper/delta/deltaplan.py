"""The delta plan of a view.

Selection, projection, expansion and tokens pass a change through themselves, row by row and with its weight: they are
*linear*. Whatever needs to remember something is a *sink*. A plan is cut behind each sink into stages:

    changes of a table ──linear──► aggregate ──linear──► aggregate … ──linear──► rows of the view

A stage turns the delta of its input into a change table for its sink; folding that into the sink's state gives the
delta that feeds the next stage. DISTINCT is an aggregate by all columns that computes nothing. Where the first stage
begins there may be a join or a union instead of changes: it has plans of this kind below it. See joinplan.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from viewkeeper.delta.joinplan import ManySource, plans_below
from viewkeeper.model.types import Type
from viewkeeper.plan.aggregate import HOLISTIC, SPREAD, AggregateCall, AggregateKind
from viewkeeper.plan.expr import Expr


@dataclass(frozen=True, slots=True)
class Select:
    """Keep the rows for which the condition is true."""

    condition: Expr


@dataclass(frozen=True, slots=True)
class Compute:
    """Each row as these expressions give it."""

    exprs: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Multiply:
    """Each row once for each projection."""

    projections: tuple[tuple[Expr, ...], ...]


@dataclass(frozen=True, slots=True)
class Words:
    """Each row once for each different word of a text, appended."""

    text: Expr


Linear = Select | Compute | Multiply | Words


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a base table or of another view, with these of its columns."""

    object: int
    columns: tuple[int, ...]
    types: tuple[Type, ...]


class MeasureKind(StrEnum):
    NOT_NULL = "how many are not NULL"
    SUM = "sum"
    SQUARES = "sum of squares"


@dataclass(frozen=True, slots=True)
class Measure:
    """A number kept of a group: a sum over its rows, each with its weight."""

    kind: MeasureKind
    column: int
    type: Type


@dataclass(frozen=True, slots=True)
class PreAggregation:
    """The different values of a column in each group, each with its weight: what MIN, MAX and COUNT DISTINCT need."""

    column: int
    type: Type


@dataclass(frozen=True, slots=True)
class AggregateSink:
    """Groups of the stage's rows. The first columns of those rows are the group; `calls` refer to the others.

    State of a group: its weight, the measures, and for each COUNT DISTINCT the number of different values.
    """

    group: tuple[Type, ...]
    calls: tuple[AggregateCall, ...]
    measures: tuple[Measure, ...]
    preaggregations: tuple[PreAggregation, ...]

    @property
    def is_global(self) -> bool:
        """Without group columns there is always exactly one row."""
        return not self.group


@dataclass(frozen=True, slots=True)
class RowsSink:
    """The rows themselves, as the view stores them."""

    types: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """`source`: where the rows come from, or None for what the stage before gives."""

    source: Changes | ManySource | None
    linear: tuple[Linear, ...]
    sink: AggregateSink | RowsSink


@dataclass(frozen=True, slots=True)
class DeltaPlan:
    """All stages but the last end in an aggregate; the last ends in the rows of the view."""

    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        *inner, last = self.stages
        if not isinstance(last.sink, RowsSink) or any(isinstance(stage.sink, RowsSink) for stage in inner):
            raise ValueError("the last stage of a delta plan, and only that, ends in rows")
        if self.stages[0].source is None or any(stage.source is not None for stage in self.stages[1:]):
            raise ValueError("the first stage of a delta plan, and only that, reads changes")

    @property
    def source(self) -> Changes | ManySource:
        source = self.stages[0].source
        assert source is not None
        return source

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the rows that it gives."""
        sink = self.stages[-1].sink
        assert isinstance(sink, RowsSink)
        return sink.types

    @property
    def is_joined(self) -> bool:
        """Whether it has several inputs."""
        return not isinstance(self.source, Changes)

    def leaves(self) -> Iterator[Changes]:
        """The changes that it begins with, from left to right; those of one object come once for each use of it."""
        if isinstance(self.source, Changes):
            yield self.source
        else:
            for plan in plans_below(self.source):
                yield from plan.leaves()


def measures_of(calls: tuple[AggregateCall, ...], types: tuple[Type, ...]) -> tuple[Measure, ...]:
    """What has to be summed for these aggregates, each thing once; `types` are those of the stage's rows."""
    found: dict[Measure, None] = {}
    for call in calls:
        if call.argument is None or call.kind in HOLISTIC:
            continue
        type = types[call.argument]
        found[Measure(MeasureKind.NOT_NULL, call.argument, type)] = None
        if call.kind is not AggregateKind.COUNT:
            found[Measure(MeasureKind.SUM, call.argument, type)] = None
        if call.kind in SPREAD:
            found[Measure(MeasureKind.SQUARES, call.argument, type)] = None
    return tuple(found)


def preaggregations_of(calls: tuple[AggregateCall, ...], types: tuple[Type, ...]) -> tuple[PreAggregation, ...]:
    columns = dict.fromkeys(call.argument for call in calls if call.kind in HOLISTIC)
    return tuple(PreAggregation(column, types[column]) for column in columns if column is not None)
