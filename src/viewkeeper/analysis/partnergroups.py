"""Groups that are single rows, each with aggregates of its partners: the partners grouped by themselves, and joined.

    posts LEFT JOIN comments, by posts.id: COUNT(comments.id)  =  posts LEFT JOIN (comments by post: COUNT(id))

So LIMIT stops the scan of the rows, and a view of the groups of the partners is looked up for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from viewkeeper.analysis.block import NotAnalysed
from viewkeeper.analysis.build import all_of
from viewkeeper.analysis.conditions import Conditions, is_constant
from viewkeeper.analysis.dependencies import dependencies, reach
from viewkeeper.analysis.flatten import block_of
from viewkeeper.analysis.schema import Schema
from viewkeeper.model.types import BIGINT
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind
from viewkeeper.plan.expr import Call, Expr, Input, Literal, inputs, rewrite
from viewkeeper.plan.join import PartnerJoin, PartnerKind
from viewkeeper.plan.relation import Aggregate, Filter, Project, Relation, below, with_below

ALONE = {AggregateKind.COUNT: 0, AggregateKind.COUNT_DISTINCT: 0, AggregateKind.COUNT_ROWS: 1}
"""What is counted of a row without partners; any other aggregate is NULL."""


def partners_grouped(relation: Relation, schema: Schema) -> Relation:
    """The relation with the partners grouped first wherever that gives the same rows."""
    made = with_below(relation, [partners_grouped(part, schema) for part in below(relation)])
    return _grouped(made, schema) or made if isinstance(made, Aggregate) else made


def _grouped(node: Aggregate, schema: Schema) -> Relation | None:
    exprs, conditions, join = _parts(node.input)
    if join is None or join.kind is not PartnerKind.LEFT:
        return None
    width = len(join.left.fields)
    group = [exprs[place] for place in node.group]
    arguments = [None if call.argument is None else exprs[call.argument] for call in node.calls]
    is_split = (
        all(_is_left(one, width) for one in (*group, *conditions))
        and all(one is None or (isinstance(one, Input) and one.index >= width) for one in arguments)
        and (join.condition is None or all(place >= width for place in inputs(join.condition)))
    )
    if not is_split or not group or not is_single(join.left, group, conditions, schema):
        return None
    right = _partners(join, node, arguments)
    depth = len(join.equalities)
    pairs = tuple(
        (mine, Input(width + place, right.fields[place].type)) for place, (mine, _) in enumerate(join.equalities)
    )
    joined: Relation = PartnerJoin(PartnerKind.LEFT, join.left, right, pairs)
    if conditions:
        joined = Filter(joined, all_of(conditions))
    shown = [_shown(call, width + depth + place) for place, call in enumerate(node.calls)]
    return Project(joined, (*group, *shown), node.names)


def _parts(relation: Relation) -> tuple[tuple[Expr, ...], list[Expr], PartnerJoin | None]:
    """What a relation shows of a join, and under which conditions; None if it is none."""
    exprs = tuple(Input(place, field.type) for place, field in enumerate(relation.fields))
    shown: tuple[Expr, ...] = exprs
    if isinstance(relation, Project):
        shown, relation = relation.exprs, relation.input
    conditions: list[Expr] = []
    while isinstance(relation, Filter):
        conditions.append(relation.condition)
        relation = relation.input
    return shown, conditions, relation if isinstance(relation, PartnerJoin) else None


def _is_left(expr: Expr, width: int) -> bool:
    return all(place < width for place in inputs(expr))


def is_single(left: Relation, group: Sequence[Expr], conditions: Sequence[Expr], schema: Schema) -> bool:
    """Whether no two rows of the left side that are kept have the same values of what is grouped by."""
    if conditions:
        left = Filter(left, all_of(conditions))
    names = tuple(f"group_{place}" for place in range(len(group)))
    try:
        block = block_of(Project(left, tuple(group), names), schema)
    except NotAnalysed:
        return False
    if block.group is not None or block.distinct or block.factor > 1 or block.limit_max is not None:
        return False
    keys: list[Expr] = []
    for source in block.sources:
        if source.stored is None or source.stored.unique is None:
            return False
        columns = source.stored.columns
        keys += [Input(source.start + place, columns[place].type) for place in sorted(source.stored.unique)]
    known = Conditions(block.conjuncts)
    constant = (one for members in known.classes() if any(map(is_constant, members)) for one in members)
    reached = reach([*block.outputs, *constant], keys, dependencies(block, known))
    return reached is not None and reached.factor == 1


def _partners(join: PartnerJoin, node: Aggregate, arguments: Sequence[Expr | None]) -> Relation:
    """The partners, by what they are found by."""
    width = len(join.left.fields)

    def own(expr: Expr) -> Expr:
        return rewrite(expr, lambda column: Input(column.index - width, column.type))

    right = join.right if join.condition is None else Filter(join.right, own(join.condition))
    by = [own(theirs) for _, theirs in join.equalities]
    over = [None if one is None else own(one) for one in arguments]
    exprs = tuple(dict.fromkeys([*by, *(one for one in over if one is not None)]))
    names = tuple(f"column_{place}" for place in range(len(exprs)))
    kept = tuple(
        call if one is None else replace(call, argument=exprs.index(one))
        for call, one in zip(node.calls, over, strict=True)
    )
    shown = (*(f"by_{place}" for place in range(len(by))), *node.names[len(node.group) :])
    return Aggregate(Project(right, exprs, names), tuple(exprs.index(one) for one in by), kept, shown)


def _shown(call: AggregateCall, place: int) -> Expr:
    value = Input(place, call.type)
    alone = ALONE.get(call.kind)
    return value if alone is None else Call("coalesce", (value, Literal(alone, BIGINT)), BIGINT)
