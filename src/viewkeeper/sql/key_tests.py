"""What the tests on key columns leave of the keys, once the parameters are known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product
from typing import Any

from viewkeeper.errors import TooManyRows
from viewkeeper.model.keycodec import sortable_double
from viewkeeper.model.types import Cell, Kind, Type
from viewkeeper.sql.params import Values
from viewkeeper.sql.statements import KeyRange

MAX_RANGES = 100_000
"""Key ranges that the IN lists of one statement may make together."""

Operand = Callable[[Values], Cell]
"""A value once the parameters are known."""

Choice = Callable[[Values], Iterable[Cell]]
"""The values that one `=` or IN allows."""


def order_of(type: Type) -> Callable[[Any], Any]:
    """What to compare cells of a type by, so that they order as their keys do; NaN equals NaN and is above all."""
    return sortable_double if type.kind is Kind.DOUBLE else _itself


def _itself(cell: Any) -> Any:
    return cell


@dataclass(frozen=True, slots=True)
class Interval:
    """The cells between two bounds; None is open."""

    lower: Cell
    lower_inclusive: bool
    upper: Cell
    upper_inclusive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnTests:
    """AND-ed tests of one key column. A test against NULL is never true, but for `is_null`, which asks for it.

    `lowers` and `uppers` are bounds, each with whether it is included. `not_null`: the column may be NULL, and every
    test but `is_null` leaves those rows out.
    """

    order: Callable[[Any], Any]
    choices: tuple[Choice, ...]
    lowers: tuple[tuple[Operand, bool], ...]
    uppers: tuple[tuple[Operand, bool], ...]
    descending: bool = False
    is_null: bool = False
    not_null: bool = False

    def points(self, values: Values) -> list[Cell]:
        """The cells that every test allows, each once, in stored order. For columns with a choice, or IS NULL."""
        order = self.order
        if self.is_null:
            return [None] if not (self.choices or self.lowers or self.uppers or self.not_null) else []
        allowed: dict[Any, Cell] | None = None
        for choice in self.choices:
            cells: dict[Any, Cell] = {order(cell): cell for cell in choice(values) if cell is not None}
            allowed = cells if allowed is None else {place: cells[place] for place in allowed.keys() & cells.keys()}
        interval = self.interval(values)
        if interval is None or not allowed:
            return []
        places = sorted(allowed, reverse=self.descending)
        return [allowed[place] for place in places if self._within(interval, place)]

    def interval(self, values: Values) -> Interval | None:
        """The tightest of the bounds; None if nothing is between them."""
        lower, lower_inclusive, nothing_above = self._tightest(self.lowers, values, 1)
        upper, upper_inclusive, nothing_below = self._tightest(self.uppers, values, -1)
        if nothing_above or nothing_below:
            return None
        if lower is not None and upper is not None:
            low, high = self.order(lower), self.order(upper)
            if low > high or (low == high and not (lower_inclusive and upper_inclusive)):
                return None
        return Interval(lower, lower_inclusive, upper, upper_inclusive)

    def _tightest(self, bounds: tuple[tuple[Operand, bool], ...], values: Values, sign: int) -> tuple[Cell, bool, bool]:
        """The highest bound, or the lowest if `sign` is -1; whether it is included; whether one was NULL."""
        best: Cell = None
        best_inclusive, null = True, False
        for operand, inclusive in bounds:
            cell = operand(values)
            if cell is None:
                null = True
            elif best is None or self._compare(cell, best) == sign:
                best, best_inclusive = cell, inclusive
            elif self._compare(cell, best) == 0:
                best_inclusive = best_inclusive and inclusive
        return best, best_inclusive, null

    def _compare(self, left: Cell, right: Cell) -> int:
        one, other = self.order(left), self.order(right)
        return int(one > other) - int(one < other)

    def _within(self, interval: Interval, place: Any) -> bool:
        if interval.lower is not None:
            low = self.order(interval.lower)
            if place < low or (place == low and not interval.lower_inclusive):
                return False
        if interval.upper is not None:
            high = self.order(interval.upper)
            if place > high or (place == high and not interval.upper_inclusive):
                return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCondition:
    """A whole WHERE: tests with choices on the first key columns, in key order, then bounds on the next one, or none.

    `plain` are the operands where every test is one `=`, which most statements are; else None. `fixed` are the ids of
    the columns that have an `=`, and so one value in all rows found.
    """

    table: str
    pinned: tuple[ColumnTests, ...]
    ranged: ColumnTests | None
    plain: tuple[Operand, ...] | None
    fixed: frozenset[int]

    def ranges(self, values: Values) -> tuple[KeyRange, ...]:
        """Disjoint ranges in stored order; none if no key can pass. TooManyRows beyond MAX_RANGES."""
        if self.plain is not None:
            prefix = tuple([operand(values) for operand in self.plain])
            return () if None in prefix else (KeyRange(prefix=prefix),)
        points = [tests.points(values) for tests in self.pinned]
        interval = Interval(None, True, None, True) if self.ranged is None else self.ranged.interval(values)
        count = math.prod(map(len, points))
        if interval is None or count == 0:
            return ()
        if count > MAX_RANGES:
            raise TooManyRows(
                f'the IN lists name {count:,} key ranges of table "{self.table}", more than {MAX_RANGES:,}',
                hint="Give fewer values, in several statements.",
            )
        return tuple(
            KeyRange(
                prefix=prefix,
                lower=interval.lower,
                lower_inclusive=interval.lower_inclusive,
                upper=interval.upper,
                upper_inclusive=interval.upper_inclusive,
                not_null=self.ranged is not None and self.ranged.not_null,
            )
            for prefix in product(*points)
        )
