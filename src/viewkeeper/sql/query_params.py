"""The values given for the parameters of a query, as cells.

A list is as long as `IN :list MAX n` declares: the places behind its end repeat its first value, which changes nothing
for what is read by it, and an empty list has NULL at every place, so that nothing is found. The values as they were
given are at the place `ANY_LENGTH`: what is tested there may tell an empty list from one of NULLs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewkeeper.errors import BadParameter, DataError
from viewkeeper.model.types import Cell, Type
from viewkeeper.model.values import accept
from viewkeeper.plan.expr import Parameter
from viewkeeper.plan.filling import ANY_LENGTH
from viewkeeper.sql.params import Params, check_given, check_length, row_count, shown
from viewkeeper.sql.statements import Query

_LISTS = (list, tuple, set, frozenset)


def cells_of(query: Query, params: Params) -> dict[tuple[str | int, int | None], Any]:
    """The cell of every place of every parameter; BadParameter if one is missing, unused, or no value of its type.

    A list has a tuple of all its cells at the place `ANY_LENGTH`.
    """
    keys = dict.fromkeys(parameter.key for parameter in query.parameters)
    check_given(
        frozenset(key for key in keys if isinstance(key, str)), sum(isinstance(key, int) for key in keys), params
    )
    given: Any = params
    if isinstance(query.limit, Parameter):
        row_count(given[query.limit.key], query.limit_max, shown(query.limit.key))
    places: dict[str | int, list[Parameter]] = {key: [] for key in keys}
    for parameter in query.parameters:
        places[parameter.key].append(parameter)
    cells: dict[tuple[str | int, int | None], Any] = {}
    for key, parts in places.items():
        if parts[0].element is None:
            cells[key, None] = _cell(given[key], parts[0].type, shown(key))
        else:
            cells.update(_list(key, given[key], parts, query.lists.get(key)))
    return cells


def _list(
    key: str | int, value: Any, parts: Sequence[Parameter], most: int | None
) -> dict[tuple[str | int, int | None], Any]:
    name = shown(key)
    if not isinstance(value, _LISTS):
        raise BadParameter(
            f"parameter {name} of IN is {value.__class__.__name__} {_short(value)}, expected a list",
            hint="Pass a list of values.",
        )
    check_length(len(value), most, name)
    type = parts[0].type
    found = tuple(_cell(one, type, name) for one in value)
    cells: dict[tuple[str | int, int | None], Any] = {(key, ANY_LENGTH): found}
    for part in parts:
        if part.element is not None and part.element != ANY_LENGTH:
            cells[key, part.element] = found[part.element] if part.element < len(found) else [*found, None][0]
    return cells


def _cell(value: Any, type: Type, name: str) -> Cell:
    try:
        return accept(value, type, name)
    except DataError as error:
        if isinstance(value, _LISTS):
            hint = f"A list stands behind IN without parentheses: IN {name if name[0] == ':' else '?'} MAX 20."
            raise BadParameter(f"parameter {name} is a list, expected {type}", hint=hint) from None
        raise BadParameter(
            f"parameter {name} is {value.__class__.__name__} {_short(value)}, expected {type}",
            detail=error.detail,
            hint=error.hint or "Its type is that of what it stands beside; CAST(… AS type) around it gives it another.",
        ) from None


def _short(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:
        # An int of more digits than Python writes.
        return "of very many digits"
    return text if len(text) <= 60 else text[:57] + "..."
