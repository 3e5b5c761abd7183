"""What one changed row costs: reads and writes of each index and view above its table.

For each place in which a view reads the table there is a delta query: the definition with that place replaced by the
row. What it finds is what changes in the view. It looks the other sources up by equality, in the auxiliary join index
of each side. It is bounded if keys and CARDINALITY limit every lookup; rowcost.py counts what the executor does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from viewkeeper.analysis.block import Block, NotAnalysed, SourceKind, aliases
from viewkeeper.analysis.conditions import Conditions
from viewkeeper.analysis.paths import Frozen, branches, definition_of, fixed_by, rows_under
from viewkeeper.analysis.rowcost import NoLimit, RowCost, row_cost
from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.analysis.sqltext import aggregate, quoted, sql
from viewkeeper.analysis.verdict import DeltaQuery
from viewkeeper.plan.expr import Expr, Input, Parameter, rewrite


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlimited:
    """A lookup that may find any number of rows: which source, by which columns."""

    view: str
    table: str
    looked_up: str
    by: tuple[str, ...]
    id: int = 0
    columns: tuple[int, ...] = ()

    def __str__(self) -> str:
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f'One changed row of "{self.table}" may match any number of rows of "{self.looked_up}"{by}.'


def cost_of(view: Stored, source: int, schema: Schema) -> RowCost | Unlimited:
    """What one row of a source that comes or goes costs in a view that reads it. NotAnalysed if it is not known."""
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
            found = _delta(branch, known.block, number, schema)
            if isinstance(found, Unlimited):
                return found
            reads += found.reads
            writes += found.writes
            rows += found.rows
    return RowCost(reads=reads, writes=writes, rows=rows)


def _delta(view: Stored, block: Block, number: int, schema: Schema) -> RowCost | Unlimited:
    try:
        return row_cost(view, block, number, schema)
    except NoLimit as error:
        if error.source == number:
            source = block.sources[number]
            return Unlimited(view=view.name, table=source.name, looked_up=source.name, by=("its words",))
        return _unlimited(view, block, number, error.source, error.columns)


def _lookups(view: Stored, block: Block, number: int, schema: Schema) -> tuple[int, int] | Unlimited:
    """Reads of the other sources, and rows found, at most, in whichever order they are looked up."""
    others = [place for place in range(len(block.sources)) if place != number]
    conditions = Conditions((*block.conjuncts, *(one for source in block.sources for one in source.on)))
    most: tuple[int, int] = (0, 1)
    for order in _orders(block, number, others, conditions, schema):
        known = {number}
        reads, matched = 0, 1
        for place in order:
            fixed = fixed_by(block, place, known, conditions)
            source = block.sources[place]
            assert source.stored is not None
            under = rows_under(source.stored, frozenset(fixed), schema)
            if under is None:
                return _unlimited(view, block, number, place, fixed)
            if source.kind in (SourceKind.SEMI, SourceKind.ANTI):
                under = 1
            reads += matched
            matched *= under
            known.add(place)
        most = max(reads, most[0]), max(matched, most[1])
    return most


def _orders(
    block: Block, number: int, others: Sequence[int], conditions: Conditions, schema: Schema
) -> Iterator[tuple[int, ...]]:
    """The orders in which the executor may look up the others: by equality, what is found by its key first."""

    def go(done: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        left = [place for place in others if place not in done]
        if not left:
            yield done
            return
        known = {number, *done}
        linked = [place for place in left if _is_linked(block, place, known, conditions)] or left
        single = []
        for place in linked:
            stored = block.sources[place].stored
            assert stored is not None
            if rows_under(stored, frozenset(fixed_by(block, place, known, conditions)), schema) == 1:
                single.append(place)
        for place in single[:1] or linked:
            yield from go((*done, place))

    return go(())


def _is_linked(block: Block, place: int, known: set[int], conditions: Conditions) -> bool:
    source = block.sources[place]
    assert source.stored is not None
    return any(
        isinstance(one, Input) and block.source_at(one.index) in known
        for n, column in enumerate(source.stored.columns)
        for one in conditions.same(Input(source.start + n, column.type))
    )


def _unlimited(view: Stored, block: Block, number: int, place: int, fixed: Sequence[int]) -> Unlimited:
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
    """By table, reads and writes for one changed row over all views; and what has no bound, by view."""

    costs: dict[str, tuple[int, int]]
    unlimited: dict[int, str]


def totals(schema: Schema, wanted: frozenset[int] | None = None) -> Total:
    """What a changed row of each table costs in all views, or in these; an update is a delete and an insert."""
    return _totals(Frozen(schema), wanted)


@lru_cache(maxsize=64)
def _totals(frozen: Frozen, wanted: frozenset[int] | None) -> Total:
    schema = frozen.schema
    costs: dict[str, tuple[int, int]] = {}
    unlimited: dict[int, str] = {}
    order = _lower_first(schema)
    for table in schema.tables():
        reads = writes = 0
        coming = {table.id: 2}
        for view in order:
            for source in sorted(_sources(view, schema)):
                times = coming.get(source, 0)
                if not times or view.mode == "PERIODIC":
                    continue
                try:
                    found = cost_of(view, source, schema)
                except NotAnalysed as error:
                    text = str(error)
                    unlimited.setdefault(view.id, f"{text[0].upper()}{text[1:]}.")
                    continue
                if isinstance(found, Unlimited):
                    unlimited.setdefault(view.id, str(found))
                    continue
                if wanted is None or view.id in wanted:
                    reads += times * found.reads
                    writes += times * found.writes
                coming[view.id] = coming.get(view.id, 0) + times * found.rows
        costs[table.name] = (reads, writes)
    return Total(costs=costs, unlimited=unlimited)


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


def delta_queries(view: Stored, schema: Schema) -> Iterator[DeltaQuery]:
    """For each place in which a view reads a table or view, what a changed row of it looks up."""
    for branch in branches(view):
        yield from _delta_queries(branch, schema)


def _delta_queries(view: Stored, schema: Schema) -> Iterator[DeltaQuery]:
    known = definition_of(view, schema)
    if known is None or any(source.stored is None for source in known.block.sources):
        return
    block = known.block
    for number, source in enumerate(block.sources):
        assert source.stored is not None
        found = _delta(view, block, number, schema)
        looked = _lookups(view, block, number, schema)
        is_known = not isinstance(looked, Unlimited) and not isinstance(found, Unlimited)
        yield DeltaQuery(
            view=view.name,
            table=source.name,
            sql=_delta_sql(view, block, number),
            reads=looked[0] if is_known and not isinstance(looked, Unlimited) else None,
            rows=looked[1] if is_known and not isinstance(looked, Unlimited) else None,
        )


def _delta_sql(view: Stored, block: Block, number: int) -> str:
    short = aliases([source.name for source in block.sources])
    changed = block.sources[number]
    assert changed.stored is not None
    stored = changed.stored

    def given(expr: Expr) -> Expr:
        def one(column: Input) -> Expr:
            if changed.has(column.index):
                return Parameter(stored.columns[column.index - changed.start].name, column.type)
            return column

        return rewrite(expr, one)

    def name(column: Input) -> str:
        place = block.source_at(column.index)
        source = block.sources[place]
        assert source.stored is not None
        return f"{short[place]}.{quoted(source.stored.columns[column.index - source.start].name)}"

    def text(expr: Expr) -> str:
        return sql(given(expr), name)

    if block.group is None:
        shown = [text(expr) for expr in block.outputs[: view.visible]]
    else:
        shown = [text(expr) for expr in block.group]
        shown += [
            "+" + ("1" if one is None else aggregate(call, text(one)))
            for call, one in zip(block.calls, block.arguments, strict=True)
        ]
    rest = [f"{quoted(source.name)} AS {short[place]}" for place, source in enumerate(block.sources) if place != number]
    conditions = [text(one) for one in (*_told(block, number), *(one for source in block.sources for one in source.on))]
    found = f"SELECT {', '.join(shown)}"
    if rest:
        found += f" FROM {', '.join(rest)}"
    return found + (f" WHERE {' AND '.join(conditions)}" if conditions else "")


def _told(block: Block, number: int) -> Iterator[Expr]:
    """The conditions of a definition, with what they imply for what equals a column of the changed row."""
    from viewkeeper.analysis.block import equality

    changed = block.sources[number]
    conditions = Conditions(block.conjuncts)
    done: set[Expr] = set()
    for left, _, conjunct in conditions.equalities:
        members = sorted(conditions.same(left), key=lambda one: getattr(one, "index", -1))
        own = next((one for one in members if isinstance(one, Input) and changed.has(one.index)), None)
        if own is None:
            yield conjunct
            continue
        if own in done:
            continue
        done.add(own)
        yield from (equality(other, own) for other in members if other != own)
    yield from (test.conjunct for test in conditions.tests)
    yield from conditions.other
