"""Conditions between two sides: the equalities by which partners are found, and what else has to hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from viewkeeper.plan.expr import Expr, inputs
from viewkeeper.plan.failing import can_fail
from viewkeeper.plan.join import Equality, PartnerJoin, PartnerKind
from viewkeeper.plan.relation import Relation
from viewkeeper.sql.query.columns import moved
from viewkeeper.sql.query.conjuncts import Conjunct, conjunction, filtered

_LEFT, _RIGHT = frozenset({False}), frozenset({True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """Conditions over the fields of a left side, `width` of them, and then of a right one, sorted by what they read.

    `of_left` and `of_right` read one side and cannot fail; `others` are all that is no equality.
    """

    width: int
    equalities: tuple[Equality, ...]
    of_left: tuple[Expr, ...]
    of_right: tuple[Expr, ...]
    others: tuple[Expr, ...]

    @classmethod
    def of(cls, conjuncts: Iterable[Conjunct], width: int) -> Matching:
        equalities: dict[Equality, None] = {}
        of_left, of_right, others = [], [], []
        for one in conjuncts:
            equality = _equality(one, width)
            reads = _reads(one.expr, width)
            if equality is not None:
                equalities[equality] = None
            elif one.is_true:
                continue
            elif reads == _LEFT and one.never_fails:
                of_left.append(one.expr)
            elif reads == _RIGHT and one.never_fails:
                of_right.append(one.expr)
            else:
                others.append(one.expr)
        return cls(
            width=width,
            equalities=tuple(equalities),
            of_left=tuple(of_left),
            of_right=tuple(of_right),
            others=tuple(others),
        )


def partner_join(kind: PartnerKind, left: Relation, right: Relation, conjuncts: Sequence[Conjunct]) -> PartnerJoin:
    """The join of two sides on conditions, of which one at least is an equality.

    What reads only a side whose rows are not shown without a partner is a filter on that side.
    """
    found = Matching.of(conjuncts, len(left.fields))
    of_left, of_right = found.of_left, found.of_right
    if kind is PartnerKind.SEMI:
        left, of_left = filtered(left, of_left), ()
    if kind is not PartnerKind.FULL:
        right, of_right = filtered(right, (moved(one, -found.width) for one in of_right)), ()
    kept = {*of_left, *of_right, *found.others}
    condition = conjunction([one.expr for one in conjuncts if one.expr in kept])
    return PartnerJoin(kind, left, right, found.equalities, condition)


def _equality(one: Conjunct, width: int) -> Equality | None:
    if one.sides is None or any(map(can_fail, one.sides)):
        return None
    left, right = one.sides
    match (_reads(left, width), _reads(right, width)):
        case (first, second) if (first, second) == (_LEFT, _RIGHT):
            return left, right
        case (first, second) if (first, second) == (_RIGHT, _LEFT):
            return right, left
    return None


def _reads(expr: Expr, width: int) -> frozenset[bool]:
    """Which sides an expression reads: False for the left one, True for the right one."""
    return frozenset(place >= width for place in inputs(expr))
