"""Rows in an order: NULL below every value, NaN above, -0.0 as 0.0; equal rows by all of their columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from viewkeeper.execute.changetable import normal_double
from viewkeeper.model.types import Cell, Row
from viewkeeper.plan.whole import Sort


def place_of(cell: Any) -> tuple[Any, ...]:
    """What cells are compared by.

    >>> sorted([2.5, None, float("nan"), float("-inf")], key=place_of)
    [None, -inf, 2.5, nan]
    """
    if cell is None:
        return (0,)
    return (2,) if cell != cell else (1, cell)


def in_order(rows: Iterable[Row], order: Sequence[Sort], *, settled: bool = True) -> list[Row]:
    """The rows in an order; with `settled`, those that are equal in it by all of their columns."""
    found = list(rows)
    if settled:
        found.sort(key=lambda row: tuple(map(place_of, row)))
    for sort in reversed(order):
        column = sort.column
        found.sort(key=lambda row: place_of(row[column]), reverse=sort.descending)
    return found


def key_of(row: Row, columns: Sequence[int]) -> Row:
    """Some columns of a row, equal where those of another row are the same."""
    return tuple(_same(row[column]) for column in columns)


def _same(cell: Cell) -> Cell:
    same: Cell = normal_double(cell) if isinstance(cell, float) else cell
    return same


def peers(rows: Sequence[Row], order: Sequence[Sort]) -> Iterator[tuple[int, int]]:
    """The stretches of rows, in order, that are equal in it: where each begins, and where it ends, not included."""
    columns = [sort.column for sort in order]
    start = 0
    for place in range(1, len(rows) + 1):
        if place == len(rows) or key_of(rows[place], columns) != key_of(rows[start], columns):
            yield start, place
            start = place
