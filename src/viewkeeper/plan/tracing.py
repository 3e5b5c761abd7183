"""Where the values of an expression come from: one leaf of a relation, and what is made of the rows of it alone."""

from __future__ import annotations

from dataclasses import dataclass

from viewkeeper.plan.expr import Cast, Expr, Input, inputs, rewrite, substitute
from viewkeeper.plan.join import InnerJoin, PartnerJoin, PartnerKind, inputs_read, starts_of
from viewkeeper.plan.relation import (
    Aggregate,
    Distinct,
    Expand,
    Filter,
    Project,
    Relation,
    Tokens,
    below,
    scans,
)
from viewkeeper.plan.whole import TopN, Window


@dataclass(frozen=True, slots=True)
class Traced:
    """`value` is over the fields of `arm`, the largest relation that reads the leaf and no other.

    The expression that was traced has no other values than `value` has over the rows of the arm, and NULL. These are
    not more rows than those of the leaf, and one.
    """

    leaf: int
    arm: Relation
    value: Expr


def leaf_count(relation: Relation) -> int:
    return sum(1 for _ in scans(relation))


def traced(relation: Relation, expr: Expr, start: int = 0) -> Traced | None:
    """Where an expression over the fields of a relation comes from; None if from several leaves, or from more rows.

    `start` is the number of the first leaf of the relation.
    """
    if leaf_count(relation) == 1:
        return None if _multiplies(relation) else Traced(start, relation, expr)
    match relation:
        case Filter(input) | Distinct(input) | TopN(input):
            return traced(input, expr, start)
        case Window(input) if all(place < len(input.fields) for place in inputs(expr)):
            return traced(input, expr, start)
        case Project(input, exprs, _):
            return traced(input, substitute(expr, exprs), start)
        case Aggregate(input, group) if all(place < len(group) for place in inputs(expr)):
            return traced(input, rewrite(expr, lambda column: Input(group[column.index], column.type)), start)
        case InnerJoin(parts):
            return _of_one(parts, expr, start)
        case PartnerJoin(kind, left, right):
            # NULLs take the place of a missing side: what makes a value of NULL has one that no row of it has.
            if kind.shows_pairs and not _is_plain(expr):
                width = len(left.fields)
                if kind is PartnerKind.FULL or not all(place < width for place in inputs(expr)):
                    return None
            return _of_one((left, right), expr, start)
    return None


def _of_one(parts: tuple[Relation, ...], expr: Expr, start: int) -> Traced | None:
    """As `traced`, of a join of these."""
    starts = starts_of(parts)
    read = inputs_read(expr, starts)
    if len(read) != 1:
        return None
    (number,) = read
    own = moved(expr, -starts[number])
    return traced(parts[number], own, start + sum(map(leaf_count, parts[:number])))


def moved(expr: Expr, by: int) -> Expr:
    """An expression whose inputs are `by` places further on."""
    return rewrite(expr, lambda column: Input(column.index + by, column.type))


def _multiplies(relation: Relation) -> bool:
    """Whether one row can become several."""
    return isinstance(relation, Expand | Tokens) or any(map(_multiplies, below(relation)))


def _is_plain(expr: Expr) -> bool:
    """Whether an expression is a column, or a conversion of one: of NULL it is NULL."""
    return isinstance(expr, Input) or (isinstance(expr, Cast) and _is_plain(expr.arg))
