"""The stages of a plan, run one after the other; and what is below its first one, if that is a join or a union.

Reads the state at the group's watermark, through one transaction; what is to be written is collected.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import assert_never

from viewkeeper.delta.deltaplan import AggregateSink, Changes, DeltaPlan
from viewkeeper.delta.joinplan import InnerSource, ManySource, PartnerSource, UnionSource, WholeSource, plans_below
from viewkeeper.delta.program import Program
from viewkeeper.delta.tables import PlanTables, SourceTables
from viewkeeper.execute.changetable import ChangeTable, Reduction, Weighted, net_rows
from viewkeeper.execute.encodedrows import with_weight
from viewkeeper.execute.epochs import Clock, EpochRunner, values_of
from viewkeeper.execute.fold import Folded, fold
from viewkeeper.execute.innerjoin import InnerRunner
from viewkeeper.execute.partnerjoin import PartnerRunner
from viewkeeper.execute.rows.linear import Pipe
from viewkeeper.execute.storedstate import StageRunner, StoredState
from viewkeeper.model.types import Kind, Row
from viewkeeper.plan.relation import Relation
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.viewreading import ViewReading


@dataclass(slots=True)
class ViewChanges:
    """What a batch does to a view: by object id its stored changes, and by how much its errors grow.

    `late` are changes to epochs that had left the view before.
    """

    objects: dict[int, ObjectChanges] = field(default_factory=dict)
    errors: int = 0
    late: int = 0


class Chain:
    """A plan, compiled once and run batch by batch.

    With `merged`, the program of the view whose rows are the groups of the last aggregate, there are no rows to give.
    """

    def __init__(self, plan: DeltaPlan, tables: PlanTables, merged: Program | None = None) -> None:
        self._merged = merged
        self._pipes = [Pipe(stage.linear) for stage in plan.stages]
        self.stages: list[StageRunner] = []
        for number, kept in enumerate(tables.stages):
            sink = plan.stages[number].sink
            assert isinstance(sink, AggregateSink)
            is_last = number == len(tables.stages) - 1
            self.stages.append(StageRunner(sink, kept, merged if is_last else None))
        self._reductions = [Reduction(stage.sink) for stage in self.stages]
        self.source: Source | None = None
        if not isinstance(plan.source, Changes):
            assert tables.source is not None
            self.source = Source(plan.source, tables.source)
        self.leaves = len(list(plan.leaves()))
        epochs = None if merged is None else merged.epochs
        self.epochs = None if epochs is None else EpochRunner(epochs)
        self._epochs_stage = None if epochs is None else epochs.stage

    def objects(self) -> Iterator[int]:
        if self.source is not None:
            yield from self.source.objects()
        for stage in self.stages:
            yield stage.codec.table.id
            yield from (codec.table.id for codec in stage.values)
        if self.epochs is not None:
            yield self.epochs.codec.table.id

    def rows(
        self, deltas: Sequence[Sequence[Weighted]], reading: ViewReading, changes: ViewChanges
    ) -> Sequence[Weighted]:
        """What reaches the first stage, from the deltas of the leaves."""
        if self.source is None:
            return deltas[0]
        return self.source.run(deltas, reading, changes)

    def first(self, rows: Sequence[Weighted], changes: ViewChanges) -> ChangeTable | list[Weighted]:
        """What the first stage makes of rows: a change table, or rows where there is no aggregate."""
        made, errors = self._pipes[0].run(rows)
        changes.errors += errors
        return self._reductions[0](made) if self.stages else made

    def rest(
        self,
        table: ChangeTable,
        reading: ViewReading,
        changes: ViewChanges,
        clock: Clock,
    ) -> list[Weighted]:
        """The delta of the rows that follow from the change table of the first stage; none if they are merged."""
        for number in range(len(self.stages)):
            folded = self._fold(number, table, reading, changes, clock)
            is_last = number == len(self.stages) - 1
            if is_last and self._merged is not None and self._merged.is_merged:
                return []
            rows, more = self._pipes[number + 1].run(folded.delta)
            changes.errors += more
            if is_last:
                return rows
            table = self._reductions[number + 1](rows)
        raise AssertionError("there is no aggregate to fold into")

    def run(
        self, deltas: Sequence[Sequence[Weighted]], reading: ViewReading, changes: ViewChanges
    ) -> Sequence[Weighted]:
        """The delta of the rows of a plan that is part of another one."""
        first = self.first(self.rows(deltas, reading, changes), changes)
        return first if isinstance(first, list) else self.rest(first, reading, changes, Clock())

    def _fold(
        self, number: int, table: ChangeTable, reading: ViewReading, changes: ViewChanges, clock: Clock
    ) -> Folded:
        stage = self.stages[number]
        epochs = self.epochs if self._epochs_stage == number else None
        gone: list[Row] = []
        if epochs is not None:
            changes.late += epochs.prune(table, clock)
            gone = epochs.expired(reading, clock)
        state = StoredState(stage, reading)
        is_last = number == len(self.stages) - 1
        emits = not (is_last and self._merged is not None and self._merged.is_merged)
        folded = fold(stage.sink, table, state, gone, stage.outputs, emits=emits)
        if epochs is not None:
            epochs.keep(folded, changes.objects)
        changes.errors += folded.failed
        self._keep_states(stage, folded, state, changes)
        for place, (codec, values) in enumerate(zip(stage.values, folded.values, strict=True)):
            if place in state.shared:
                continue
            keys, rests = state.encoded[place]
            kept = changes.objects.setdefault(codec.table.id, ObjectChanges(codec))
            weights = values.values()
            rows = [with_weight(rest, weight) if weight else None for rest, weight in zip(rests, weights, strict=True)]
            kept.changes.update(zip(keys, zip(repeat(None), rows), strict=True))
            for group in gone:
                kept.changes.update((key, (None, None)) for key in values_of(reading, codec, group))
        return folded

    def _keep_states(self, stage: StageRunner, folded: Folded, state: StoredState, changes: ViewChanges) -> None:
        merged = self._merged is not None and stage.codec.table.id == self._merged.layout.id
        kept = changes.objects.setdefault(stage.codec.table.id, ObjectChanges(stage.codec, has_feed=merged))
        for group, new in folded.states.items():
            key = stage.key(group)
            old_output, output = folded.outputs[group]
            after, failed = (None, False) if new is None else stage.stored(group, new, output)
            before = state.before[key]
            if before != after:
                kept.changes[key] = (before, after)
            changes.errors += failed - stage.fails(old_output)


class WholeRunner:
    """What is computed whole: from all rows of the leaves, and from nothing before."""

    def __init__(self, relation: Relation) -> None:
        self._relation = relation

    def run(self, below: Sequence[Sequence[Weighted]]) -> tuple[list[Weighted], int]:
        from viewkeeper.execute.recompute import recompute

        if any(weight < 0 for rows in below for _, weight in rows):
            raise ValueError("what is computed whole does not take changes")
        given = [[row for row, weight in rows for _ in range(weight)] for rows in below]
        made, errors = recompute(self._relation, given)
        return [(row, 1) for row in made], errors


class Source:
    """A join or a union, over the plans below it."""

    def __init__(self, source: ManySource, tables: SourceTables) -> None:
        plans = plans_below(source)
        self._below = [Chain(*pair) for pair in zip(plans, tables.below, strict=True)]
        self._doubles = [any(type.kind is Kind.DOUBLE for type in plan.types) for plan in plans]
        self.join: InnerRunner | PartnerRunner | None = None
        self._whole: WholeRunner | None = None
        match source:
            case InnerSource():
                self.join = InnerRunner(source, tables)
            case PartnerSource():
                self.join = PartnerRunner(source, tables)
            case UnionSource():
                pass
            case WholeSource():
                self._whole = WholeRunner(source.relation)
            case _:
                assert_never(source)

    def objects(self) -> Iterator[int]:
        for chain in self._below:
            yield from chain.objects()
        if self.join is not None:
            yield from (index.id for index in self.join.indexes)
        if isinstance(self.join, PartnerRunner):
            yield from (layout.id for layout in self.join.counted)

    def run(self, deltas: Sequence[Sequence[Weighted]], reading: ViewReading, changes: ViewChanges) -> list[Weighted]:
        """The delta of the whole from the deltas of the leaves, from left to right."""
        given = iter(deltas)
        below = [chain.run([next(given) for _ in range(chain.leaves)], reading, changes) for chain in self._below]
        if self._whole is not None:
            made, errors = self._whole.run(below)
            changes.errors += errors
            return made
        if self.join is None:
            return [row for rows in below for row in rows]
        # A row that changed many times meets its partners twice, not twice as many times.
        below = [net_rows(rows, has_doubles=doubles) for rows, doubles in zip(below, self._doubles, strict=True)]
        if isinstance(self.join, InnerRunner):
            return self.join.run(below, reading, changes.objects)
        made, errors = self.join.run(below, reading, changes.objects)
        changes.errors += errors
        return made
