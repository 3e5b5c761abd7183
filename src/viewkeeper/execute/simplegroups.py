"""Groups that follow a few rows at once: what reducing, folding and storing do, in one go.

For views whose rows are the groups of one aggregate of counts and exact sums, and for as few rows as a write has: there
the layers in between cost more than what they do. The meaning is that of fold.py.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.delta.deltaplan import AggregateSink, Changes
from viewkeeper.delta.program import Program
from viewkeeper.errors import StoreDamaged
from viewkeeper.execute.chain import ViewChanges
from viewkeeper.execute.changetable import Reduction, Weighted
from viewkeeper.execute.groupstate import GroupState
from viewkeeper.execute.rows.linear import Pipe
from viewkeeper.execute.storedstate import StageRunner
from viewkeeper.model.types import Kind, Row
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.viewreading import ViewReading


def simple_groups(program: Program) -> SimpleGroups | None:
    """What follows rows for a view of this kind; None if it is of another."""
    plan = program.plan
    if not program.is_merged or program.epochs is not None or len(plan.stages) != 2:
        return None
    sink = plan.stages[0].sink
    if not isinstance(plan.source, Changes) or not isinstance(sink, AggregateSink) or sink.is_global:
        return None
    if sink.preaggregations or any(measure.type.kind is Kind.DOUBLE for measure in sink.measures):
        return None
    return SimpleGroups(program, sink)


class SimpleGroups:
    """One such view, compiled once."""

    def __init__(self, program: Program, sink: AggregateSink) -> None:
        self._pipe = Pipe(program.plan.stages[0].linear)
        self._reduce = Reduction(sink)
        self._stage = StageRunner(sink, program.tables.stages[0], program)
        self._zeros = [0] * len(sink.measures)

    def follow(self, rows: Sequence[Weighted], reading: ViewReading) -> ViewChanges:
        """What rows that come and go change in the view."""
        stage = self._stage
        number = stage.codec.table.id
        given, errors = self._pipe.run(rows)
        kept = ObjectChanges(stage.codec, has_feed=True)
        for group, change in self._reduce(given).groups.items():
            key = stage.key(group)
            before = reading.get(number, key)
            old = None if before is None else stage.state(before)
            weight = change.weight + (0 if old is None else old.weight)
            if weight < 0:
                raise StoreDamaged(f"a group of a view has weight {weight}", hint="Repair the view: viewkeeper repair.")
            sums = self._zeros if old is None else old.sums
            new = GroupState(weight, [mine + more for mine, more in zip(sums, change.sums, strict=True)], [])
            after = None
            if old is not None:
                errors -= self._failing(group, old)
            if weight:
                shown, failing = self._output(group, new)
                after, unshown = stage.stored(group, new, shown)
                errors += failing + unshown
            if before != after:
                kept.changes[key] = (before, after)
        return ViewChanges({number: kept}, errors)

    def _failing(self, group: Row, state: GroupState) -> int:
        """How often a group, as it was, is counted as one that fails."""
        if self._stage.may_fail:
            shown, failing = self._output(group, state)
            return failing + self._stage.fails(shown)
        return any(finish(state)[1] for finish in self._stage.outputs)

    def _output(self, group: Row, state: GroupState) -> tuple[Row, bool]:
        """The output row of a group, and whether an aggregate of it failed."""
        found = [finish(state) for finish in self._stage.outputs]
        return (*group, *(cell for cell, _ in found)), any(bad for _, bad in found)
