"""What a key column is compared with, as a value of that column's type.

A value of another type is converted. Where the column is the one that SQL would convert, a value that does not come
back from its type unchanged equals nothing; as a bound it is replaced by the nearest one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from viewkeeper.errors import BadParameter
from viewkeeper.execute.rows.expr import Failures, compile_expr
from viewkeeper.model.letters import lower
from viewkeeper.model.types import Cell, Kind, Type
from viewkeeper.plan.expr import Cast, Input
from viewkeeper.plan.likes import Wild, like_parts

Convert: TypeAlias = Callable[[Cell], Cell]
"""A value as one of another type; None if it is NULL, or there is none."""
End: TypeAlias = tuple[Cell, bool] | None
"""A bound, and whether it is included; a bound that is None is open. None by itself: no value lies within."""
Bound: TypeAlias = Callable[[Cell], End]

_NUMBERS = (Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE)


def converter(source: Type, target: Type) -> Convert | None:
    """What makes of a value the one that equals it in another type; None if nothing has to be made of it."""
    if source == target:
        return None
    there, back = _cast(source, target), _cast(target, source)
    if target.kind is Kind.DOUBLE:
        return there

    def convert(cell: Cell) -> Cell:
        made = there(cell)
        return made if made is not None and back(made) == cell else None

    return convert


def lowered(cell: Cell) -> Cell:
    """A word as indexes have it."""
    return lower(cell) if isinstance(cell, str) else None


def bound(source: Type, target: Type, *, inclusive: bool, is_lower: bool) -> Bound:
    """What makes of a value the bound that it is for values of another type."""
    if source == target or target.kind is Kind.DOUBLE:
        there = _cast(source, target)

        def plain(cell: Cell) -> End:
            made = there(cell)
            return None if made is None else (made, inclusive)

        return plain
    there, back = _cast(source, target), _cast(target, source)
    is_number = source.kind in _NUMBERS and target.kind in _NUMBERS

    def nearest(cell: Any) -> End:
        if cell is None:
            return None
        made: Any = there(cell)
        if made is None:
            # A number that is beyond all of the type is above or below them.
            return (None, False) if is_number and is_lower == (cell < 0) else None
        known: Any = back(made)
        if known == cell:
            return made, inclusive
        # What lies beyond the value lies beyond the one in its place, or is that.
        return made, (known > cell) == is_lower

    return nearest


def _cast(source: Type, target: Type) -> Convert:
    if source == target:
        return lambda cell: cell
    compute, uncounted = compile_expr(Cast(Input(0, source), target)), Failures()
    return lambda cell: compute((cell,), uncounted)


def beginning(pattern: Cell) -> str | None:
    r"""What a text has to begin with to be LIKE a pattern; None if that is NULL. BadParameter for any other pattern.

    >>> beginning("wo%"), beginning(r"50\%%"), beginning("%")
    ('wo', '50%', '')
    """
    if pattern is None:
        return None
    match like_parts(pattern) if isinstance(pattern, str) else None:
        case (str(text), Wild.ANY):
            return text
        case (Wild.ANY,):
            return ""
    raise BadParameter(
        f"the pattern {pattern!r} does not only say how a text begins",
        detail="The rows are found in the order of that text, so all of them have to begin alike.",
        hint=r"End it with its only %, and write \% and \_ for the characters themselves.",
    )
