"""The rows of a relation that needs all rows at once, computed in this process.

What needs all rows is computed here; all around it by evaluate.py, in which its rows stand as those of a table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, assert_never

from viewkeeper.execute.changetable import normal_double
from viewkeeper.execute.evaluate import evaluated
from viewkeeper.execute.ordering import in_order, key_of, place_of
from viewkeeper.execute.windows import window_rows
from viewkeeper.model.types import Row
from viewkeeper.plan.aggregate import WHOLE
from viewkeeper.plan.join import InnerJoin, PartnerJoin, UnionAll
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens
from viewkeeper.plan.whole import Single, TopN, Window, needs_all

Rows = tuple[list[Row], int]
"""Rows, and on how many an expression failed on the way to them."""


def recompute(relation: Relation, rows: Sequence[Sequence[Row]]) -> Rows:
    """The rows of a relation in no particular order; `rows` has those of each scan, from left to right, as it scans."""
    return _whole(relation, iter(rows))


def _whole(relation: Relation, given: Iterator[Sequence[Row]]) -> Rows:
    if not needs_all(relation):
        return _around(relation, given)
    match relation:
        case Single():
            return [()], 0
        case TopN(input, order, limit, offset):
            rows, errors = _whole(input, given)
            end = None if limit is None else offset + limit
            return in_order(rows, order)[offset:end], errors
        case Window(input, calls, _):
            rows, errors = _whole(input, given)
            made, failed = window_rows(rows, calls)
            return made, errors + failed
        case Aggregate(input):
            rows, errors = _whole(input, given)
            made, failed = grouped_rows(relation, rows)
            return made, errors + failed
    raise AssertionError(relation)


def _around(relation: Relation, given: Iterator[Sequence[Row]]) -> Rows:
    """A relation whose topmost part can be evaluated as it is, over the parts below that need all rows."""
    leaves: list[Sequence[Row]] = []
    failed = 0

    def leaf(part: Relation) -> Scan:
        nonlocal failed
        if isinstance(part, Scan):
            rows: Sequence[Row] = next(given)
        else:
            rows, errors = _whole(part, given)
            failed += errors
        leaves.append(rows)
        return Scan(len(leaves), "", tuple(range(len(part.fields))), part.fields)

    around = _over(relation, leaf)
    made, errors = evaluated(around, leaves)
    return made, failed + errors


def _over(relation: Relation, leaf: Any) -> Relation:
    """The relation with leaves in place of scans and of what needs all rows, taken from left to right."""
    if isinstance(relation, Scan) or needs_all(relation):
        found: Relation = leaf(relation)
        return found
    match relation:
        case Filter() | Project() | Expand() | Tokens() | Aggregate() | Distinct():
            return replace(relation, input=_over(relation.input, leaf))
        case InnerJoin() | UnionAll():
            return replace(relation, inputs=tuple([_over(part, leaf) for part in relation.inputs]))
        case PartnerJoin():
            left = _over(relation.left, leaf)
            return replace(relation, left=left, right=_over(relation.right, leaf))
        case TopN() | Window() | Single():
            raise AssertionError(relation)
    assert_never(relation)


def grouped_rows(relation: Aggregate, rows: Sequence[Row]) -> Rows:
    """The rows of an aggregate with percentiles over given rows; in how many groups one of the others failed."""
    others = [number for number, call in enumerate(relation.calls) if call.kind not in WHOLE]
    width = len(relation.group)
    fields = relation.input.fields
    plain = Aggregate(
        Scan(0, "", tuple(range(len(fields))), fields),
        relation.group,
        tuple(relation.calls[number] for number in others),
        (*relation.names[:width], *(relation.names[width + number] for number in others)),
    )
    made, errors = evaluated(plain, [rows])
    values: dict[Row, list[list[float]]] = {}
    taken = [call.argument for call in relation.calls if call.kind in WHOLE]
    for row in rows:
        lists = values.setdefault(key_of(row, relation.group), [[] for _ in taken])
        for found, column in zip(lists, taken, strict=True):
            cell: Any = row[column]  # type: ignore[index]
            if cell is not None:
                found.append(normal_double(cell))
    for lists in values.values():
        for found in lists:
            found.sort(key=place_of)
    return [_with_percentiles(relation, row, others, values) for row in made], errors


def _with_percentiles(
    relation: Aggregate, row: Row, others: Sequence[int], values: dict[Row, list[list[float]]]
) -> Row:
    width = len(relation.group)
    known = dict(zip(others, row[width:], strict=True))
    lists = values.get(key_of(row, range(width)), [])
    numbers = count()
    cells: list[Any] = []
    for number, call in enumerate(relation.calls):
        if call.fraction is None:
            cells.append(known[number])
        else:
            place = next(numbers)
            cells.append(percentile(lists[place], call.fraction) if lists else None)
    return (*row[:width], *cells)


def percentile(values: Sequence[float], fraction: float) -> float | None:
    """The value at a fraction of the way through values in order, between two of them in proportion; None of none.

    >>> percentile([1.0, 2.0, 3.0, 10.0], 0.5), percentile([], 0.5), percentile([1.0, 2.0], 0.25)
    (2.5, None, 1.25)
    """
    if not values:
        return None
    position = (len(values) - 1) * fraction
    lower, higher = math.floor(position), math.ceil(position)
    least, greatest = values[lower], values[higher]
    if lower == higher or least == greatest:
        return least
    return (higher - position) * least + (position - lower) * greatest
