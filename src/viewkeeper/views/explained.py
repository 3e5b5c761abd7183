"""A view for people: its verdict, then how it is maintained: what it reads and keeps, how a join finds partners."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from viewkeeper.analysis.report import report
from viewkeeper.analysis.verdict import ChangeCost, Verdict
from viewkeeper.delta.deltaplan import Changes, DeltaPlan
from viewkeeper.delta.joinplan import Index, InnerSource, PartnerSource, Side, UnionSource, WholeSource, plans_below
from viewkeeper.delta.sides import is_plain, numbers_of
from viewkeeper.delta.tables import IndexTable, PlanTables
from viewkeeper.errors import StoreDamaged
from viewkeeper.execute.joincost import choose
from viewkeeper.plan.lookedup import LookedUp
from viewkeeper.plan.relation import Field
from viewkeeper.plan.show import show, show_expr
from viewkeeper.plan.staging import FirstRows
from viewkeeper.store.interface import Catalog, Store
from viewkeeper.views.bound import BoundView, BoundViews, bound_views
from viewkeeper.views.firstrows import leaf_reads
from viewkeeper.views.scaling import verdict_of

BATCHES = (10_000, 100_000, 1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedIndex:
    """A join index: what it holds, by what, and how large batches would meet it on Spark, by their keys.

    `rows` is None as long as the view has not been filled. `shared_with` are the other views that use the same table.
    """

    side: str
    by: tuple[str, ...]
    columns: tuple[str, ...]
    rows: int | None
    shared_with: tuple[str, ...]
    met_by: dict[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedView:
    """`terms`: for each side of an inner join, in which order a changed row of it finds the others.

    `reads`: where a refresh needs only some rows of what it reads, which ones and, of first rows, how many. `costs`: by
    table, reads and writes of this view alone for a changed row; those in `verdict` are of all views of the table.
    """

    view: str
    kind: str
    verdict: Verdict
    costs: Mapping[str, ChangeCost]
    key: tuple[str, ...]
    plan: str
    indexes: tuple[ExplainedIndex, ...]
    terms: tuple[str, ...]
    joins: str = ""
    reads: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def explain_view(store: Store, name: str) -> ExplainedView:
    """The view of that name; UnknownTable if there is none, StoreDamaged if it cannot be bound any more."""
    view = store.catalog().known_view(name)
    bound = bound_views(store)
    one = bound.get(view.id)
    if one is None:
        raise StoreDamaged(f'view "{view.name}" cannot be bound any more', hint="Drop it and create it again.")
    explainer = _Explainer(store, bound)
    note = store.view_tables.notes().get(view.id)
    found = list(explainer.parts(one.bare.plan, one.program.tables))
    verdict, costs = verdict_of(bound, view)
    return ExplainedView(
        view=view.name,
        kind=view.kind,
        verdict=verdict,
        costs=costs,
        key=tuple(view.layout.columns[number].name for number in view.layout.key),
        plan=show(one.statement.plan),
        indexes=tuple(part for part in found if isinstance(part, ExplainedIndex)),
        terms=tuple(part for part in found if isinstance(part, str)),
        joins="" if note is None else note.batch_joins,
        reads=tuple(_reads(bound, one)),
    )


class _Explainer:
    def __init__(self, store: Store, bound: BoundViews) -> None:
        self._store = store
        self._bound = bound
        self._states, self._objects = store.view_tables.objects()

    def parts(self, plan: DeltaPlan, tables: PlanTables) -> Iterator[ExplainedIndex | str]:
        """Indexes and terms, those of what is below first."""
        source, kept = plan.source, tables.source
        if isinstance(source, Changes) or kept is None:
            return
        for below, its in zip(plans_below(source), kept.below, strict=True):
            yield from self.parts(below, its)
        if isinstance(source, UnionSource | WholeSource):
            return
        names = [self._name(side) for side in source.sides]
        for index, table in zip(source.indexes, kept.indexes, strict=True):
            yield self._index(names[index.side], source.sides[index.side], index, table)
        if isinstance(source, InnerSource):
            for start, term in zip(names, source.terms, strict=True):
                probed = (names[source.indexes[probe.index].side] for probe in term)
                yield " → ".join([start, *probed])
        if isinstance(source, PartnerSource):
            yield f"{names[0]} → {names[1]}, {names[1]} → {names[0]} ({source.kind})"

    def _name(self, side: Side) -> str:
        found = [_object_name(self._bound.catalog, leaf.object) for leaf in side.plan.leaves()]
        return found[0] if is_plain(side) else f"({', '.join(found)})"

    def _index(self, name: str, side: Side, index: Index, table: IndexTable) -> ExplainedIndex:
        fields = self._fields(side)
        rows = self._rows(table.layout.id)
        return ExplainedIndex(
            side=name,
            by=tuple(show_expr(expr, fields) for expr in index.key),
            columns=tuple(field.name for field in fields),
            rows=rows,
            shared_with=self._sharing(table.layout.id),
            met_by={} if not rows else {keys: choose(rows, keys).by for keys in BATCHES},
        )

    def _fields(self, side: Side) -> list[Field]:
        if not is_plain(side):
            return [Field(f"column {place + 1}", type) for place, type in enumerate(side.types)]
        source = side.plan.source
        assert isinstance(source, Changes)
        names = _columns(self._bound.catalog, source.object)
        return [Field(names[number], type) for number, type in zip(numbers_of(side), side.types, strict=True)]

    def _rows(self, number: int) -> int | None:
        place = self._objects.get(number)
        if place is None or self._states[place.group].filled is not None:
            return None
        with self._store.view_tables.reading([number]) as reading:
            return reading.rows(number)

    def _sharing(self, number: int) -> tuple[str, ...]:
        place = self._objects.get(number)
        if place is None:
            return ()
        alike = {other for other, state in self._objects.items() if state.slot == place.slot and other != number}
        return tuple(
            sorted(
                one.view.name
                for one in self._bound.views.values()
                if number not in one.view.objects and not alike.isdisjoint(one.view.auxiliary)
            )
        )


def _object_name(catalog: Catalog, number: int) -> str:
    return catalog.tables[number].name if number in catalog.tables else catalog.views[number].name


def _columns(catalog: Catalog, number: int) -> list[str]:
    if number in catalog.tables:
        return [column.name for column in catalog.tables[number].columns]
    return [column.name for column in catalog.views[number].layout.columns]


def _reads(bound: BoundViews, one: BoundView) -> Iterator[str]:
    names = [_object_name(bound.catalog, leaf.object) for leaf in one.leaves]
    for name, leaf, read in zip(names, one.leaves, leaf_reads(bound, one), strict=True):
        match read:
            case FirstRows():
                yield f"{name}: {_first_rows(read)}"
            case LookedUp(columns=columns, leaf=source):
                by = ", ".join(_columns(bound.catalog, leaf.object)[column] for column in columns)
                yield f"{name}: by ({by}), for the rows of {names[source]}"


def _first_rows(first: FirstRows) -> str:
    rows = "the first row" if first.count == 1 else f"the first {first.count:,} rows"
    parts = "" if first.parts is None else f" of each of {first.parts:,} parts"
    equal = "" if first.is_exact else ", and those that are equal in its order to the last"
    return f"{rows}{parts}, {first.most:,} at most{equal}"


def _lines(found: ExplainedView) -> Iterator[str]:
    yield report(replace(found.verdict, added=found.costs), f"of this {found.kind}")
    yield ""
    yield f'{found.kind} "{found.view}", stored by ({", ".join(found.key)})'
    yield ""
    yield found.plan
    if found.indexes:
        yield ""
        yield "join indexes"
    for index in found.indexes:
        rows = "not filled yet" if index.rows is None else f"{index.rows:,} rows"
        shared = f", shared with {', '.join(index.shared_with)}" if index.shared_with else ""
        yield f"  {index.side} by ({', '.join(index.by)}): {', '.join(index.columns)}; {rows}{shared}"
        if index.met_by:
            ways = ", ".join(f"{keys:,} keys by {way}" for keys, way in index.met_by.items())
            yield f"    a large batch meets it on Spark: {ways}"
    if found.terms:
        yield ""
        yield "a changed row finds its partners"
        yield from (f"  {term}" for term in found.terms)
    if found.reads:
        yield ""
        yield "a refresh reads"
        yield from (f"  {read}" for read in found.reads)
    if found.joins:
        yield ""
        yield f"the last batch met join indexes by {found.joins}"
