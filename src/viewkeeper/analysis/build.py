"""A block as a relation again: what is stored or read for it, joined, filtered, grouped, shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from viewkeeper.analysis.block import Block, NotAnalysed, Source, SourceKind
from viewkeeper.analysis.conditions import equal_pair
from viewkeeper.model.types import BOOLEAN
from viewkeeper.plan.aggregate import AggregateCall
from viewkeeper.plan.expr import Call, Expr, Input, inputs, rewrite
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind
from viewkeeper.plan.relation import Aggregate, Distinct, Field, Filter, Project, Relation, Scan, scans
from viewkeeper.sql.query.prune import prune

_PARTNERS = {
    SourceKind.LEFT: PartnerKind.LEFT,
    SourceKind.SEMI: PartnerKind.SEMI,
    SourceKind.ANTI: PartnerKind.ANTI,
}


def relation_of(block: Block) -> Relation:
    """The relation of a block without its order and limit, whose `relation` is not looked at.

    Its sources are stored ones, the inner ones first, and those of which nothing is shown last. NotAnalysed if the
    equalities leave an inner source alone.
    """
    rows = _rows(block)
    if block.group is None:
        made: Relation = Project(rows, block.outputs, block.names)
    else:
        arguments = [argument for argument in block.arguments if argument is not None]
        exprs = (*block.group, *arguments)
        below = Project(rows, exprs, tuple(f"column_{place}" for place in range(len(exprs))))
        width = len(block.group)
        places = iter(range(width, width + len(arguments)))
        calls = tuple(
            call if argument is None else _over(call, next(places))
            for call, argument in zip(block.calls, block.arguments, strict=True)
        )
        names = tuple(f"group_{place}" for place in range(width)) + tuple(f"call_{n}" for n in range(len(calls)))
        made = Aggregate(below, tuple(range(width)), calls, names)
        if block.having:
            made = Filter(made, all_of(block.having))
        made = Project(made, block.outputs, block.names)
    return prune(Distinct(made) if block.distinct else made)


def _over(call: AggregateCall, place: int) -> AggregateCall:
    return replace(call, argument=place)


def all_of(conditions: Sequence[Expr]) -> Expr:
    """Conditions joined by AND; there is at least one."""
    return conditions[0] if len(conditions) == 1 else Call("and", tuple(conditions), BOOLEAN)


def _rows(block: Block) -> Relation:
    inner = [source for source in block.sources if source.kind is SourceKind.INNER]
    rest = [*block.conjuncts]
    made: Relation
    if len(inner) == 1:
        made = _scan(inner[0])
    else:
        pairs = []
        for conjunct in block.conjuncts:
            pair = equal_pair(conjunct)
            if isinstance(conjunct, Call) and pair is not None and _joins(conjunct, inner):
                pairs.append((conjunct.args[0], conjunct.args[1]))
                rest.remove(conjunct)
        try:
            made = InnerJoin(tuple(map(_scan, inner)), tuple(pairs))
        except ValueError as error:
            raise NotAnalysed(str(error)) from None
    for source in block.sources:
        if source.kind is not SourceKind.INNER:
            made = _partners(made, source)
    return Filter(made, all_of(rest)) if rest else made


def _joins(conjunct: Call, inner: Sequence[Source]) -> bool:
    """Whether a condition is an equality of two inner sources."""
    sides = [
        {number for number, one in enumerate(inner) for place in inputs(arg) if one.has(place)} for arg in conjunct.args
    ]
    total = all(any(one.has(place) for one in inner) for arg in conjunct.args for place in inputs(arg))
    return total and all(len(side) == 1 for side in sides) and sides[0] != sides[1]


def _scan(source: Source) -> Relation:
    stored = source.stored
    if stored is None:
        assert source.derived is not None
        return source.derived.relation
    fields = tuple(Field(column.name, column.type) for column in stored.columns)
    return Scan(stored.id, stored.name, tuple(range(len(fields))), fields, not stored.is_table)


def _partners(left: Relation, source: Source) -> Relation:
    right: Relation = _scan(source)
    own, pairs, rest = [], [], []
    shift = len(left.fields) - source.start

    def paired(expr: Expr) -> Expr:
        """Over both sides: what stands before this source may be sources of which nothing is shown."""
        return rewrite(expr, lambda one: Input(one.index + shift, one.type) if source.has(one.index) else one)

    for conjunct in source.on:
        places = list(inputs(conjunct))
        pair = equal_pair(conjunct)
        if all(map(source.has, places)):
            own.append(rewrite(conjunct, lambda column: Input(column.index - source.start, column.type)))
        elif isinstance(conjunct, Call) and pair is not None and _is_split(conjunct, source):
            one, other = conjunct.args
            one, other = (other, one) if all(map(source.has, inputs(one))) else (one, other)
            pairs.append((paired(one), paired(other)))
        else:
            rest.append(paired(conjunct))
    if own:
        right = Filter(right, all_of(own))
    try:
        return PartnerJoin(_PARTNERS[source.kind], left, right, tuple(pairs), all_of(rest) if rest else None)
    except ValueError as error:
        raise NotAnalysed(str(error)) from None


def _is_split(conjunct: Call, source: Source) -> bool:
    sides = [[source.has(place) for place in inputs(arg)] for arg in conjunct.args]
    return all(sides) and any(all(side) for side in sides) and any(not any(side) for side in sides)


def placed(sources: Sequence[Source]) -> tuple[list[Source], dict[int, int]]:
    """Sources one after the other from place 0 on, and for each old start the new one."""
    order = {SourceKind.INNER: 0, SourceKind.LEFT: 1, SourceKind.SEMI: 2, SourceKind.ANTI: 2}
    start, leaf, found, moved = 0, 0, [], {}
    for source in sorted(sources, key=lambda one: order[one.kind]):
        moved[source.start] = start
        found.append(replace(_with_leaf(source, leaf), start=start))
        start += source.width
        leaf += 1 if source.derived is None else sum(1 for _ in scans(source.derived.relation))
    return found, moved


def _with_leaf(source: Source, leaf: int) -> Source:
    """A source whose first scan has this number; the scans of a query in FROM follow it."""
    derived, by = source.derived, leaf - source.leaf
    if derived is not None and by != 0:
        parts = (
            replace(part, sources=tuple(_with_leaf(one, one.leaf + by) for one in part.sources))
            for part in derived.parts
        )
        derived = replace(derived, parts=tuple(parts))
    return replace(source, leaf=leaf, derived=derived)
