"""Filters on the columns of a key as intervals of encoded keys.

What they leave out holds no row that passes; what they leave in, Spark filters again. So a filter that is not
understood here costs time and never a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

from viewkeeper.errors import DataError
from viewkeeper.model.keycodec import prefix_end
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Row
from viewkeeper.model.values import accept
from viewkeeper.store.scan import Interval
from viewkeeper.store.snapshot import EMPTY

MOST_INTERVALS = 4096
"""Beyond so many keys, a filter costs more to plan than it saves."""


def key_intervals(codec: RowCodec, filters: Sequence[Filter]) -> list[Interval]:
    """The disjoint intervals, in key order, that hold every row that passes all of these filters."""
    prefixes: list[Row] = [()]
    for place in range(len(codec.key.columns)):
        values = _values(codec, place, filters)
        if values is None or len(prefixes) * len(values) > MOST_INTERVALS:
            intervals = [_range(codec, prefix, place, filters) for prefix in prefixes]
            break
        prefixes = [(*prefix, value) for prefix in prefixes for value in values]
    else:
        intervals = [Interval.of_prefix(codec.key.encode_key(prefix)) for prefix in prefixes]
    found = {interval.lower: interval for interval in intervals if not interval.is_empty}
    return [found[lower] for lower in sorted(found)]


def _on(codec: RowCodec, place: int, filters: Iterable[Filter]) -> Iterable[tuple[type[Filter], Any]]:
    """The comparisons of one key column with a value."""
    name = codec.table.columns[codec.key.columns[place]].name
    for filter in filters:
        path: Any = getattr(filter, "attribute", ())
        value = getattr(filter, "value", None)
        if len(path) == 1 and path[0].lower() == name.lower() and value is not None:
            yield type(filter), value


def _values(codec: RowCodec, place: int, filters: Sequence[Filter]) -> list[Cell] | None:
    """The only values that a key column may have; None if that is not known."""
    known: list[Cell] | None = None
    for kind, value in _on(codec, place, filters):
        if kind in (EqualTo, EqualNullSafe):
            cells = _cells(codec, place, [value])
        elif kind is In:
            cells = _cells(codec, place, value)
        else:
            continue
        if cells is not None:
            # Two such filters hold together; Spark applies both, so the shorter list is enough here.
            known = cells if known is None or len(cells) < len(known) else known
    return known


def _cells(codec: RowCodec, place: int, values: Iterable[Any]) -> list[Cell] | None:
    """The values as cells, NULL left out, since it equals nothing; None if one is not of the column's type."""
    column = codec.table.columns[codec.key.columns[place]]
    try:
        return [accept(value, column.type, column.name) for value in values if value is not None]
    except DataError:
        return None


def _range(codec: RowCodec, prefix: Row, place: int, filters: Sequence[Filter]) -> Interval:
    """The keys with a prefix whose next column is within all comparisons."""
    encode = codec.key.encode_key
    interval = Interval.of_prefix(encode(prefix))
    for kind, value in _on(codec, place, filters):
        if kind not in (GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual):
            continue
        cells = _cells(codec, place, [value])
        if cells:
            upwards = (kind in (GreaterThan, GreaterThanOrEqual)) != codec.key.descending[place]
            inclusive = kind in (GreaterThanOrEqual, LessThanOrEqual)
            interval = interval.intersect(_half(encode((*prefix, cells[0])), upwards, inclusive))
    return interval


def _half(code: bytes, upwards: bool, inclusive: bool) -> Interval:
    """The keys from those that begin with `code` on upwards, or downwards."""
    # Keys that begin with the code have that very value, whatever follows.
    behind = prefix_end(code)
    if upwards:
        if inclusive:
            return Interval(code)
        return EMPTY if behind is None else Interval(behind)
    return Interval(b"", behind if inclusive else code)
