"""How long a query takes at its bounds: what single reads took, drawn by chance and added up over the plan.

    latency  =  query  +  Σ over reads  operations × (get or range)  +  rows × row

One draw for each read and kind, not for each operation: what slows a machine down slows all operations of a read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from viewkeeper.analysis.analyse import analyse
from viewkeeper.analysis.schema import Schema
from viewkeeper.analysis.verdict import Verdict
from viewkeeper.plan.access import Access, AccessKind, QueryPlan
from viewkeeper.sql.statements import Query

DRAWS = 2_000
SEED = 6

Predict = Callable[[Verdict], tuple[float, float] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Milliseconds as measured, none of them empty.

    `query` is what one takes besides its reads, `get` a row by its whole key, `range` the start of a range, `row` each
    row of a range, with what is done with it in memory.
    """

    query: Sequence[float]
    get: Sequence[float]
    range: Sequence[float]
    row: Sequence[float]


def latency_of(plan: QueryPlan, samples: Samples, *, draws: int = DRAWS) -> tuple[float, float]:
    """The median and the 99th percentile, in ms, of an execution that reads as much as it may.

    The same samples give the same figures, and plans are compared under the same luck: what does not depend on the
    reads is drawn apart from them.
    """
    queries, reads = Random(SEED), Random(SEED)
    times = sorted(queries.choice(samples.query) + _drawn(plan, samples, reads) for _ in range(draws))
    return times[draws // 2], times[min(draws - 1, draws * 99 // 100)]


def _drawn(plan: QueryPlan, samples: Samples, chance: Random) -> float:
    total = 0.0
    for access in plan.accesses:
        if is_get(access):
            total += access.operations * chance.choice(samples.get)
        else:
            total += access.operations * chance.choice(samples.range) + access.rows * chance.choice(samples.row)
    return total


def is_get(access: Access) -> bool:
    """Whether each operation is one row by its whole key."""
    by_key = access.kind in (AccessKind.LOOKUP, AccessKind.LOOKUP_JOIN) and access.limit is None
    return by_key and access.rows <= access.operations


def analyse_within(
    query: Query, schema: Schema, *, name: str = "", slo: float | None = None, predict: Predict | None = None
) -> Verdict:
    """The verdict on a query, and how long it takes if it is to take at most `slo` ms.

    Rows that an index or a view lacks columns of are looked up in their tables; or it has these columns, too, where
    that is faster and something is to be made anyway, or the query would take longer than that.
    """
    found = analyse(query, schema, name=name)
    if slo is None or predict is None or not found.is_bounded:
        return found if slo is None else replace(found, slo=slo)
    found = replace(found, latency=predict(found), slo=slo)
    if found.needs or found.meets_slo is False:
        wider = analyse(query, schema, name=name, widen=True)
        wider = replace(wider, latency=predict(wider), slo=slo)
        if wider.latency is not None and found.latency is not None and wider.latency[1] < found.latency[1]:
            return wider
    return found
