"""LOCAL views: what can be kept apart for each partition of a table, and put together when it is read.

Rows of a selection or an index are the rows of all partitions. Groups are put together from the states that partitions
have of them: counts and sums add up, of least and greatest values the least and greatest is taken.
"""

from __future__ import annotations

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.delta.program import Program
from viewkeeper.errors import Unsupported
from viewkeeper.plan.aggregate import AggregateKind
from viewkeeper.sql.maintain import Mode
from viewkeeper.sql.statements import CreateView
from viewkeeper.store.interface import Catalog

MOST = 64
"""Partitions of a table up to which it can have LOCAL views: each is a table of its own, and each is read."""


def partitions_of(statement: CreateView, catalog: Catalog, program: Program) -> int:
    """How many times a view is kept; more than once only if it is LOCAL. Unsupported if it cannot be LOCAL."""
    if statement.maintain.mode is not Mode.LOCAL:
        return 1
    _check(statement, program)
    table = catalog.tables.get(statement.sources[0])
    count = 1 if table is None or table.partitioning is None else table.partitioning.count
    if count > MOST:
        assert table is not None
        raise Unsupported(
            f'{statement.kind} "{statement.name}" cannot be LOCAL over {count} partitions',
            detail=f"It is kept once for each partition of {table.name}, and a read looks at all; at most {MOST}.",
            hint="Make it SYNC.",
        )
    calls = [
        call for stage in program.plan.stages[:-1] if isinstance(stage.sink, AggregateSink) for call in stage.sink.calls
    ]
    if count > 1 and any(call.kind is AggregateKind.COUNT_DISTINCT for call in calls):
        raise _refused(
            statement,
            "with COUNT(DISTINCT)",
            "A value may be in several partitions: how many different ones there are does not follow from how many "
            "each of them has.",
        )
    return count


def _check(statement: CreateView, program: Program) -> None:
    if program.plan.is_joined:
        raise _refused(
            statement,
            "over a join or a union",
            "What it reads has no common partitioning: rows that belong together are in different partitions.",
            "Make a JOIN INDEX, which keeps them together, and a LOCAL view of one side; or write MAINTAIN SYNC.",
        )
    if len(program.plan.stages) > 2 or (len(program.plan.stages) > 1 and not program.is_merged):
        raise _refused(
            statement,
            "with HAVING, or groups of groups",
            "Which groups there are is known only when the partitions are put together.",
        )
    if program.epochs is not None:
        raise _refused(statement, "with epochs that leave it", "Each partition would have a clock of its own.")


def _refused(statement: CreateView, what: str, why: str, hint: str = "Write MAINTAIN SYNC.") -> Unsupported:
    return Unsupported(f'{statement.kind} "{statement.name}" cannot be LOCAL {what}', detail=why, hint=hint)
