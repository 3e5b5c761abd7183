"""Keys of views as users give them: the visible columns by which the rows are stored, in that order.

What is stored behind them, hidden, only tells rows apart. A key column may be NULL, and may descend.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from viewkeeper.errors import NotUnique, WrongType
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell
from viewkeeper.model.values import accept
from viewkeeper.model.view import View
from viewkeeper.read.bykey import interval_between
from viewkeeper.read.region import Region
from viewkeeper.store.interface import Interval


def is_unique(view: View) -> bool:
    """Whether visible columns alone tell its rows apart. A view of one row, a global aggregate, has no key at all."""
    return not view.repeats and view.key == view.layout.key


def view_key(view: View, codec: RowCodec, key: tuple[Any, ...]) -> bytes:
    """The encoded key of a row; NotUnique if the view has none, WrongType if this is not one."""
    if not is_unique(view):
        raise _not_unique(view)
    if len(key) != len(view.key):
        raise WrongType(
            f'{view.kind} "{view.name}" has a key of {_columns(len(view.key))}, {stored_by(view)}, '
            f"found {_values(len(key))}",
            hint="Pass one value for each key column, None for NULL; scan takes a prefix.",
        )
    return codec.key.encode_key(_cells(view, codec, key))


def view_interval(view: View, codec: RowCodec, prefix: Any = (), lower: Any = None, upper: Any = None) -> Interval:
    """The keys with this prefix, and lower <= the key columns behind it < upper, in stored order."""
    return interval_between(partial(_encoded, view, codec), prefix, lower, upper)


def key_region(view: View, codec: RowCodec, key: tuple[Any, ...]) -> Region:
    """Just the key of a row, whose encoded form is where the interval begins; errors as for `view_key`."""
    encoded = view_key(view, codec, key)
    return Region(Interval(encoded, encoded + b"\0"), tuple(_cells(view, codec, key)))


def view_region(view: View, codec: RowCodec, prefix: Any = (), lower: Any = None, upper: Any = None) -> Region:
    """The keys of `view_interval`, and what they begin with."""
    interval = view_interval(view, codec, prefix, lower, upper)
    start = tuple(prefix) if isinstance(prefix, tuple | list) else (prefix,)
    return Region(interval, tuple(_cells(view, codec, start)))


def stored_by(view: View) -> str:
    """Such as `(shop, n DESC)`."""
    names = [f"{view.columns[number].name}{' DESC' * descending}" for number, descending in view.order]
    return f"({', '.join(names)})"


def _encoded(view: View, codec: RowCodec, values: tuple[Any, ...]) -> bytes:
    if len(values) > len(view.order):
        raise WrongType(
            f'{view.kind} "{view.name}" is stored by {_columns(len(view.order))}, {stored_by(view)}, '
            f"found {_values(len(values))}"
        )
    return codec.key.encode_key(_cells(view, codec, values))


def _cells(view: View, codec: RowCodec, values: tuple[Any, ...]) -> list[Cell]:
    columns = view.layout.columns
    return [
        accept(value, columns[number].type, columns[number].name)
        for number, value in zip(codec.key.columns, values, strict=False)
    ]


def _not_unique(view: View) -> NotUnique:
    names = ", ".join(view.column_names)
    if view.order:
        hint = f'Read all rows that begin alike: db.scan("{view.name}", prefix=…) takes values of {stored_by(view)}.'
    else:
        hint = f'Read its rows with db.scan("{view.name}").'
    return NotUnique(
        f'rows of {view.kind} "{view.name}" have no key of their own',
        detail=f"Several may have the same {names}." if view.repeats else f"Its columns {names} need not be unique.",
        hint=hint,
    )


def _columns(count: int) -> str:
    return f"{count} column{'s' * (count != 1)}"


def _values(count: int) -> str:
    return f"{count} value{'s' * (count != 1)}"
