"""Window functions over rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

from viewkeeper.execute.framed import Framed
from viewkeeper.execute.ordering import in_order, key_of, peers
from viewkeeper.model.types import Cell, Row
from viewkeeper.plan.aggregate import AggregateKind
from viewkeeper.plan.whole import WindowCall, WindowKind


def window_rows(rows: Sequence[Row], calls: Sequence[WindowCall]) -> tuple[list[Row], int]:
    """Each row with the value of each call behind it; and on how many rows a call failed: a sum out of range."""
    made, failed = window_failures(rows, calls)
    return made, len(failed)


def window_failures(rows: Sequence[Row], calls: Sequence[WindowCall]) -> tuple[list[Row], set[int]]:
    """The same, and the places of the rows on which a call failed."""
    numbered: list[Row] = [(*row, place) for place, row in enumerate(rows)]
    shown: list[list[Cell]] = [[] for _ in rows]
    failed: set[int] = set()
    for call in calls:
        parts: dict[Row, list[Row]] = {}
        for row in numbered:
            parts.setdefault(key_of(row, call.partition), []).append(row)
        for part in parts.values():
            ordered = in_order(part, call.order)
            values, errors = _values(call, ordered)
            for row, value in zip(ordered, values, strict=True):
                shown[_number(row)].append(value)
            failed.update(_number(ordered[place]) for place in errors)
    return [(*row, *values) for row, values in zip(rows, shown, strict=True)], failed


def _number(row: Row) -> int:
    number = row[-1]
    assert isinstance(number, int)
    return number


def _values(call: WindowCall, rows: Sequence[Row]) -> tuple[list[Any], list[int]]:
    """The value of a call for each row of a partition, in order; and the places where it failed."""
    kind, count, size = call.kind, call.count, len(rows)
    if isinstance(kind, AggregateKind):
        return Framed(call, rows).values()
    match kind:
        case WindowKind.ROW_NUMBER:
            return list(range(1, size + 1)), []
        case WindowKind.NTILE:
            return _tiles(size, count), []
        case WindowKind.LAG:
            return [_at(call, rows, place - count) for place in range(size)], []
        case WindowKind.LEAD:
            return [_at(call, rows, place + count) for place in range(size)], []
        case WindowKind.RANK:
            return [start + 1 for start, end in peers(rows, call.order) for _ in range(start, end)], []
        case WindowKind.DENSE_RANK:
            stretches = enumerate(peers(rows, call.order), 1)
            return [number for number, (start, end) in stretches for _ in range(start, end)], []
        case WindowKind.PERCENT_RANK:
            last = max(1, size - 1)
            return [start / last for start, end in peers(rows, call.order) for _ in range(start, end)], []
        case WindowKind.CUME_DIST:
            return [end / size for start, end in peers(rows, call.order) for _ in range(start, end)], []
        case WindowKind.FIRST_VALUE | WindowKind.LAST_VALUE | WindowKind.NTH_VALUE:
            frames = Framed(call, rows).frames()
            return [_in_frame(call, rows, start, end) for start, end in frames], []
    assert_never(kind)


def _tiles(size: int, count: int) -> list[int]:
    """The number of the tile of each row; the first tiles are one row longer, if they cannot all be of one size.

    >>> _tiles(5, 3)
    [1, 1, 2, 2, 3]
    """
    least, longer = divmod(size, count)
    sizes = [least + (tile < longer) for tile in range(min(count, size))]
    return [tile for tile, length in enumerate(sizes, 1) for _ in range(length)]


def _at(call: WindowCall, rows: Sequence[Row], place: int) -> Cell:
    assert call.argument is not None
    return rows[place][call.argument] if 0 <= place < len(rows) else call.default


def _in_frame(call: WindowCall, rows: Sequence[Row], start: int, end: int) -> Cell:
    assert call.argument is not None
    place = start
    if call.kind is WindowKind.LAST_VALUE:
        place = end - 1
    if call.kind is WindowKind.NTH_VALUE:
        place = start + call.count - 1
    return rows[place][call.argument] if start <= place < end else None
