"""Where a delta plan has several inputs: joins and unions, with the indexes that joins look rows up in.

An inner join of n sides has n terms, each one side's delta against the others:

    Δ(A ⋈ B ⋈ C)  =  ΔA ⋈ B_lower ⋈ C_lower  +  A_upper ⋈ ΔB ⋈ C_lower  +  A_upper ⋈ B_upper ⋈ ΔC

A term finds the rows of the other sides by lookups, one side after the other, each by what is known by then. Joins for
which it matters whether a row has a partner have two sides, and look up both ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from viewkeeper.model.types import Type
from viewkeeper.plan.expr import Expr
from viewkeeper.plan.join import PartnerKind

if TYPE_CHECKING:
    from viewkeeper.delta.deltaplan import DeltaPlan
    from viewkeeper.plan.relation import Relation


@dataclass(frozen=True, slots=True)
class Side:
    """An input of a join: the plan of its rows, of which the join shows the first `width` columns.

    `key` are the columns that tell its rows apart; None if rows may repeat.
    """

    plan: DeltaPlan
    key: tuple[int, ...] | None
    width: int

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of all columns of its rows."""
        return self.plan.types

    @property
    def shown(self) -> tuple[Type, ...]:
        return self.types[: self.width]


@dataclass(frozen=True, slots=True)
class Index:
    """The rows of a side by what they are looked up by. A row in which part of that is NULL is not in it."""

    side: int
    key: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """A step of a term: the rows that an index has for what sides found before say: expressions over their rows."""

    index: int
    by: tuple[tuple[int, Expr], ...]


@dataclass(frozen=True, slots=True)
class InnerSource:
    """`terms` has for each side the probes that lead from a row of it to those of all others.

    `columns` are numbers of what it shows that do not depend on which columns are shown: those of sides.py.
    """

    sides: tuple[Side, ...]
    indexes: tuple[Index, ...]
    terms: tuple[tuple[Probe, ...], ...]
    columns: tuple[int, ...]

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(type for side in self.sides for type in side.shown)


@dataclass(frozen=True, slots=True)
class PartnerSource:
    """`condition` is over the shown columns of both sides; TRUE if it is None. The indexes are left, then right."""

    kind: PartnerKind
    sides: tuple[Side, Side]
    indexes: tuple[Index, Index]
    condition: Expr | None

    @property
    def types(self) -> tuple[Type, ...]:
        left, right = self.sides
        return (*left.shown, *right.shown) if self.kind.shows_pairs else left.shown

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(range(len(self.types)))


@dataclass(frozen=True, slots=True)
class UnionSource:
    """The rows of all branches."""

    branches: tuple[DeltaPlan, ...]

    @property
    def types(self) -> tuple[Type, ...]:
        return self.branches[0].types

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(range(len(self.types)))


@dataclass(frozen=True, slots=True)
class WholeSource:
    """What is computed whole from all rows of its leaves, and so has no delta: it is run once, from nothing."""

    relation: Relation
    leaves: tuple[DeltaPlan, ...]

    @property
    def types(self) -> tuple[Type, ...]:
        return tuple(field.type for field in self.relation.fields)

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(range(len(self.types)))


ManySource = InnerSource | PartnerSource | UnionSource | WholeSource


def plans_below(source: ManySource) -> tuple[DeltaPlan, ...]:
    """The plans that a source puts together."""
    if isinstance(source, UnionSource):
        return source.branches
    if isinstance(source, WholeSource):
        return source.leaves
    return tuple(side.plan for side in source.sides)
