"""What a side of a join is, apart from which of its columns a view uses: by that, views share what is kept of it.

A plain side is a table or view as it is, perhaps not all of its rows. Its columns are numbered as in there; those of
any other side by their place.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.delta.deltaplan import Changes, Select
from viewkeeper.delta.joinplan import Index, InnerSource, ManySource, Side
from viewkeeper.plan.expr import Expr, Input, rewrite

SIDE_COLUMNS = 1 << 16
"""More columns than a side can have."""


def is_plain(side: Side) -> bool:
    (*inner, last) = side.plan.stages
    return (
        not inner
        and isinstance(last.source, Changes)
        and side.key is not None
        and all(isinstance(step, Select) for step in last.linear)
    )


def numbers_of(side: Side) -> tuple[int, ...]:
    """The numbers of the columns of its rows."""
    if is_plain(side):
        assert isinstance(side.plan.source, Changes)
        return side.plan.source.columns
    return tuple(range(len(side.types)))


def numbers_shown(sides: Sequence[Side]) -> tuple[int, ...]:
    """The numbers of what an inner join of sides shows."""
    return tuple(
        place * SIDE_COLUMNS + number for place, side in enumerate(sides) for number in numbers_of(side)[: side.width]
    )


def in_numbers(side: Side, expr: Expr) -> Expr:
    """An expression over the rows of a side, in terms of the numbers of its columns."""
    numbers = numbers_of(side)
    return rewrite(expr, lambda column: Input(numbers[column.index], column.type))


def rows_of(side: Side) -> object:
    """What tells the rows of a side from those of others: equal for equal rows, whatever columns are used."""
    if not is_plain(side):
        return side.plan, side.key
    source = side.plan.source
    assert isinstance(source, Changes)
    steps = side.plan.stages[0].linear
    return source.object, tuple(in_numbers(side, step.condition) for step in steps if isinstance(step, Select))


def contents_of(side: Side, index: Index) -> str:
    """The same for an index of a side."""
    return repr((rows_of(side), tuple(in_numbers(side, expr) for expr in index.key)))


def identity(source: ManySource) -> str:
    """The same for a join or union."""
    if not isinstance(source, InnerSource):
        return repr(source)
    sides = [rows_of(side) for side in source.sides]
    indexes = [(index.side, contents_of(source.sides[index.side], index)) for index in source.indexes]
    terms = [
        [(probe.index, [(place, in_numbers(source.sides[place], expr)) for place, expr in probe.by]) for probe in term]
        for term in source.terms
    ]
    return repr((sides, indexes, terms))
