"""Parameters: what a text names against what a call gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from viewkeeper.errors import BadParameter
from viewkeeper.sql.parse import Parsed

Params = Mapping[str, Any] | Sequence[Any] | None

Values = Any
"""Parameters that were checked: indexed by name or by number, whichever the statement has."""


def check_params(parsed: Sequence[Parsed], params: Params) -> None:
    """BadParameter unless `params` are exactly those that the statements of one text name together."""
    if len(parsed) == 1 and not parsed[0].numbers:
        names: frozenset[str] = parsed[0].names
        if isinstance(params, dict) and params.keys() == names:
            return
    names = frozenset().union(*(statement.names for statement in parsed))
    check_given(names, sum(len(statement.numbers) for statement in parsed), params)


def check_given(names: frozenset[str], numbers: int, params: Params) -> None:
    """BadParameter unless `params` are exactly these names, or so many values for ?."""
    if not names and not numbers:
        _check_none(params)
    elif names and numbers:
        raise _mixed(names)
    elif names:
        given = _mapping(names, params)
        unused = [str(name) for name in given if name not in names]
        if unused:
            raise BadParameter(
                f"unused parameter{'s' * (len(unused) > 1)} {_listed(unused)}",
                detail=f"The text names {_listed(names)}.",
            )
    else:
        found = _sequence(numbers, params)
        if len(found) > numbers:
            raise _number_of(numbers, len(found))


def values_for(parsed: Parsed, params: Params) -> Values:
    """The parameters of one statement; BadParameter if one is missing. Those of other statements may be among them."""
    if parsed.names:
        if parsed.numbers:
            raise _mixed(parsed.names)
        if isinstance(params, dict) and parsed.names <= params.keys():
            return params
        return _mapping(parsed.names, params)
    if parsed.numbers:
        return _sequence(parsed.numbers[-1] + 1, params)
    return ()


def shown(key: str | int) -> str:
    """A parameter as an error names it."""
    return f":{key}" if isinstance(key, str) else f"number {key + 1}"


def row_count(value: Any, most: int | None, name: str) -> int:
    """The number given for LIMIT; BadParameter if it is none, or more than MAX declares."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 0:
        raise BadParameter(f"parameter {name} of LIMIT is {value!r}, expected a whole number from 0")
    number = int(value.__index__())
    if most is not None and number > most:
        raise BadParameter(
            f"parameter {name} of LIMIT is {number:,}, more than {most:,}",
            detail=f"The query declares MAX {most}.",
            hint=f"Ask for at most {most:,} rows, or declare more.",
        )
    return number


def check_length(length: int, most: int | None, name: str) -> None:
    """BadParameter if the list given for IN is longer than MAX declares."""
    if most is not None and length > most:
        raise BadParameter(
            f"parameter {name} of IN has {length:,} values, more than {most:,}",
            detail=f"The statement declares MAX {most}.",
            hint="Run it once for each part of the list, or declare more.",
        )


def _check_none(params: Params) -> None:
    if params is None or (isinstance(params, Mapping | Sequence) and len(params) == 0):
        return
    given = _listed(map(str, params)) if isinstance(params, Mapping) else _shown(params)
    raise BadParameter(f"the text has no parameters, found {given}", hint="Write :name or ? where a value belongs.")


def _mapping(names: frozenset[str], params: Params) -> Mapping[str, Any]:
    if params is not None and not isinstance(params, Mapping):
        raise BadParameter(
            f"the text has the parameters {_listed(names)}, found {_shown(params)} without names",
            hint="Pass a mapping of names to values, or write ? in the text.",
        )
    given: Mapping[str, Any] = params or {}
    missing = [name for name in names if name not in given]
    if missing:
        detail = f"Given are {_listed(map(str, given))}." if given else "None are given."
        raise BadParameter(f"missing parameter{'s' * (len(missing) > 1)} {_listed(missing)}", detail=detail)
    return given


def _sequence(count: int, params: Params) -> Sequence[Any]:
    if params is None:
        raise _number_of(count, 0)
    if not isinstance(params, Sequence) or isinstance(params, str | bytes | bytearray):
        raise BadParameter(
            f"the text has {count} parameter{'s' * (count != 1)} written ?, found {_shown(params)}",
            hint="Pass a list of values, or write :name in the text.",
        )
    if len(params) < count:
        raise _number_of(count, len(params))
    return params


def _mixed(names: frozenset[str]) -> BadParameter:
    return BadParameter(
        f"the text has both ? and the parameters {_listed(names)}",
        hint="Write all of them as ?, or all of them as :name.",
    )


def _number_of(wanted: int, found: int) -> BadParameter:
    return BadParameter(
        f"the text has {wanted} parameter{'s' * (wanted != 1)} written ?, found {found} value{'s' * (found != 1)}"
    )


def _shown(params: object) -> str:
    if isinstance(params, Mapping):
        return "a mapping"
    if isinstance(params, Sequence) and not isinstance(params, str | bytes | bytearray):
        return f"{len(params)} value{'s' * (len(params) != 1)}"
    return f"{params.__class__.__name__} {params!r}"


def _listed(names: Any) -> str:
    return ", ".join(f":{name}" for name in sorted(names))
