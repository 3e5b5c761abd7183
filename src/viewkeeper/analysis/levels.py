"""The level of what is stored, and of a plan that reads it."""

from __future__ import annotations

from collections.abc import Iterable

from viewkeeper.analysis.kept import kept_by_view
from viewkeeper.analysis.maintenance import totals
from viewkeeper.analysis.paths import branches, definition_of
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.storage import storage_bound
from viewkeeper.analysis.verdict import LEVELS, UNBOUNDED
from viewkeeper.plan.relation import scans


def level_of(uses: Iterable[Stored], schema: Schema) -> str:
    """The level of a plan that reads these."""
    return max((view_level(one, schema)[0] for one in uses), key=LEVELS.index, default="SI-0")


@kept_by_view
def view_level(stored: Stored, schema: Schema) -> tuple[str, str]:
    """The level of a table, index or view by itself; if it is unbounded, why."""
    if stored.is_table:
        return "SI-0", ""
    if stored.mode == "PERIODIC":
        from viewkeeper.analysis.hotspots import serial_work

        work = serial_work(stored, schema)
        if work is not None:
            return "SI-3", ""
        return UNBOUNDED, f'View "{stored.name}" is computed whole, and the work in one part of it has no bound.'
    total = totals(schema).unlimited.get(stored.id)
    if total is not None:
        return UNBOUNDED, f'{stored.kind.capitalize()} "{stored.name}" has no bound on its maintenance. {total}'
    below = _below(stored, schema)
    if below:
        return UNBOUNDED, below
    bound = storage_bound(stored, schema)
    if bound.factor is None:
        names = ", ".join(bound.unreached)
        return (
            UNBOUNDED,
            f'{stored.kind.capitalize()} "{stored.name}" has no bound on its rows: nothing limits {names}.',
        )
    return _by_kind(stored, schema), ""


def _below(stored: Stored, schema: Schema) -> str:
    """Why what a view reads is unbounded; empty if it is not."""
    below = (schema[scan.object] for scan in scans(stored.plan) if scan.object in schema.objects) if stored.plan else ()
    return next((why for one in below if (why := view_level(one, schema)[1])), "")


def _by_kind(stored: Stored, schema: Schema) -> str:
    if stored.plan is None:
        return "SI-2"
    below = [schema[scan.object] for scan in scans(stored.plan) if scan.object in schema.objects]
    deeper = level_of(below, schema)
    if stored.kind == "join index":
        return max("SI-1", deeper, key=LEVELS.index)
    known = definition_of(stored, schema) if len(branches(stored)) == 1 else None
    is_index = known is not None and known.block.group is None and len(known.block.sources) == 1
    is_index = is_index and known is not None and not known.block.distinct and not known.block.conjuncts
    return max("SI-1" if is_index else "SI-2", deeper, key=LEVELS.index)
