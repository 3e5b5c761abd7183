"""Reads of a block, one after the other: what was read by which access, and what a source could not be read by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from viewkeeper.analysis.paths import Path
from viewkeeper.plan.access import Access, Found, Operand, with_fed_by
from viewkeeper.plan.expr import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A source that has been read: by which access, and where its expressions are in the rows of that.

    `rows` are those read at most.
    """

    access: int
    columns: Mapping[Expr, int]
    rows: int
    inner: Mapping[int, Known] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """A way through some sources. `made` are the objects among those read that do not exist yet, by id.

    `rows` are those of the join so far at most. Once it is `limited`, only sources that keep every row may follow.
    """

    accesses: tuple[Access, ...] = ()
    known: Mapping[int, Known] = field(default_factory=dict)
    rows: int = 1
    limited: bool = False
    made: frozenset[int] = frozenset()

    @property
    def cost(self) -> tuple[int, int, int]:
        return (
            len(self.made),
            sum(access.operations for access in self.accesses),
            sum(access.rows for access in self.accesses),
        )


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why a source could not be read next. `path` is None where it has no equality on a first key column at all."""

    source: int
    path: Path
    fixed: tuple[int, ...]
    read: frozenset[int]


def rows_together(accesses: Sequence[Access], numbers: Iterable[int]) -> int:
    """How many rows of some accesses there are at most of which each was found by those of the others that feed it.

    What feeds them counts, too: it says which of their rows belong to one of its own.
    """
    return prod(_under_one(accesses[number]) for number in with_fed_by(accesses, numbers))


def _under_one(access: Access) -> int:
    """The rows that an access finds for one row of each of those that feed it; of one that needs none, all.

    So it is of one with bounds of rows: what lies within those of one row may have been found for another one.
    """
    if is_of_rows(access.lower) or is_of_rows(access.upper):
        return access.rows
    return alternatives(access.equal) * (access.rows // max(1, access.operations))


def is_of_rows(end: tuple[Operand, bool] | None) -> bool:
    """Whether a bound is a column of rows that were found."""
    return end is not None and isinstance(end[0], Found)


def alternatives(equal: Sequence[tuple[Operand, ...]]) -> int:
    """How many keys an access has for one row of each of those that feed it."""
    return prod(map(len, equal))


def renumbered(access: Access, by: int) -> Access:
    """An access of a query in FROM, behind others."""
    equal = tuple(tuple(_shifted(one, by) for one in values) for values in access.equal)
    lower, upper = (end and (_shifted(end[0], by), end[1]) for end in (access.lower, access.upper))
    return replace(access, equal=equal, lower=lower, upper=upper)


def _shifted(operand: Operand, by: int) -> Operand:
    return replace(operand, access=operand.access + by) if isinstance(operand, Found) else operand


def moved_known(known: Known, by: int) -> Known:
    inner = {number: moved_known(one, by) for number, one in known.inner.items()}
    return Known(access=known.access + by, columns=known.columns, rows=known.rows, inner=inner)
