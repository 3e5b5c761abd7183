"""Changes of a query itself: what would have to be written instead."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial

from viewkeeper.analysis.block import Block, conjuncts_of
from viewkeeper.analysis.change import MANY, Change, mapped
from viewkeeper.analysis.conditions import Conditions
from viewkeeper.model.types import BOOLEAN
from viewkeeper.plan.aggregate import WHOLE, AggregateKind
from viewkeeper.plan.expr import Call, Expr, Parameter, inputs
from viewkeeper.plan.filling import ANY_LENGTH
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind
from viewkeeper.plan.relation import Aggregate, Filter, Relation, Scan, below, with_below
from viewkeeper.sql.statements import Query

ROWS = 100
"""The limit that is tried."""


def limits(query: Query, block: Block | None) -> Iterator[Change]:
    if isinstance(query.limit, Parameter) and query.limit_max is None:
        text = f"Write LIMIT :{query.limit.key} MAX {ROWS}."
        yield Change(text=text, query=lambda query: replace(query, limit_max=ROWS))
    elif query.limit is None and (block is None or block.group is None or block.group):
        yield Change(text=f"Write LIMIT {ROWS}.", query=lambda query: replace(query, limit=ROWS, limit_max=ROWS))


def lists(query: Query) -> Iterator[Change]:
    """A list of any length with a declared maximum."""
    keys = {one.key for one in query.parameters if one.element == ANY_LENGTH}
    for key in sorted(keys, key=str):

        def spread(query: Query, key: str | int = key) -> Query:
            return replace(query, plan=mapped(query.plan, lambda expr, _: _spread(expr, key)))

        yield Change(text=f"Write IN :{key} MAX {MANY}.", query=spread)


def _spread(expr: Expr, key: str | int) -> Expr:
    """IN with a place for each value of a list."""
    if isinstance(expr, Call) and expr.name == "in":
        args: list[Expr] = []
        for arg in expr.args:
            if isinstance(arg, Parameter) and arg.key == key and arg.element == ANY_LENGTH:
                args += [replace(arg, element=place) for place in range(MANY)]
            else:
                args.append(arg)
        return replace(expr, args=tuple(args))
    if isinstance(expr, Call):
        return replace(expr, args=tuple(_spread(arg, key) for arg in expr.args))
    return expr


def averages(query: Query) -> Iterator[Change]:
    """What has no partial state that can be kept, or that can be put together, as something that has."""
    calls = [call for one in _aggregates(query.plan) for call in one.calls]
    if any(call.kind in WHOLE for call in calls):
        yield Change(
            text="Ask for AVG in place of a median or percentile, or for counts class by class.",
            query=lambda query: replace(query, plan=_counted(query.plan, WHOLE, AggregateKind.AVG)),
        )
    if any(call.kind is AggregateKind.AVG for call in calls):
        yield Change(
            text="Ask for SUM and COUNT in place of AVG, and divide.",
            query=lambda query: replace(query, plan=_counted(query.plan, {AggregateKind.AVG}, AggregateKind.SUM)),
        )


def _aggregates(relation: Relation) -> Iterator[Aggregate]:
    if isinstance(relation, Aggregate):
        yield relation
    for part in below(relation):
        yield from _aggregates(part)


def _counted(relation: Relation, kinds: Collection[AggregateKind], kind: AggregateKind) -> Relation:
    """A relation with one aggregate function in place of others."""
    made = with_below(relation, [_counted(part, kinds, kind) for part in below(relation)])
    if not isinstance(made, Aggregate):
        return made
    calls = tuple(replace(call, kind=kind, fraction=None) if call.kind in kinds else call for call in made.calls)
    return replace(made, calls=calls)


def sides(query: Query) -> Iterator[Change]:
    """A query for each side of the first OR that is no list of values."""
    count = len(_sides(query.plan, 0)[1])
    if count:
        first, *others = (partial(_side, place) for place in range(count))
        yield Change(
            text="Ask once for each side of OR, and put the answers together.", query=first, others=tuple(others)
        )


def _side(place: int, query: Query) -> Query:
    return replace(query, plan=_sides(query.plan, place)[0])


def _sides(relation: Relation, place: int) -> tuple[Relation, tuple[Expr, ...]]:
    """A relation with one side in place of the first OR, and all of its sides."""
    found: list[tuple[Expr, ...]] = []

    def change(expr: Expr, _: object) -> Expr:
        parts = list(conjuncts_of(expr))
        for number, part in enumerate(parts):
            if not found and isinstance(part, Call) and part.name == "or" and part in Conditions([part]).other:
                found.append(part.args)
                parts[number] = part.args[min(place, len(part.args) - 1)]
        return parts[0] if len(parts) == 1 else Call("and", tuple(parts), BOOLEAN)

    made = mapped(relation, change)
    return made, found[0] if found else ()


def full(query: Query) -> Iterator[Change]:
    """FULL JOIN as LEFT JOIN."""
    if (made := _without_full(query.plan)) != query.plan:
        yield Change(
            text="Write LEFT JOIN in place of FULL JOIN: rows of the right side alone are what nothing limits.",
            query=lambda query: replace(query, plan=made),
        )


def _without_full(relation: Relation) -> Relation:
    made = with_below(relation, [_without_full(part) for part in below(relation)])
    if isinstance(made, PartnerJoin) and made.kind is PartnerKind.FULL:
        return replace(made, kind=PartnerKind.LEFT)
    return made


def left(query: Query) -> Iterator[Change]:
    """An inner join of two, of which the right one is only looked up, as a LEFT JOIN."""
    for _, right in _lefts(query.plan):

        def outer(query: Query, right: Scan = right) -> Query:
            # Another change may have made it one already.
            made = (plan for plan, one in _lefts(query.plan) if one == right)
            return replace(query, plan=next(made, query.plan))

        stops = "" if query.limit is None else ", so LIMIT can stop the scan"
        yield Change(text=f'Write LEFT JOIN for "{right.name}": it keeps rows without a partner{stops}.', query=outer)


def inner(query: Query) -> Iterator[Change]:
    """What is joined by LEFT JOIN, joined inside."""
    if _inside(query.plan) != query.plan:
        yield Change(
            text="Write JOIN in place of LEFT JOIN, if rows without a partner are not wanted.",
            query=lambda query: replace(query, plan=_inside(query.plan)),
        )


def _inside(relation: Relation) -> Relation:
    made = with_below(relation, [_inside(part) for part in below(relation)])
    if not isinstance(made, PartnerJoin) or made.kind is not PartnerKind.LEFT:
        return made
    joined = InnerJoin((made.left, made.right), made.equalities)
    return joined if made.condition is None else Filter(joined, made.condition)


def _lefts(relation: Relation) -> Iterator[tuple[Relation, Scan]]:
    """The relation with one such join as a LEFT JOIN, for each of them, and what that looks up."""
    if isinstance(relation, InnerJoin) and len(relation.inputs) == 2 and isinstance(relation.inputs[1], Scan):
        left, right = relation.inputs
        width = len(left.fields)
        pairs = tuple((one, other) if max(inputs(one)) < width else (other, one) for one, other in relation.equalities)
        yield PartnerJoin(PartnerKind.LEFT, left, right, pairs), relation.inputs[1]
    parts = below(relation)
    for number, part in enumerate(parts):
        for made, scan in _lefts(part):
            yield with_below(relation, [*parts[:number], made, *parts[number + 1 :]]), scan
