"""A verdict for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from viewkeeper.analysis.storage import ONE_ROW
from viewkeeper.analysis.verdict import UNBOUNDED, ChangeCost, Verdict

MEANS = {
    "SI-0": "answered by primary keys",
    "SI-1": "answered with indexes",
    "SI-2": "answered from views that are maintained at a bounded cost",
    "SI-3": "answered from views that are refreshed in parallel",
    UNBOUNDED: "the work grows with the data",
}
SHORT = {
    "SI-0": "by primary keys",
    "SI-1": "with indexes",
    "SI-2": "with views kept up to date at a bounded cost",
    "SI-3": "with views refreshed in parallel",
    UNBOUNDED: "the work grows with the data",
}
"""The same in a legend."""


def report(verdict: Verdict, added: str = "new") -> str:
    """The whole verdict, a paragraph for each part that there is something to say of; `added` is what its costs are."""
    return "\n".join(_lines(verdict, added))


def _lines(verdict: Verdict, added: str) -> Iterator[str]:
    yield f"level: {verdict.level}, {MEANS[verdict.level]}"
    if verdict.operations_max is not None and verdict.rows_max is not None:
        yield f"reads: at most {_and(verdict.operations_max, 'operation', verdict.rows_max, 'row')} per execution"
    if verdict.latency is not None:
        p50, p99 = verdict.latency
        goal = "" if verdict.slo is None else f", asked for: {verdict.slo:g} ms"
        yield f"latency: predicted p50 {p50:.3g} ms, p99 {p99:.3g} ms at these bounds{goal}"
    if verdict.reason:
        yield f"reason: {verdict.reason}"
    if verdict.plan:
        yield "plan:"
        yield from (f"  {line}" for line in verdict.plan.splitlines())
    if verdict.storage is not None:
        yield f"storage: at most {storage_text(verdict.storage)}"
    costs = {table: (cost, verdict.added.get(table)) for table, cost in verdict.maintenance.items()}
    yield from costs_lines(costs, added)
    if verdict.predicates:
        yield "view predicates:"
        yield from (f"  {line}" for line in verdict.predicates)
    if verdict.dependencies:
        yield "dependencies:"
        yield from (f"  {line}" for line in verdict.dependencies)
    if verdict.delta_queries:
        yield "delta queries:"
        for query in verdict.delta_queries:
            bound = (
                "any number of rows"
                if query.rows is None or query.reads is None
                else f"at most {_and(query.reads, 'read', query.rows, 'row')}"
            )
            row = f"a row of {query.table}" + (" joined with itself" if query.is_with_itself else f" ({bound})")
            yield f"  {query.view}, for {row}:"
            yield f"    {query.sql}"
    if verdict.needs:
        yield "still needed:"
        yield from (f"  {text};" for text in verdict.needs)
        if verdict.meanwhile is not None:
            yield "until then: it is answered from what there is, which costs a write any number of operations"
    if verdict.suggestions:
        yield "what would bound it:"
        yield from (f"  {one.text} ({one.level})" for one in verdict.suggestions)


def _and(first: int, what: str, second: int, other: str) -> str:
    return f"{counted(first, what)} and {counted(second, other)}"


def cost_text(cost: ChangeCost) -> str:
    """What a changed row costs.

    >>> cost_text((2, 1)), cost_text(None)
    ('at most 2 reads and 1 write', 'any number of reads and writes')
    """
    return "any number of reads and writes" if cost is None else f"at most {_and(cost[0], 'read', cost[1], 'write')}"


def costs_lines(costs: Mapping[str, tuple[ChangeCost, ChangeCost]], added: str = "new") -> Iterator[str]:
    """By table, what a changed row costs and how much of it is `added`; nothing of tables where it costs nothing."""
    shown = {table: cost for table, cost in costs.items() if cost[0] != (0, 0)}
    if shown:
        yield "each changed row costs, over all indexes and views of its table:"
    for table, (cost, new) in shown.items():
        part = "all" if new == cost else f"{new[0]:,} and {new[1]:,}" if new else ""
        more = f", {part} {added}" if new and any(new) else ""
        yield f"  {table}: {cost_text(cost)}{more}"


def storage_text(storage: tuple[int, str]) -> str:
    """
    >>> storage_text((10, "Tags")), storage_text((1, "one row"))
    ('10 × Tags', '1 row')
    """
    factor, table = storage
    return counted(factor, "row") if table == ONE_ROW else f"{factor:,} × {table}"


def counted(number: int, what: str) -> str:
    """
    >>> counted(1, "row"), counted(1000, "row")
    ('1 row', '1,000 rows')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


def as_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as JSON has it. Every name is always there; what there is nothing to say of is null or empty."""
    return {
        "level": verdict.level,
        "operations_max": verdict.operations_max,
        "rows_max": verdict.rows_max,
        "reason": verdict.reason,
        "plan": verdict.plan.splitlines(),
        "uses": list(verdict.uses),
        "needs": list(verdict.needs),
        "storage": None if verdict.storage is None else {"factor": verdict.storage[0], "table": verdict.storage[1]},
        "maintenance": costs_json(
            {
                table: (*(cost or (None, None)), *(verdict.added.get(table) or (0, 0)))
                for table, cost in verdict.maintenance.items()
            }
        ),
        "predicates": list(verdict.predicates),
        "dependencies": list(verdict.dependencies),
        "delta_queries": [
            {
                "view": one.view,
                "table": one.table,
                "sql": one.sql,
                "reads": one.reads,
                "rows": one.rows,
                "with_itself": one.is_with_itself,
            }
            for one in verdict.delta_queries
        ],
        "suggestions": [{"text": one.text, "level": one.level} for one in verdict.suggestions],
        "latency_ms": None
        if verdict.latency is None
        else {"p50": round(verdict.latency[0], 4), "p99": round(verdict.latency[1], 4)},
        "slo_ms": verdict.slo,
        "meets_slo": verdict.meets_slo,
    }


def costs_json(costs: Mapping[str, tuple[int | None, int | None, int, int]]) -> dict[str, dict[str, int | None]]:
    """By table: reads and writes of a changed row, null without a bound, and how many are of what is still needed."""
    names = ("reads", "writes", "new_reads", "new_writes")
    return {table: dict(zip(names, cost, strict=True)) for table, cost in costs.items()}
