"""The verdict on a view by itself: whether its rows and its maintenance are bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from viewkeeper.analysis.answer import tables_of
from viewkeeper.analysis.block import NotAnalysed
from viewkeeper.analysis.change import Change
from viewkeeper.analysis.deltaqueries import delta_queries
from viewkeeper.analysis.levels import view_level
from viewkeeper.analysis.maintenance import Unlimited, cost_of, totals
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.storage import storage_bound
from viewkeeper.analysis.tablechanges import keyed_by, limiting
from viewkeeper.analysis.verdict import UNBOUNDED, Suggestion, Verdict
from viewkeeper.plan.relation import scans


def view_verdict(view: Stored, schema: Schema) -> Verdict:
    """The verdict on a view that is to be made beside those of a schema."""
    whole = schema.with_objects(view)
    level, reason = view_level(view, whole)
    bound = storage_bound(view, whole)
    costs = totals(whole).costs
    added = totals(whole, frozenset({view.id})).costs
    return Verdict(
        level=level,
        storage=None if bound.factor is None else (bound.factor, bound.table),
        maintenance={table: costs[table] for table in tables_of(view.plan, whole)} if view.plan is not None else {},
        added={table: cost for table, cost in added.items() if cost != (0, 0)},
        reason=reason,
        uses=(view.name,),
        delta_queries=() if view.mode == "PERIODIC" else tuple(delta_queries(view, whole)),
        dependencies=bound.dependencies,
        suggestions=() if level != UNBOUNDED else _suggestions(view, whole),
    )


def _suggestions(view: Stored, schema: Schema) -> tuple[Suggestion, ...]:
    """The limits that would bound a lookup that finds any number of rows, each tried."""
    found: list[Suggestion] = []
    for source in {scan.object for scan in scans(view.plan)} if view.plan is not None else ():
        try:
            cost = cost_of(view, source, schema)
        except NotAnalysed:
            continue
        if not isinstance(cost, Unlimited) or not cost.id:
            continue
        for change in _limits(schema[cost.id], cost.columns):
            level = view_level(view, change.schema(schema))[0]
            if level != UNBOUNDED:
                found.append(Suggestion(text=change.text, level=level))
    return tuple(dict.fromkeys(found))


def _limits(table: Stored, columns: Sequence[int]) -> Iterator[Change]:
    """What would limit the rows of a table that are found by some columns; by none of its key, it needs another key."""
    counted = frozenset(table.key) - set(columns)
    if not table.is_table or not counted:
        return
    if counted != frozenset(table.key):
        yield limiting(table, counted)
    else:
        yield from (keyed_by(table, column) for column in columns)
