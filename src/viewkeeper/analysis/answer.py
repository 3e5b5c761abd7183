"""The verdict that goes with a plan: its level, its bounds, and what a changed row costs with all that it needs."""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.analysis.computed import computed_in
from viewkeeper.analysis.construct import Constructed
from viewkeeper.analysis.deltaqueries import delta_queries
from viewkeeper.analysis.levels import level_of, view_level
from viewkeeper.analysis.maintenance import totals
from viewkeeper.analysis.planning import Planned
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.steps import described
from viewkeeper.analysis.storage import largest, storage_bound
from viewkeeper.analysis.verdict import UNBOUNDED, Verdict
from viewkeeper.plan.access import QueryPlan
from viewkeeper.plan.relation import Relation, scans
from viewkeeper.sql.statements import Query


def answer(
    query: Query, planned: Planned, schema: Schema, made: Constructed | None = None, more: Sequence[Stored] = ()
) -> Verdict:
    """The verdict on a query with its plan; `made` and `more` are to be made, whether or not it reads them itself."""
    first = [*more, *([made.stored] if made is not None else [])]
    uses = planned.uses()
    new = list({one.id: one for one in (*first, *uses) if one.ddl is not None}.values())
    proposed = planned.schema.with_objects(*first)
    kept = Schema(
        {n: one for n, one in proposed.objects.items() if one.ddl is None or n in schema.objects or one in new}
    )
    level = level_of([*uses, *new], kept)
    views = list({one.id: one for one in (*new, *uses) if not one.is_table}.values())
    total = totals(kept)
    added = totals(kept, frozenset(one.id for one in new)).costs if new else {}
    return Verdict(
        level=level,
        operations_max=sum(access.operations for access in planned.reads.accesses),
        rows_max=sum(access.rows for access in planned.reads.accesses),
        storage=largest(views, kept),
        maintenance={table: total.costs[table] for table in tables_of(query.plan, schema)},
        added={table: cost for table, cost in added.items() if cost != (0, 0)},
        needs=tuple(one.ddl for one in new if one.ddl is not None),
        made=tuple(new),
        reason=next(why for one in views if (why := view_level(one, kept)[1])) if level == UNBOUNDED else "",
        plan=described(planned.block, planned.reads, planned.schema),
        uses=tuple(one.name for one in uses),
        delta_queries=tuple(one for view in views for one in delta_queries(view, kept)),
        dependencies=storage_bound(made.stored, kept).dependencies if made is not None else (),
        predicates=made.predicates if made is not None else (),
        physical=QueryPlan(
            accesses=planned.reads.accesses,
            relation=planned.block.relation,
            columns=query.columns,
            order=query.order,
            limit=query.limit,
            offset=query.offset,
            computed=tuple(dict.fromkeys(computed_in(query.plan))),
        ),
    )


def tables_of(plan: Relation, schema: Schema) -> list[str]:
    """The tables that are read, also through views."""
    found: dict[str, None] = {}
    pending = [scan.object for scan in scans(plan)]
    while pending:
        one = schema[pending.pop(0)]
        if one.is_table:
            found[one.name] = None
        elif one.plan is not None:
            pending += [scan.object for scan in scans(one.plan)]
    return list(found)
