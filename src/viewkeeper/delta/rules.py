"""One rule an operator: relation to delta plan.

Δ(σ_c R)      =  σ_c ΔR
Δ(π_e R)      =  π_e ΔR
Δ(expand R)   =  expand ΔR                      tokens likewise
Δ(γ_g,f R)    =  new − old, where  new = old ⊕ γ_g,Σ(±f) ΔR   for the groups in ΔR
Δ(δ R)        =  Δ(γ_all columns R)             DISTINCT
"""

from __future__ import annotations

from typing import assert_never

from viewkeeper.delta.deltaplan import (
    AggregateSink,
    Changes,
    Compute,
    DeltaPlan,
    Linear,
    Multiply,
    RowsSink,
    Select,
    Stage,
    Words,
    measures_of,
    preaggregations_of,
)
from viewkeeper.model.types import Type
from viewkeeper.plan.aggregate import AggregateCall
from viewkeeper.plan.expr import Input
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens


def delta_plan(relation: Relation) -> DeltaPlan:
    """The delta plan of a view that is defined as this relation."""
    stages, source, linear = _walk(relation)
    types = tuple(field.type for field in relation.fields)
    return DeltaPlan((*stages, Stage(source, linear, RowsSink(types))))


Walk = tuple[tuple[Stage, ...], Changes | None, tuple[Linear, ...]]
"""The finished stages, and the open one: where it starts and the linear steps so far."""


def _walk(relation: Relation) -> Walk:
    match relation:
        case Scan():
            types = tuple(field.type for field in relation.fields)
            return (), Changes(relation.object, relation.columns, types), ()
        case Filter(input, condition):
            return _then(_walk(input), Select(condition))
        case Project(input, exprs, _):
            return _then(_walk(input), Compute(exprs))
        case Expand(input, projections, _):
            return _then(_walk(input), Multiply(projections))
        case Tokens(input, text, _):
            return _then(_walk(input), Words(text))
        case Aggregate(input, group, calls, _):
            return _aggregate(_walk(input), _types(input), group, calls)
        case Distinct(input):
            return _aggregate(_walk(input), _types(input), tuple(range(len(input.fields))), ())
    assert_never(relation)


def _types(relation: Relation) -> tuple[Type, ...]:
    return tuple(field.type for field in relation.fields)


def _then(walk: Walk, step: Linear) -> Walk:
    stages, source, linear = walk
    return stages, source, (*linear, step)


def _aggregate(walk: Walk, types: tuple[Type, ...], group: tuple[int, ...], calls: tuple[AggregateCall, ...]) -> Walk:
    """Close the stage with an aggregate over rows of just the group columns and the arguments."""
    stages, source, linear = walk
    arguments = tuple(dict.fromkeys(call.argument for call in calls if call.argument is not None))
    kept = (*group, *arguments)
    place = {column: len(group) + number for number, column in enumerate(arguments)}
    moved = tuple(
        AggregateCall(call.kind, None if call.argument is None else place[call.argument], call.type) for call in calls
    )
    shape = tuple(types[column] for column in kept)
    step = Compute(tuple(Input(column, types[column]) for column in kept))
    sink = AggregateSink(
        group=shape[: len(group)],
        calls=moved,
        measures=measures_of(moved, shape),
        preaggregations=preaggregations_of(moved, shape),
    )
    return (*stages, Stage(source, (*linear, step), sink)), None, ()
