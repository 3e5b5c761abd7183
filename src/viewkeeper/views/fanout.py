"""Lookups of a join that may find any number of rows: what a write has to bear with if the view is SYNC."""

from __future__ import annotations

from collections.abc import Iterator

from viewkeeper.delta.deltaplan import Changes, DeltaPlan
from viewkeeper.delta.joinplan import Index, InnerSource, PartnerSource, Side, plans_below
from viewkeeper.delta.program import Program
from viewkeeper.delta.sides import is_plain, numbers_of
from viewkeeper.plan.expr import Input
from viewkeeper.store.interface import Catalog


def unbounded_lookups(catalog: Catalog, program: Program) -> list[str]:
    """For each such lookup, what may be looked up and by what; not where a key or CARDINALITY limits it."""
    return list(dict.fromkeys(_lookups(catalog, program.plan)))


def _lookups(catalog: Catalog, plan: DeltaPlan) -> Iterator[str]:
    source = plan.source
    if isinstance(source, Changes):
        return
    for below in plans_below(source):
        yield from _lookups(catalog, below)
    if isinstance(source, InnerSource | PartnerSource):
        for index in source.indexes:
            side = source.sides[index.side]
            if not _is_bounded(catalog, side, index):
                yield _described(catalog, side, index)


def _is_bounded(catalog: Catalog, side: Side, index: Index) -> bool:
    places = {expr.index for expr in index.key if isinstance(expr, Input)}
    if side.key is not None and places.issuperset(side.key):
        return True
    if not is_plain(side):
        return False
    source = side.plan.source
    assert isinstance(source, Changes)
    table = catalog.tables.get(source.object)
    if table is None:
        return False
    numbers = numbers_of(side)
    known = {numbers[place] for place in places}
    for limit in table.cardinalities:
        counted = {table.column_id(name) for name in limit.columns}
        if not limit.words and known | counted >= set(table.key_ids):
            return True
    return False


def _described(catalog: Catalog, side: Side, index: Index) -> str:
    names = {number: table.name for number, table in catalog.tables.items()}
    names |= {number: view.name for number, view in catalog.views.items()}
    tables = ", ".join(dict.fromkeys(names[leaf.object] for leaf in side.plan.leaves()))
    if not is_plain(side):
        return f"rows of {tables}"
    source = next(side.plan.leaves()).object
    columns = (catalog.codecs.get(source) or catalog.view_codecs[source]).table.columns
    numbers = numbers_of(side)
    by = [columns[numbers[expr.index]].name for expr in index.key if isinstance(expr, Input)]
    return f"rows of {tables} by {', '.join(by)}" if by else f"rows of {tables}"
