"""What one changed row costs: reads and writes of each index and view above its table.

For each place in which a view reads the table there is a delta query: the definition with that place replaced by the
row. What it finds is what changes in the view. It looks the other sources up by equality, in the auxiliary join index
of each side. It is bounded if keys and CARDINALITY limit every lookup; rowcost.py counts what the executor does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from viewkeeper.analysis.block import Block, NotAnalysed
from viewkeeper.analysis.kept import kept_by_view
from viewkeeper.analysis.paths import Frozen, branches, definition_of
from viewkeeper.analysis.rowcost import NoLimit, RowCost, row_cost
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.verdict import ChangeCost


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlimited:
    """A lookup that may find any number of rows: which source, by which columns. Without `id`: words of a text."""

    view: str
    table: str
    looked_up: str
    by: tuple[str, ...]
    id: int = 0
    columns: tuple[int, ...] = ()

    def __str__(self) -> str:
        if not self.id:
            return f'One changed row of "{self.table}" may have any number of words, each of which is an entry.'
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f'One changed row of "{self.table}" may match any number of rows of "{self.looked_up}"{by}.'


def cost_of(view: Stored, source: int, schema: Schema) -> RowCost | Unlimited:
    """What one row of a source that comes or goes costs in a view that reads it. NotAnalysed if it is not known."""
    found = _costs_of(view, schema).get(source, RowCost(reads=0, writes=0, rows=0))
    if isinstance(found, NotAnalysed):
        raise NotAnalysed(str(found))
    return found


@kept_by_view
def _costs_of(view: Stored, schema: Schema) -> dict[int, RowCost | Unlimited | NotAnalysed]:
    """The same of each source, or why it is not known."""
    found: dict[int, RowCost | Unlimited | NotAnalysed] = {}
    for source in _sources(view, schema):
        try:
            found[source] = _cost_of(view, source, schema)
        except NotAnalysed as error:
            # Kept for long: without what it was raised in.
            found[source] = NotAnalysed(str(error))
    return found


def _cost_of(view: Stored, source: int, schema: Schema) -> RowCost | Unlimited:
    reads = writes = rows = 0
    for branch in branches(view):
        known = definition_of(branch, schema)
        if known is None:
            raise NotAnalysed(f'the definition of view "{view.name}" is not analysed')
        for number, one in enumerate(known.block.sources):
            if one.stored is None:
                raise NotAnalysed(f'view "{view.name}" has a query in FROM')
            if one.stored.id != source:
                continue
            found = delta_cost(branch, known.block, number, schema)
            if isinstance(found, Unlimited):
                return found
            reads += found.reads
            writes += found.writes
            rows += found.rows
    return RowCost(reads=reads, writes=writes, rows=rows)


def delta_cost(view: Stored, block: Block, number: int, schema: Schema) -> RowCost | Unlimited:
    try:
        return row_cost(view, block, number, schema)
    except NoLimit as error:
        if error.source == number:
            source = block.sources[number]
            return Unlimited(view=view.name, table=source.name, looked_up=source.name, by=())
        return unlimited(view, block, number, error.source, error.columns)


def unlimited(view: Stored, block: Block, number: int, place: int, fixed: Sequence[int]) -> Unlimited:
    source = block.sources[place]
    assert source.stored is not None
    return Unlimited(
        view=view.name,
        table=block.sources[number].name,
        looked_up=source.name,
        by=tuple(source.stored.columns[column].name for column in fixed),
        id=source.stored.id,
        columns=tuple(fixed),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """By table, reads and writes for one changed row over all views, None without a bound; and why, by view."""

    costs: dict[str, ChangeCost]
    unlimited: dict[int, str]


def totals(schema: Schema, wanted: frozenset[int] | None = None) -> Total:
    """What a changed row of each table costs in all views, or in these; an update is a delete and an insert."""
    return _totals(Frozen(schema), wanted)


@lru_cache(maxsize=64)
def _totals(frozen: Frozen, wanted: frozenset[int] | None) -> Total:
    schema = frozen.schema
    costs: dict[str, ChangeCost] = {}
    unlimited: dict[int, str] = {}
    order = _lower_first(schema)
    for table in schema.tables():
        reads = writes = 0
        bounded = True
        # How many rows of each come or go; None for any number.
        coming: dict[int, int | None] = {table.id: 2}
        for view in order:
            if view.mode == "PERIODIC":
                continue
            is_wanted = wanted is None or view.id in wanted
            for source in sorted(_sources(view, schema) & coming.keys()):
                times, found = coming[source], _limited(view, source, schema, unlimited)
                before = coming.setdefault(view.id, 0)
                if times is None or found is None:
                    coming[view.id] = None
                    bounded = bounded and not is_wanted
                    continue
                reads += times * found.reads * is_wanted
                writes += times * found.writes * is_wanted
                coming[view.id] = None if before is None else before + times * found.rows
        costs[table.name] = (reads, writes) if bounded else None
    return Total(costs=costs, unlimited=unlimited)


def is_limited(view: Stored, schema: Schema) -> bool:
    """Whether one changed row of what a view reads costs it a bounded number of operations."""
    return all(_limited(view, source, schema, {}) is not None for source in _sources(view, schema))


def _limited(view: Stored, source: int, schema: Schema, unlimited: dict[int, str]) -> RowCost | None:
    """What one row of a source costs in a view; None without a bound, and then `unlimited` is told why."""
    try:
        found = cost_of(view, source, schema)
    except NotAnalysed as error:
        text = str(error)
        unlimited.setdefault(view.id, f"{text[0].upper()}{text[1:]}.")
        return None
    if isinstance(found, Unlimited):
        unlimited.setdefault(view.id, str(found))
        return None
    return found


def _sources(view: Stored, schema: Schema) -> set[int]:
    from viewkeeper.plan.relation import scans

    return set() if view.plan is None else {scan.object for scan in scans(view.plan)} & schema.objects.keys()


def _lower_first(schema: Schema) -> list[Stored]:
    """All views, each behind those that it reads."""
    found: list[Stored] = []
    seen: set[int] = set()

    def visit(view: Stored) -> None:
        if view.id in seen:
            return
        seen.add(view.id)
        for source in sorted(_sources(view, schema)):
            if not schema[source].is_table:
                visit(schema[source])
        found.append(view)

    for view in schema.views():
        visit(view)
    return found
