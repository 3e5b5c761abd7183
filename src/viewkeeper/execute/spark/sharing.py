"""The plans of several views over one source, as sinks that tasks fill: what views have in common is computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from viewkeeper.delta.deltaplan import AggregateSink, Changes, Compute, Stage
from viewkeeper.delta.joinplan import Index, ManySource, Side
from viewkeeper.delta.program import Program
from viewkeeper.delta.sides import in_numbers, numbers_of
from viewkeeper.delta.tables import IndexTable
from viewkeeper.execute.spark.branches import Branches, Risk, branches
from viewkeeper.execute.spark.chunk import Piped, Ref, piped_column
from viewkeeper.execute.spark.pieces import piece_count
from viewkeeper.execute.spark.pool import ColumnPool
from viewkeeper.execute.spark.sinks import ErrorsSink, GroupSink, IndexSink, RowsSink, Sink, SinkMeasure
from viewkeeper.execute.spark.task import TaskPlan
from viewkeeper.model.types import Type
from viewkeeper.plan.expr import Input

BranchRefs = tuple[tuple[Ref | None, tuple[Ref, ...]], ...]
"""For each branch where a task finds whether it keeps a row, and its columns."""


@dataclass(frozen=True, slots=True)
class GroupShare:
    """What an aggregate takes from the sinks: its groups, the first piece of each measure, its values."""

    groups: int
    measures: tuple[int, ...]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RowsShare:
    rows: int


Share = GroupShare | RowsShare


class Sharing:
    """Collects the plans of views, one after the other."""

    def __init__(self) -> None:
        self.pool = ColumnPool()
        self._pipes: dict[str, tuple[int, Piped]] = {}
        self._sinks: list[Sink] = []
        self._groups: dict[str, int] = {}
        self._failures: list[tuple[int, str | int]] = []
        self._views = 0

    def add(self, program: Program) -> Share:
        """The share of the next view. Its failures are counted under the number of the view."""
        stage = program.plan.stages[0]
        found = branches(program.plan.source, stage.linear)
        pipe: int | None = None
        if found is None:
            pipe, refs = self._piped(program)
            self._failures.append((self._views, pipe))
        else:
            refs = self._refs(found)
            failure = self.pool.failure(found.risks)
            if failure is not None:
                self._failures.append((self._views, failure))
        self._views += 1
        if isinstance(stage.sink, AggregateSink):
            return self._aggregate(stage.sink, pipe, refs)
        self._sinks.append(RowsSink(pipe, refs, stage.sink.types, program))
        return RowsShare(len(self._sinks) - 1)

    def add_stage(self, source: Changes | ManySource, stage: Stage) -> GroupShare:
        """The share of a stage inside a plan, which ends in an aggregate and cannot need a pipe."""
        found = branches(source, stage.linear)
        if found is None or not isinstance(stage.sink, AggregateSink):
            raise ValueError("the stage cannot be told in expressions")
        refs = self._refs(found)
        self.add_risks(found.risks)
        return self._aggregate(stage.sink, None, refs)

    def add_risks(self, risks: Sequence[Risk]) -> None:
        """Count the rows on which something failed, under the next number."""
        failure = self.pool.failure(risks)
        if failure is not None:
            self._failures.append((self._views, failure))
        self._views += 1

    def add_index(self, side: Side, index: Index, table: IndexTable) -> RowsShare:
        """The rows of a side as an index of it stores them; its columns are named by their numbers."""
        columns = [Input(number, type) for number, type in zip(numbers_of(side), side.types, strict=True)]
        keys = [in_numbers(side, expr) for expr in index.key]
        sink = IndexSink(
            tuple(map(self.pool.ref, keys)),
            tuple(expr.type for expr in keys),
            tuple(map(self.pool.ref, columns)),
            side.types,
            table,
        )
        self._sinks.append(sink)
        return RowsShare(len(self._sinks) - 1)

    def _refs(self, found: Branches) -> BranchRefs:
        return tuple(
            (self.pool.condition(branch.conditions), tuple(map(self.pool.ref, branch.columns)))
            for branch in found.branches
        )

    def plan(self) -> TaskPlan:
        """What tasks do for the views added so far. The errors are the last sink."""
        pipes = tuple(piped for _, piped in self._pipes.values())
        return TaskPlan(tuple(self.pool.columns), pipes, (*self._sinks, ErrorsSink(tuple(self._failures))))

    def _piped(self, program: Program) -> tuple[int, BranchRefs]:
        """The view's linear steps as a pipe, and where its one branch finds what that gives."""
        source, stage = program.plan.source, program.plan.stages[0]
        types: tuple[Type, ...]
        if isinstance(stage.sink, AggregateSink):
            last = stage.linear[-1]
            assert isinstance(last, Compute)
            types = tuple(expr.type for expr in last.exprs)
        else:
            types = stage.sink.types
        columns = []
        for column, type in zip(source.columns, source.types, strict=True):
            name = self.pool.ref(Input(column, type))
            assert isinstance(name, str)
            columns.append((name, type))
        piped = Piped(stage.linear, tuple(columns), types)
        number, _ = self._pipes.setdefault(repr(piped), (len(self._pipes), piped))
        return number, ((None, tuple(piped_column(place) for place in range(len(types)))),)

    def _aggregate(self, sink: AggregateSink, pipe: int | None, refs: BranchRefs) -> GroupShare:
        width = len(sink.group)
        groups = self._group_sink(GroupSink(pipe, _keyed(refs, range(width)), sink.group))
        measures = []
        for measure in sink.measures:
            columns = tuple(columns[measure.column] for _, columns in refs)
            measures.append(self._measure(groups, SinkMeasure(measure.kind, measure.type, columns)))
        values = [
            self._group_sink(
                GroupSink(pipe, _keyed(refs, [*range(width), kept.column]), (*sink.group, kept.type), is_value=True)
            )
            for kept in sink.preaggregations
        ]
        return GroupShare(groups, tuple(measures), tuple(values))

    def _group_sink(self, sink: GroupSink) -> int:
        key = repr(sink)
        if key not in self._groups:
            self._groups[key] = len(self._sinks)
            self._sinks.append(sink)
        return self._groups[key]

    def _measure(self, number: int, wanted: SinkMeasure) -> int:
        """The place of a measure's first piece among the sums of a sink; the weight is at 0."""
        sink = self._sinks[number]
        assert isinstance(sink, GroupSink)
        place = 1
        for measure in sink.measures:
            if repr(measure) == repr(wanted):
                return place
            place += piece_count(measure.kind, measure.type)
        self._sinks[number] = replace(sink, measures=(*sink.measures, wanted))
        return place


def _keyed(refs: BranchRefs, places: Sequence[int]) -> BranchRefs:
    return tuple((keep, tuple(columns[place] for place in places)) for keep, columns in refs)
