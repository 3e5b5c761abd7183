"""The auxiliary tables of a delta plan: what its operators keep, and how that is stored.

states        group columns                       the state of the group
values        group columns, value                its weight: a pre-aggregation
join index    lookup columns, key of the row      the row of a side, and its weight where rows may repeat
partners      lookup columns, key of the row      how many partners a row has, where a condition makes that differ
                                                  between rows of one lookup key; a row without one is not there
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from viewkeeper.delta.deltaplan import AggregateSink, Changes, DeltaPlan
from viewkeeper.delta.joinplan import (
    Index,
    InnerSource,
    ManySource,
    PartnerSource,
    Side,
    UnionSource,
    WholeSource,
    plans_below,
)
from viewkeeper.delta.sides import contents_of, is_plain
from viewkeeper.model.layout import Layout
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT, BINARY, BOOLEAN, Type
from viewkeeper.plan.join import PartnerKind

STATE = "_state"
WEIGHT = "_weight"


@dataclass(frozen=True, slots=True)
class StageTables:
    """The tables of one aggregate stage: states (None where they are merged into the view), pre-aggregations."""

    states: Layout | None
    values: tuple[Layout, ...]


@dataclass(frozen=True, slots=True)
class IndexTable:
    """A join index. `places` says for each column of the side's rows where it is in the stored row.

    `is_weighted`: the last stored column is how often the row is there. `contents` tells what is in it, whichever
    columns: indexes of equal contents can be one table, since a plain side is stored by the column ids of its source.
    """

    layout: Layout
    places: tuple[int, ...]
    is_weighted: bool
    contents: str


@dataclass(frozen=True, slots=True)
class SourceTables:
    """The tables of a join or union: those of the plans below it, its indexes, the partners of each side if counted."""

    below: tuple[PlanTables, ...]
    indexes: tuple[IndexTable, ...] = ()
    partners: tuple[Layout | None, Layout | None] = (None, None)


@dataclass(frozen=True, slots=True)
class PlanTables:
    source: SourceTables | None
    stages: tuple[StageTables, ...]


def plan_tables(plan: DeltaPlan, *, merged: bool = False) -> PlanTables:
    """The tables of a plan, without ids; with `merged`, the states of its last aggregate are kept elsewhere."""
    source = None if isinstance(plan.source, Changes) else _source_tables(plan.source)
    count = len(plan.stages) - 1
    return PlanTables(
        source, tuple(_stage_tables(plan, number, merged and number == count - 1) for number in range(count))
    )


def _stage_tables(plan: DeltaPlan, number: int, merged: bool) -> StageTables:
    sink = plan.stages[number].sink
    assert isinstance(sink, AggregateSink)
    group = tuple(Column(name=f"g{place}", type=type) for place, type in enumerate(sink.group))
    states = None if merged else _keyed_by(group, Column(name=STATE, type=BINARY))
    values = tuple(
        _keyed_by((*group, Column(name="value", type=kept.type)), Column(name=WEIGHT, type=BIGINT))
        for kept in sink.preaggregations
    )
    return StageTables(states, values)


def _keyed_by(key: tuple[Column, ...], value: Column) -> Layout:
    return _layout((*key, value), tuple(range(len(key))))


def _layout(columns: tuple[Column, ...], key: tuple[int, ...]) -> Layout:
    return Layout(id=0, name="", columns=columns, visible=0, key=key, descending=(False,) * len(key))


def _source_tables(source: ManySource) -> SourceTables:
    below = tuple(map(plan_tables, plans_below(source)))
    if isinstance(source, UnionSource | WholeSource):
        return SourceTables(below)
    indexes = tuple(_index_table(source.sides[index.side], index) for index in source.indexes)
    if isinstance(source, InnerSource) or source.condition is None:
        return SourceTables(below, indexes)
    left, right = (_partners(side, index) for side, index in zip(source.sides, source.indexes, strict=True))
    return SourceTables(below, indexes, (left, right if source.kind is PartnerKind.FULL else None))


def _index_table(side: Side, index: Index) -> IndexTable:
    types, depth = side.types, len(index.key)
    looked_up = tuple(Column(name=f"k{place}", type=expr.type) for place, expr in enumerate(index.key))
    if is_plain(side):
        assert isinstance(side.plan.source, Changes)
        ids = side.plan.source.columns
        known = dict(zip(ids, types, strict=True))
        # Columns that are not in use are NULL: one byte each, and a view that uses others can share the table.
        rest = tuple(Column(name=f"c{number}", type=known.get(number, BOOLEAN)) for number in range(max(ids) + 1))
        places = tuple(depth + number for number in ids)
    else:
        rest = tuple(Column(name=f"c{place}", type=type) for place, type in enumerate(types))
        places = tuple(range(depth, depth + len(types)))
    unique = range(len(types)) if side.key is None else side.key
    key = (*range(depth), *(places[place] for place in unique))
    weight = (Column(name=WEIGHT, type=BIGINT),) if side.key is None else ()
    layout = _layout((*looked_up, *rest, *weight), key)
    return IndexTable(layout, places, side.key is None, contents_of(side, index))


def _partners(side: Side, index: Index) -> Layout:
    unique = range(len(side.types)) if side.key is None else side.key
    key: list[Type] = [*(expr.type for expr in index.key), *(side.types[place] for place in unique)]
    columns = tuple(Column(name=f"k{place}", type=type) for place, type in enumerate(key))
    return _keyed_by(columns, Column(name="partners", type=BIGINT))


def layouts(tables: PlanTables) -> Iterator[Layout]:
    """All tables of a plan, in the order in which they are numbered."""
    if tables.source is not None:
        for below in tables.source.below:
            yield from layouts(below)
        for index in tables.source.indexes:
            yield index.layout
        yield from (layout for layout in tables.source.partners if layout is not None)
    for stage in tables.stages:
        if stage.states is not None:
            yield stage.states
        yield from stage.values


def with_ids(tables: PlanTables, ids: Iterator[int]) -> PlanTables:
    """The tables with object ids taken from `ids`, in the order of `layouts`."""

    def take(layout: Layout) -> Layout:
        return replace(layout, id=next(ids))

    source = tables.source
    if source is not None:
        below = tuple(with_ids(one, ids) for one in source.below)
        indexes = tuple(replace(index, layout=take(index.layout)) for index in source.indexes)
        left, right = (None if layout is None else take(layout) for layout in source.partners)
        source = SourceTables(below, indexes, (left, right))
    stages = []
    for stage in tables.stages:
        states = None if stage.states is None else take(stage.states)
        stages.append(StageTables(states, tuple(map(take, stage.values))))
    return PlanTables(source, tuple(stages))


def indexes_of(plan: DeltaPlan, tables: PlanTables) -> Iterator[tuple[Side, IndexTable]]:
    """All join indexes of a plan, with the sides that they hold."""
    source, kept = plan.source, tables.source
    if isinstance(source, Changes) or kept is None:
        return
    for below, plan_below in zip(kept.below, plans_below(source), strict=True):
        yield from indexes_of(plan_below, below)
    if isinstance(source, InnerSource | PartnerSource):
        for index, table in zip(source.indexes, kept.indexes, strict=True):
            yield source.sides[index.side], table
