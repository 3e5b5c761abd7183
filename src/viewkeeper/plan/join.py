"""Relations of several inputs: joins and unions.

The fields of a join are those of its inputs, one input after the other, and its expressions are over all of them. An
equality is a pair of expressions of which each reads one input; NULL equals nothing, NaN equals NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING

from viewkeeper.model.types import BOOLEAN
from viewkeeper.plan.expr import Expr, inputs

if TYPE_CHECKING:
    from viewkeeper.plan.relation import Field, Relation

Equality = tuple[Expr, Expr]


class PartnerKind(StrEnum):
    """LEFT and FULL show a row without a partner with NULLs beside it; SEMI and ANTI show left rows alone."""

    LEFT = "left"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def shows_pairs(self) -> bool:
        return self in (PartnerKind.LEFT, PartnerKind.FULL)


@dataclass(frozen=True, slots=True)
class InnerJoin:
    """The combinations of one row of each input in which all equalities hold.

    The equalities connect the inputs, so that from each one all others can be found by lookups.
    """

    inputs: tuple[Relation, ...]
    equalities: tuple[Equality, ...]

    def __post_init__(self) -> None:
        if len(self.inputs) < 2:
            raise ValueError("a join has two inputs or more")
        starts = starts_of(self.inputs)
        linked = {0}
        pairs = [(_reads_one(left, starts), _reads_one(right, starts)) for left, right in self.equalities]
        if any(left == right for left, right in pairs):
            raise ValueError("an equality of a join is between two of its inputs")
        for _ in self.inputs:
            linked |= {one for pair in pairs if not linked.isdisjoint(pair) for one in pair}
        if len(linked) < len(self.inputs):
            raise ValueError("the equalities of a join leave an input alone")
        _check_types(self.equalities)

    @property
    def fields(self) -> tuple[Field, ...]:
        return tuple(field for input in self.inputs for field in input.fields)


@dataclass(frozen=True, slots=True)
class PartnerJoin:
    """Two inputs, where it matters whether a row has a partner: one with which equalities and condition hold.

    The first of each equality reads the left input, the second the right one. `condition` is over the fields of both,
    and TRUE if it is None. Where a side is missing its fields are NULL. The fields of SEMI and ANTI are the left ones.
    """

    kind: PartnerKind
    left: Relation
    right: Relation
    equalities: tuple[Equality, ...]
    condition: Expr | None = None

    def __post_init__(self) -> None:
        if not self.equalities:
            raise ValueError("a join has an equality")
        starts = starts_of((self.left, self.right))
        if any((_reads_one(left, starts), _reads_one(right, starts)) != (0, 1) for left, right in self.equalities):
            raise ValueError("an equality has the left input on its left")
        _check_types(self.equalities)
        if self.condition is not None and self.condition.type != BOOLEAN:
            raise ValueError("a condition is BOOLEAN")

    @property
    def fields(self) -> tuple[Field, ...]:
        if not self.kind.shows_pairs:
            return self.left.fields
        return (*self.left.fields, *self.right.fields)


@dataclass(frozen=True, slots=True)
class UnionAll:
    """All rows of all inputs, which have the same types; the names are those of the first."""

    inputs: tuple[Relation, ...]

    def __post_init__(self) -> None:
        if len({tuple(field.type for field in input.fields) for input in self.inputs}) != 1:
            raise ValueError("the inputs of a union differ in shape")

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.inputs[0].fields


def starts_of(inputs: Sequence[Relation]) -> list[int]:
    """Where the fields of each input begin among those of the join; then how many there are."""
    return [0, *accumulate(len(input.fields) for input in inputs)]


def input_of(place: int, starts: Sequence[int]) -> int:
    """Which input a field of the join belongs to."""
    return next(number for number in range(len(starts) - 1) if place < starts[number + 1])


def inputs_read(expr: Expr, starts: Sequence[int]) -> frozenset[int]:
    """Which inputs of a join an expression over its fields reads."""
    return frozenset(input_of(place, starts) for place in inputs(expr))


def _reads_one(expr: Expr, starts: Sequence[int]) -> int:
    found = inputs_read(expr, starts)
    if len(found) != 1 or any(not 0 <= place < starts[-1] for place in inputs(expr)):
        raise ValueError("each side of an equality reads one input of the join")
    return next(iter(found))


def _check_types(equalities: Sequence[Equality]) -> None:
    if any(left.type != right.type for left, right in equalities):
        raise ValueError("the sides of an equality have one type")
