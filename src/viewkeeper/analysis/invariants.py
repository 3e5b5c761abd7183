"""What of a query does not depend on the size of the data: its execution, and the update and storage of its views.

Each is found out by itself, whatever the level: the plan over primary keys alone, the plan over any index, and then
what is said of the views that the query is answered from.
"""

from __future__ import annotations

from collections.abc import Iterator

from viewkeeper.analysis.attempts import query_block
from viewkeeper.analysis.block import NotAnalysed
from viewkeeper.analysis.levels import view_level
from viewkeeper.analysis.maintenance import totals
from viewkeeper.analysis.planning import Planned, plan_block
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.storage import storage_bound
from viewkeeper.analysis.verdict import Verdict
from viewkeeper.plan.relation import scans
from viewkeeper.sql.statements import Query

INVARIANTS = (
    "execution",
    "execution with indexes",
    "update of views",
    "storage of views",
    "parallel update of views",
)
INDEPENDENT, DEPENDENT, ABSENT = "I", "D", "-"


def invariants_of(query: Query, verdict: Verdict, schema: Schema, known: Schema) -> tuple[str, ...]:
    """A mark for each of INVARIANTS. `known` has also what is still to be made.

    What a query manages without is absent: one that primary keys answer needs no index, and so on.
    """
    tables = Schema({number: one for number, one in schema.objects.items() if one.is_table or one.id in query.sources})
    alone, indexed = _is_planned(query, tables, propose=False), _is_planned(query, tables, propose=True)
    if alone:
        return (INDEPENDENT, ABSENT, ABSENT, ABSENT, ABSENT)
    if indexed:
        return (DEPENDENT, INDEPENDENT, ABSENT, ABSENT, ABSENT)
    names = {one.name: one for one in known.objects.values()}
    views = [one for one in _below([names[name] for name in verdict.uses if name in names], known) if not one.is_table]
    views = [one for one in views if view_level(one, known)[0] != "SI-1"]
    if not views:
        return (DEPENDENT, DEPENDENT, ABSENT, ABSENT, ABSENT)
    unlimited = totals(known).unlimited
    periodic = [one for one in views if one.mode == "PERIODIC"]
    updated = not periodic and not any(one.id in unlimited for one in views)
    kept = all(storage_bound(one, known).factor is not None for one in views)
    return (
        DEPENDENT,
        DEPENDENT,
        _mark(updated),
        _mark(kept),
        _mark(all(view_level(one, known)[0] == "SI-3" for one in periodic)) if periodic else ABSENT,
    )


def _mark(holds: bool) -> str:
    return INDEPENDENT if holds else DEPENDENT


def _is_planned(query: Query, tables: Schema, *, propose: bool) -> bool:
    try:
        block = query_block(query, tables)
    except NotAnalysed:
        return False
    return isinstance(plan_block(block, tables, allowed=lambda _: propose, propose=propose), Planned)


def _below(used: list[Stored], known: Schema) -> Iterator[Stored]:
    """What is used, and all that it is made of."""
    for one in used:
        yield one
        if one.plan is not None:
            yield from _below([known[scan.object] for scan in scans(one.plan) if scan.object in known.objects], known)
