"""The program of a view: its delta plan, and the tables that keep its rows and its state.

merged     the view shows the groups of its last aggregate as they are: state and row are stored as one
keyed      every row has a key, hidden columns included: a change puts or removes it
weighted   nothing makes rows unique: the whole row is the key, and its weight is stored
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from viewkeeper.delta.deltaplan import AggregateSink, Changes, Compute, DeltaPlan, Multiply, Select, Stage, Words
from viewkeeper.delta.joinplan import ManySource
from viewkeeper.delta.keys import KeyOf, keyed
from viewkeeper.delta.rules import delta_plan
from viewkeeper.delta.sides import identity
from viewkeeper.delta.tables import STATE, WEIGHT, PlanTables, indexes_of, layouts, plan_tables, with_ids
from viewkeeper.errors import BadDefinition
from viewkeeper.model.layout import Layout
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT, BINARY
from viewkeeper.plan.expr import Expr, Input, substitute
from viewkeeper.plan.relation import Aggregate, Distinct, Relation, below


class Storage(StrEnum):
    MERGED = "merged"
    KEYED = "keyed"
    WEIGHTED = "weighted"


@dataclass(frozen=True, slots=True)
class Epochs:
    """Groups of a stage whose epoch is too old leave it, by the clock of the log.

    `column` is the group column that says when an epoch began; an epoch is dropped once a transaction was committed
    more than `retain_us` behind its beginning. `table` holds the groups by epoch, so that the old ones are found.
    """

    stage: int
    column: int
    retain_us: int
    table: Layout


@dataclass(frozen=True, slots=True)
class Program:
    """How one view is maintained and stored.

    For MERGED, `shown` computes the stored columns but the state from an output row of the last aggregate, and
    `key_from` says which group column each key column of the layout is.
    """

    plan: DeltaPlan
    storage: Storage
    layout: Layout
    tables: PlanTables
    shown: tuple[Expr, ...] = ()
    key_from: tuple[int, ...] = ()
    epochs: Epochs | None = None

    @property
    def is_merged(self) -> bool:
        return self.storage is Storage.MERGED

    def auxiliary(self) -> Iterator[Layout]:
        """Its auxiliary tables, in the order in which they are numbered."""
        yield from layouts(self.tables)
        if self.epochs is not None:
            yield self.epochs.table


def program(
    relation: Relation,
    visible: tuple[Column, ...],
    key: tuple[tuple[int, bool], ...],
    *,
    id: int,
    name: str,
    key_of: KeyOf,
    retain: tuple[int, int] | None = None,
) -> Program:
    """The program of a view whose SELECT is `relation`; `key` is its KEY clause, visible columns with directions.

    `retain`: which field of the topmost Aggregate says when an epoch began, and for how many µs epochs are kept.
    """
    extended, unique = keyed(relation, key_of)
    plan = delta_plan(extended, key_of)
    columns = tuple(
        visible[number] if number < len(visible) else Column(name=_hidden(field.name), type=field.type)
        for number, field in enumerate(extended.fields)
    )
    if unique is None:
        storage, stored = Storage.WEIGHTED, (*columns, Column(name=WEIGHT, type=BIGINT))
        rest: tuple[int, ...] = tuple(range(len(columns)))
    else:
        storage, stored = Storage.KEYED, columns
        rest = unique
    given = [number for number, _ in key]
    if len(set(given)) < len(given):
        raise BadDefinition(f'a column appears twice in KEY of view "{name}"')
    order = (*key, *((number, False) for number in rest if number not in given))
    merged = _merged(plan, order)
    if merged is not None:
        storage, stored = Storage.MERGED, (*columns, Column(name=STATE, type=BINARY))
    layout = Layout(
        id=id,
        name=name,
        columns=stored,
        visible=len(visible),
        key=tuple(number for number, _ in order),
        descending=tuple(descending for _, descending in order),
    )
    tables = plan_tables(plan, merged=merged is not None)
    shown, key_from = merged if merged is not None else ((), ())
    epochs = None if retain is None else _epochs(extended, plan, *retain)
    return Program(plan, storage, layout, tables, shown, key_from, epochs)


def _epochs(relation: Relation, plan: DeltaPlan, column: int, retain_us: int) -> Epochs:
    stage = _stage_of_topmost(relation)
    sink = plan.stages[stage].sink
    assert isinstance(sink, AggregateSink)
    columns = tuple(Column(name=f"g{place}", type=type) for place, type in enumerate(sink.group))
    key = (column, *(place for place in range(len(columns)) if place != column))
    table = Layout(id=0, name="", columns=columns, visible=0, key=key, descending=(False,) * len(key))
    return Epochs(stage, column, retain_us, table)


def _stage_of_topmost(relation: Relation) -> int:
    """Which stage ends in the topmost Aggregate: there is one for each, and for each Distinct, the lowest first."""
    sinks: list[Relation] = []
    node: Relation | None = relation
    while node is not None:
        if isinstance(node, Aggregate | Distinct):
            sinks.append(node)
        parts = below(node)
        node = parts[0] if len(parts) == 1 else None
    topmost = next(place for place, sink in enumerate(sinks) if isinstance(sink, Aggregate))
    return len(sinks) - 1 - topmost


def _hidden(name: str) -> str:
    return name if name.startswith("_") else f"_{name}"


def _merged(plan: DeltaPlan, order: tuple[tuple[int, bool], ...]) -> tuple[tuple[Expr, ...], tuple[int, ...]] | None:
    """How the last aggregate's groups become rows, if each does become one and the key is part of its group."""
    *inner, last = plan.stages
    if not inner or not all(isinstance(step, Compute) for step in last.linear):
        return None
    sink = inner[-1].sink
    assert isinstance(sink, AggregateSink)
    types = (*sink.group, *(call.type for call in sink.calls))
    shown: tuple[Expr, ...] = tuple(Input(number, type) for number, type in enumerate(types))
    for step in last.linear:
        assert isinstance(step, Compute)
        shown = tuple(substitute(expr, shown) for expr in step.exprs)
    key_from = []
    for number, _ in order:
        expr = shown[number]
        if not isinstance(expr, Input) or expr.index >= len(sink.group):
            return None
        key_from.append(expr.index)
    return shown, tuple(key_from)


def fingerprints(found: Program) -> Iterator[tuple[str, int]]:
    """For each auxiliary table that views can share what it depends on, as a text, and its id.

    Equal texts, equal contents. They are pre-aggregations, told by everything below the sink, the group columns and
    the value; and join indexes. What is computed and selected is told in terms of the source's columns, so that views
    which differ in their other columns are still seen to share.
    """
    for _, index in indexes_of(found.plan, found.tables):
        yield f"index {index.contents}", index.layout.id
    for number, tables in enumerate(found.tables.stages):
        stage = found.plan.stages[number]
        assert isinstance(stage.sink, AggregateSink)
        steps, shown = _composed(stage)
        source = origin(stage.source)
        kept_for = found.epochs.retain_us if found.epochs is not None and found.epochs.stage <= number else None
        below = (found.plan.stages[:number], source, steps, shown[: len(stage.sink.group)], kept_for)
        for kept, values in zip(stage.sink.preaggregations, tables.values, strict=True):
            yield repr((below, shown[kept.column])), values.id


def origin(source: Changes | ManySource | None) -> object:
    """What the rows of a source are, apart from which columns are used of them."""
    if source is None:
        return None
    return source.object if isinstance(source, Changes) else identity(source)


def _composed(stage: Stage) -> tuple[tuple[object, ...], tuple[Expr, ...]]:
    """The steps of a stage but its projections, each in terms of what came before it; and its rows, likewise."""
    types = () if stage.source is None else stage.source.types
    columns = () if stage.source is None else stage.source.columns
    shown: tuple[Expr, ...] | None = None
    if stage.source is not None:
        shown = tuple(Input(column, type) for column, type in zip(columns, types, strict=True))
    steps: list[object] = []
    for step in stage.linear:
        match step:
            case Compute(exprs):
                shown = exprs if shown is None else tuple(substitute(expr, shown) for expr in exprs)
            case Select(condition):
                steps.append(Select(condition if shown is None else substitute(condition, shown)))
            case Multiply(projections):
                steps.append((shown, step))
                shown = tuple(Input(place, expr.type) for place, expr in enumerate(projections[0]))
            case Words(text):
                steps.append((shown, step))
                assert shown is not None
                shown = tuple(Input(place, expr.type) for place, expr in enumerate((*shown, text)))
    assert shown is not None
    return tuple(steps), shown


def numbered(found: Program, ids: Iterator[int]) -> Program:
    """The program with an object id for each of its auxiliary tables, taken from `ids` in order."""
    tables = with_ids(found.tables, ids)
    epochs = found.epochs
    if epochs is not None:
        epochs = replace(epochs, table=replace(epochs.table, id=next(ids)))
    return replace(found, tables=tables, epochs=epochs)
