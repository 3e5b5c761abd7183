"""One rule an operator: relation to delta plan.

Δ(σ_c R)      =  σ_c ΔR
Δ(π_e R)      =  π_e ΔR
Δ(expand R)   =  expand ΔR                      tokens likewise
Δ(γ_g,f R)    =  new − old, where  new = old ⊕ γ_g,Σ(±f) ΔR   for the groups in ΔR
Δ(δ R)        =  Δ(γ_all columns R)             DISTINCT
Δ(R ∪ S)      =  ΔR + ΔS                        UNION ALL
Δ(R ⋈ S)      =  ΔR ⋈ S_lower + R_upper ⋈ ΔS    n terms for n sides: joinplan.py
Δ(R ⟕ S)      =  Δ(R ⋈ S) + Δ{r of R without a partner}      FULL, SEMI and ANTI likewise
"""

from __future__ import annotations

from functools import reduce
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
from viewkeeper.delta.joinplan import Index, InnerSource, ManySource, PartnerSource, Side, UnionSource, WholeSource
from viewkeeper.delta.keys import KeyOf, keyed
from viewkeeper.delta.probes import Of, classes_of, inner_source
from viewkeeper.model.types import BOOLEAN, Type
from viewkeeper.plan.aggregate import AggregateCall
from viewkeeper.plan.expr import Call, Expr, Input, inputs, rewrite
from viewkeeper.plan.join import InnerJoin, PartnerJoin, UnionAll, input_of, starts_of
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens, scans
from viewkeeper.plan.whole import Single, TopN, Window, is_whole


def delta_plan(relation: Relation, key_of: KeyOf) -> DeltaPlan:
    """The delta plan of a view that is defined as this relation; `key_of` says what tells the rows of scans apart.

    What has to be computed whole is a source of its own, without a delta.
    """
    if is_whole(relation):
        return _whole(relation, key_of)
    stages, source, linear = _walk(relation, key_of)
    types = tuple(field.type for field in relation.fields)
    return DeltaPlan((*stages, Stage(source, linear, RowsSink(types))))


def _whole(relation: Relation, key_of: KeyOf) -> DeltaPlan:
    source = WholeSource(relation, tuple(delta_plan(scan, key_of) for scan in scans(relation)))
    return DeltaPlan((Stage(source, (), RowsSink(source.types)),))


Walk = tuple[tuple[Stage, ...], Changes | ManySource | None, tuple[Linear, ...]]
"""The finished stages, and the open one: where it starts and the linear steps so far."""


def _walk(relation: Relation, key_of: KeyOf) -> Walk:
    match relation:
        case Scan():
            types = tuple(field.type for field in relation.fields)
            return (), Changes(relation.object, relation.columns, types), ()
        case Filter(input, condition):
            return _then(_walk(input, key_of), Select(condition))
        case Project(input, exprs, _):
            return _then(_walk(input, key_of), Compute(exprs))
        case Expand(input, projections, _):
            return _then(_walk(input, key_of), Multiply(projections))
        case Tokens(input, text, _):
            return _then(_walk(input, key_of), Words(text))
        case Aggregate(input, group, calls, _):
            return _aggregate(_walk(input, key_of), _types(input), group, calls)
        case Distinct(input):
            return _aggregate(_walk(input, key_of), _types(input), tuple(range(len(input.fields))), ())
        case InnerJoin():
            return (), _inner(relation, key_of), ()
        case PartnerJoin():
            return (), _partners(relation, key_of), ()
        case UnionAll(branches):
            return (), UnionSource(tuple(delta_plan(branch, key_of) for branch in branches)), ()
        case TopN() | Window() | Single():
            raise ValueError("it is computed whole")
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


def _inner(join: InnerJoin, key_of: KeyOf) -> InnerSource:
    starts = starts_of(join.inputs)
    classes = classes_of([(_of(left, starts), _of(right, starts)) for left, right in join.equalities])
    sides = []
    for number, relation in enumerate(join.inputs):
        # Of what is equal inside a side the first stands for all.
        same = [(exprs[0], other) for exprs in (one.get(number, []) for one in classes) for other in exprs[1:]]
        conditions = [Call("=", pair, BOOLEAN) for pair in same]
        sides.append(_side(reduce(Filter, conditions, relation), key_of))
    return inner_source(tuple(sides), classes)


def _of(expr: Expr, starts: list[int]) -> Of:
    """An expression over the fields of a join as one over those of the input that it reads."""
    side = input_of(next(inputs(expr)), starts)
    return side, rewrite(expr, lambda column: Input(column.index - starts[side], column.type))


def _side(relation: Relation, key_of: KeyOf) -> Side:
    extended, key = keyed(relation, key_of)
    return Side(delta_plan(extended, key_of), key, len(relation.fields))


def _partners(join: PartnerJoin, key_of: KeyOf) -> PartnerSource:
    starts = starts_of((join.left, join.right))
    lefts, rights = zip(
        *((_of(left, starts)[1], _of(right, starts)[1]) for left, right in join.equalities), strict=True
    )
    sides = (_side(join.left, key_of), _side(join.right, key_of))
    return PartnerSource(join.kind, sides, (Index(0, lefts), Index(1, rights)), join.condition)
