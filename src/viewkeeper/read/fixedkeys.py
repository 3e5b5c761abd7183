"""Which columns of the tables below a query have one known value in every row that can matter to its answer.

A condition such as `i.ItemID = 5` in WHERE is a fact about the rows below it. It goes down through the plan as long as
leaving out the rows that violate it changes nothing above:

    inner join       any side; and to whatever its equalities say is the same
    outer join       the side that it is about; and across one equality. A row that violates the fact is dropped above,
                     and so is one that stays alone without it: a missing side is NULL, and NULL equals nothing
    semi-, anti-join the left side; and across one equality
    groups           where it is about a group column

A condition on one side of a join may stand below it. What holds for all rows of a side, and is not lost where rows of
it are shown without a partner, is then a fact about the others. So is what follows from a fact inside of one side.

Across more than one equality of an outer join it does not go: of `l.a = r.a AND l.b = r.a` a left row with l.a = 5
and another l.b has no partner, and is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from viewkeeper.model.types import Cell
from viewkeeper.plan.expr import Expr, Input, Literal
from viewkeeper.plan.join import Equality, InnerJoin, PartnerJoin, PartnerKind, UnionAll, starts_of
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens
from viewkeeper.plan.whole import Single, TopN, Window
from viewkeeper.read.facts import (
    Fact,
    across,
    closed,
    facts_above,
    facts_below,
    facts_in,
    is_strict,
    moved,
    over,
    reads,
    shifted,
    within,
)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scan, and what is known of the rows of it that matter."""

    scan: Scan
    facts: tuple[Fact, ...]

    def values(self, column: int) -> list[Cell]:
        """The values that a column has to have, all of them at once; None if no value is one."""
        about = (fact.value for fact in self.facts if self.column(fact) == column)
        return list(dict.fromkeys(value.value for value in about if value is not None))

    def column(self, fact: Fact) -> int | None:
        """The column that a fact is about; None if it is about several."""
        return self.scan.columns[fact.expr.index] if isinstance(fact.expr, Input) else None


def leaves_of(relation: Relation, *, supposed: bool = False) -> list[Leaf]:
    """The scans of a relation, from left to right.

    With `supposed`, as if the sides of each equality of a join had a value; these facts have none.
    """
    return list(_leaves(relation, [], supposed))


def _leaves(relation: Relation, facts: Sequence[Fact], supposed: bool) -> Iterator[Leaf]:
    match relation:
        case Scan():
            yield Leaf(relation, tuple(facts))
        case Filter(input, condition):
            yield from _leaves(input, [*facts, *facts_in(condition)], supposed)
        case Project(input, exprs, _):
            yield from _leaves(input, facts_below(facts, exprs), supposed)
        case Expand(input, projections, _):
            first, *others = (facts_below(facts, exprs) for exprs in projections)
            yield from _leaves(input, [fact for fact in first if all(fact in other for other in others)], supposed)
        case Tokens(input) | Distinct(input):
            width = len(input.fields)
            yield from _leaves(input, [fact for fact in facts if reads(fact, 0, width)], supposed)
        case Aggregate(input, group, calls, _):
            columns: list[Expr] = [Input(place, input.fields[place].type) for place in group]
            unknown = [Literal(None, call.type) for call in calls]
            yield from _leaves(input, facts_below(facts, [*columns, *unknown]), supposed)
        case UnionAll(parts):
            for part in parts:
                yield from _leaves(part, facts, supposed)
        case InnerJoin(parts, equalities):
            known = closed([*facts, *_holding(relation), *_supposed(equalities, supposed)], _implied(relation))
            starts = starts_of(parts)
            for number, part in enumerate(parts):
                yield from _leaves(part, within(known, starts[number], starts[number + 1]), supposed)
        case PartnerJoin(_, left, right, equalities):
            direct = [*facts, *_deciding(relation), *_supposed(equalities, supposed)]
            known = across(closed(direct, _implied_below((left, right))), equalities)
            _, middle, end = starts_of((left, right))
            yield from _leaves(left, within(known, 0, middle), supposed)
            yield from _leaves(right, within(known, middle, end), supposed)
        case TopN(input) | Window(input):
            yield from _leaves(input, [], supposed)
        case Single():
            pass
        case _:
            assert_never(relation)


def _holding(relation: Relation) -> list[Fact]:
    """What every row of a relation meets."""
    match relation:
        case Filter(input, condition):
            return [*_holding(input), *facts_in(condition)]
        case Project(input, exprs, _):
            return facts_above(_holding(input), exprs)
        case Tokens(input) | Distinct(input):
            return _holding(input)
        case Aggregate(input, group, _, _):
            return facts_above(_holding(input), [Input(place, input.fields[place].type) for place in group])
        case InnerJoin(parts, _):
            starts = starts_of(parts)
            return [fact for start, part in zip(starts, parts, strict=False) for fact in shifted(_holding(part), start)]
        case PartnerJoin(kind, left):
            return [] if kind is PartnerKind.FULL else _holding(left)
        case Scan() | Expand() | UnionAll() | TopN() | Window() | Single():
            return []
    assert_never(relation)


def _deciding(join: PartnerJoin) -> list[Fact]:
    """What holds below a join and lets rows of the other side be left out: those are not shown without a partner."""
    left = _holding(join)
    return [*left, *shifted(_holding(join.right), len(join.left.fields))] if join.kind is PartnerKind.SEMI else left


def _implied(relation: Relation) -> list[Equality]:
    """Pairs of which the second has the value of the first in every row in which that is not NULL."""
    match relation:
        case Filter(input, _) | Tokens(input) | Distinct(input):
            return _implied(input)
        case Project(input, exprs, _):
            return _shown(_implied(input), exprs)
        case Aggregate(input, group, _, _):
            return _shown(_implied(input), [Input(place, input.fields[place].type) for place in group])
        case InnerJoin(parts, equalities):
            return [*equalities, *(pair[::-1] for pair in equalities), *_implied_below(parts)]
        case PartnerJoin(PartnerKind.LEFT, left, right, equalities):
            # A row that has something on its right has a partner.
            return [*(pair[::-1] for pair in equalities), *_implied_below((left, right))]
        case PartnerJoin(kind, left, right):
            return _implied_below((left, right)) if kind is PartnerKind.FULL else _implied(left)
        case Scan() | Expand() | UnionAll() | TopN() | Window() | Single():
            return []
    assert_never(relation)


def _implied_below(parts: Sequence[Relation]) -> list[Equality]:
    """The same of the sides of a join, over the fields of the join."""
    found: list[Equality] = []
    for start, part in zip(starts_of(parts), parts, strict=False):
        found += [(moved(one, start), moved(other, start)) for one, other in _implied(part)]
    return found


def _shown(pairs: Sequence[Equality], exprs: Sequence[Expr]) -> list[Equality]:
    """The pairs of which both are shown by a projection, over what it shows."""
    found = ((over(one, exprs), over(other, exprs)) for one, other in pairs)
    return [(one, other) for one, other in found if one is not None and other is not None]


def _supposed(equalities: Sequence[Equality], supposed: bool) -> Iterator[Fact]:
    if supposed:
        for left, _ in equalities:
            if is_strict(left):
                yield Fact(left, None, object()).about(left)
