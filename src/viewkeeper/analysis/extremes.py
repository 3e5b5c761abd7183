"""A single MIN or MAX without groups: that of the first row in the order of what it is of.

    MAX(x) FROM t WHERE …    =    MAX(x) FROM (SELECT * FROM t WHERE … ORDER BY x DESC LIMIT 1)

NULL comes last there, and is what MAX gives if there is nothing else. For MIN, it comes first, so it is left out. Key
columns, ORDER BY, MIN and MAX have one order, that of NaN included.
"""

from __future__ import annotations

from dataclasses import replace

from viewkeeper.analysis.verdict import LEVELS, UNBOUNDED, Verdict
from viewkeeper.model.types import BOOLEAN
from viewkeeper.plan.aggregate import EXTREMES, AggregateKind
from viewkeeper.plan.expr import Call, Input
from viewkeeper.plan.relation import Aggregate, Distinct, Filter, Project, Relation
from viewkeeper.plan.whole import Sort, TopN


def of_first_row(plan: Relation) -> Relation | None:
    """The same query over the one row that decides; None if it is of another kind."""
    if isinstance(plan, Project | Filter | Distinct | TopN):
        below = of_first_row(plan.input)
        return None if below is None else replace(plan, input=below)
    if not isinstance(plan, Aggregate) or plan.group or len(plan.calls) != 1:
        return None
    (call,) = plan.calls
    if call.argument is None or call.kind not in EXTREMES:
        return None
    is_max, rows = call.kind is AggregateKind.MAX, plan.input
    if not is_max:
        column = Input(call.argument, rows.fields[call.argument].type)
        rows = Filter(rows, Call("not", (Call("is_null", (column,), BOOLEAN),), BOOLEAN))
    return replace(plan, input=TopN(rows, (Sort(call.argument, descending=is_max),), limit=1))


def better(found: Verdict, other: Verdict, *, widen: bool) -> Verdict:
    """One of two verdicts on the same query: what exists comes before what is to be made, or fewer operations do."""
    best = min(found, other, key=_price if widen else _rank)
    if best is found or not other.needs or other.meanwhile is not None:
        return best
    return replace(other, meanwhile=found.meanwhile if found.needs else found.physical)


def _rank(one: Verdict) -> tuple[int, ...]:
    """Without a bound, what exists is better than nothing."""
    return one.level == UNBOUNDED, bool(one.needs), LEVELS.index(one.level), *_work(one)


def _price(one: Verdict) -> tuple[int, ...]:
    return one.level == UNBOUNDED, *_work(one), len(one.needs)


def _work(one: Verdict) -> tuple[int, int]:
    return one.operations_max or 0, one.rows_max or 0
