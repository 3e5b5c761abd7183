"""Rows of several accesses that belong together: each was found by those of the others that feed it.

A key of columns of two accesses has their values in such rows, and not each value of one with each of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from viewkeeper.execute.changetable import normal_double
from viewkeeper.model.picking import picker
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Row
from viewkeeper.plan.access import Access, Found, with_fed_by
from viewkeeper.read.operands import Convert, converter, lowered

Kept: TypeAlias = Sequence[Sequence[Row]]
"""By access, the rows that it found."""
Column: TypeAlias = tuple[int, int]
"""An access, and a column of its stored rows."""
_Pick: TypeAlias = Callable[[Row], Row]


@dataclass(frozen=True, slots=True)
class _Link:
    """A key column, which has the value of a column of an earlier access, once that is converted."""

    key: int
    found: Column
    convert: Convert | None


class Links:
    """How the accesses of a plan feed each other, from the first on."""

    def __init__(self) -> None:
        self._accesses: list[Access] = []
        self._links: list[list[_Link]] = []

    def add(self, access: Access, codec: RowCodec) -> None:
        """The next access of the plan, and the codec of what it reads."""
        keys = zip(access.equal, codec.key.columns, codec.key.types, strict=False)
        found = []
        for place, ((operand, *others), column, type) in enumerate(keys):
            if isinstance(operand, Found) and not others:
                convert = lowered if place in access.words else converter(operand.type, type)
                found.append(_Link(column, (operand.access, operand.column), convert))
        self._accesses.append(access)
        self._links.append(found)

    def together(self, columns: Sequence[Column]) -> Callable[[Kept], Iterable[Row]]:
        """What gives the different values of some columns in rows that belong together."""
        numbers = with_fed_by(self._accesses, (number for number, _ in columns))
        steps: list[_Step] = []
        have: list[Column] = []
        for place, number in enumerate(numbers):
            behind = [link.found for other in numbers[place + 1 :] for link in self._links[other]]
            keep = [one for one in dict.fromkeys([*columns, *behind]) if one[0] in numbers[: place + 1]]
            steps.append(_Step(number, self._links[number], have, keep))
            have = keep
        last = picker([have.index(column) for column in columns])

        def rows_of(kept: Kept) -> Iterable[Row]:
            rows: Iterable[Row] = [()]
            for step in steps:
                rows = step.joined(rows, kept[step.number])
            return dict.fromkeys(map(last, rows))

        return rows_of


class _Step:
    """The rows of one access, joined to those before it: of these it has the columns `have`, and it gives `keep`."""

    def __init__(self, number: int, links: Sequence[_Link], have: Sequence[Column], keep: Sequence[Column]) -> None:
        self.number = number
        own = [one for one in keep if one[0] == number]
        both = [*have, *own]
        self._key = picker([link.key for link in links])
        self._own = picker([column for _, column in own])
        self._looked_up = picker([have.index(link.found) for link in links])
        self._converts = [link.convert for link in links]
        self._keep = picker([both.index(one) for one in keep])

    def joined(self, rows: Iterable[Row], found: Iterable[Row]) -> Iterable[Row]:
        """Each different one once."""
        partners: dict[Row, dict[Row, None]] = {}
        for row in found:
            partners.setdefault(_same(self._key(row)), {})[self._own(row)] = None
        keep, nothing = self._keep, dict[Row, None]()
        return dict.fromkeys(
            keep(row + own) for row in rows for own in partners.get(self._wanted(self._looked_up(row)), nothing)
        )

    def _wanted(self, cells: Row) -> Row:
        """What partners have in their key; what is NULL or does not convert is in no key."""
        given = zip(cells, self._converts, strict=True)
        return _same(tuple(cell if convert is None else convert(cell) for cell, convert in given))


def _same(cells: Row) -> Row:
    """Equal where SQL has them equal: NaN is NaN, and -0.0 is 0.0."""
    return tuple(map(_normal, cells)) if any(isinstance(cell, float) for cell in cells) else cells


def _normal(cell: Cell) -> Cell:
    same: Cell = normal_double(cell) if isinstance(cell, float) else cell
    return same
