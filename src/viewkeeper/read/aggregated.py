"""The groups of rows in memory: what folding them into nothing gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import repeat

from viewkeeper.delta.deltaplan import AggregateSink, Compute
from viewkeeper.delta.rules import delta_plan
from viewkeeper.execute.changetable import Reduction
from viewkeeper.execute.fold import fold
from viewkeeper.execute.groupstate import GroupState, finishers
from viewkeeper.model.picking import picker
from viewkeeper.model.types import Cell, Row
from viewkeeper.plan.expr import Input
from viewkeeper.plan.relation import Aggregate, Field, Scan


class _Nothing:
    """The state of an aggregate that has seen no row."""

    def states(self, groups: Sequence[Row]) -> list[GroupState | None]:
        return [None] * len(groups)

    def weights(self, preaggregation: int, keys: Sequence[tuple[Row, Cell]]) -> list[int]:  # noqa: ARG002
        return [0] * len(keys)

    def values(self, preaggregation: int, group: Row, *, reverse: bool) -> Iterator[Cell]:  # noqa: ARG002
        return iter(())


def grouper(fields: tuple[Field, ...], relation: Aggregate) -> Callable[[Sequence[Row]], list[Row]]:
    """A function from rows of these fields to the rows of an aggregate over them; it has no percentile."""
    scan = Scan(0, "", tuple(range(len(fields))), fields)
    plan = delta_plan(Aggregate(scan, relation.group, relation.calls, relation.names), lambda _: None)
    first = plan.stages[0]
    (step,) = first.linear
    sink = first.sink
    assert isinstance(step, Compute)
    assert isinstance(sink, AggregateSink)
    pick = picker([expr.index for expr in step.exprs if isinstance(expr, Input)])
    reduce, outputs, nothing = Reduction(sink), finishers(sink), _Nothing()

    def groups(rows: Sequence[Row]) -> list[Row]:
        table = reduce(zip(map(pick, rows), repeat(1)))
        return [row for row, _ in fold(sink, table, nothing, (), outputs).delta]

    return groups
