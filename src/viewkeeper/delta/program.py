"""The program of a view: its delta plan, and the tables that keep its rows and its state.

merged     the view shows the groups of its last aggregate as they are: state and row are stored as one
keyed      every row has a key, hidden columns included: a change puts or removes it
weighted   nothing makes rows unique: the whole row is the key, and its weight is stored
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from viewkeeper.delta.deltaplan import AggregateSink, Compute, DeltaPlan, Stage
from viewkeeper.delta.keys import KeyOf, keyed
from viewkeeper.delta.rules import delta_plan
from viewkeeper.errors import BadDefinition
from viewkeeper.model.layout import Layout
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT, BINARY, Type
from viewkeeper.plan.expr import Expr, Input, substitute
from viewkeeper.plan.relation import Relation

STATE = "_state"
WEIGHT = "_weight"


class Storage(StrEnum):
    MERGED = "merged"
    KEYED = "keyed"
    WEIGHTED = "weighted"


@dataclass(frozen=True, slots=True)
class StageTables:
    """The tables of one aggregate stage: states (None where they are merged into the view), pre-aggregations."""

    states: Layout | None
    values: tuple[Layout, ...]


@dataclass(frozen=True, slots=True)
class Program:
    """How one view is maintained and stored.

    For MERGED, `shown` computes the stored columns but the state from an output row of the last aggregate, and
    `key_from` says which group column each key column of the layout is.
    """

    plan: DeltaPlan
    storage: Storage
    layout: Layout
    tables: tuple[StageTables, ...]
    shown: tuple[Expr, ...] = ()
    key_from: tuple[int, ...] = ()


def program(
    relation: Relation,
    visible: tuple[Column, ...],
    key: tuple[tuple[int, bool], ...],
    *,
    id: int,
    name: str,
    key_of: KeyOf,
) -> Program:
    """The program of a view whose SELECT is `relation`; `key` is its KEY clause, visible columns with directions."""
    extended, unique = keyed(relation, key_of)
    plan = delta_plan(extended)
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
    tables = tuple(_stage_tables(plan, number, merged is not None) for number in range(len(plan.stages) - 1))
    shown, key_from = merged if merged is not None else ((), ())
    return Program(plan, storage, layout, tables, shown, key_from)


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


def _stage_tables(plan: DeltaPlan, number: int, merged: bool) -> StageTables:
    sink = plan.stages[number].sink
    assert isinstance(sink, AggregateSink)
    group = tuple(Column(name=f"g{place}", type=type) for place, type in enumerate(sink.group))
    is_last = number == len(plan.stages) - 2
    states = None if merged and is_last else _auxiliary(group, Column(name=STATE, type=BINARY))
    values = tuple(
        _auxiliary((*group, Column(name="value", type=kept.type)), Column(name=WEIGHT, type=BIGINT))
        for kept in sink.preaggregations
    )
    return StageTables(states, values)


def _auxiliary(key: tuple[Column, ...], value: Column) -> Layout:
    places = tuple(range(len(key)))
    return Layout(id=0, name="", columns=(*key, value), visible=0, key=places, descending=(False,) * len(key))


def fingerprint(plan: DeltaPlan, number: int, column_type: tuple[int, Type] | None = None) -> str:
    """What an auxiliary table of a stage depends on: equal texts, equal contents.

    Everything below the sink and its group columns; with `column_type`, also the pre-aggregated column.
    """
    stages: tuple[Stage, ...] = plan.stages[: number + 1]
    sink = stages[-1].sink
    assert isinstance(sink, AggregateSink)
    *before, last = stages
    if column_type is None:
        return repr((before, last.source, last.linear, sink))
    step = last.linear[-1]
    assert isinstance(step, Compute)
    kept = (step.exprs[: len(sink.group)], step.exprs[column_type[0]])
    return repr((before, last.source, last.linear[:-1], kept))


def numbered(found: Program, ids: Iterator[int]) -> Program:
    """The program with an object id for each of its auxiliary tables, taken from `ids` in order."""
    tables = []
    for stage in found.tables:
        states = None if stage.states is None else replace(stage.states, id=next(ids))
        tables.append(StageTables(states, tuple(replace(values, id=next(ids)) for values in stage.values)))
    return replace(found, tables=tuple(tables))
