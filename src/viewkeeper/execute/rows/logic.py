"""Comparisons and three-valued logic. NaN equals itself and is above every number; -0.0 equals 0.0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewkeeper.execute.rows.code import Bind, Code, Implementation, calls, inline
from viewkeeper.execute.rows.normal import normalised
from viewkeeper.model.types import Kind
from viewkeeper.plan.expr import Call, Expr, Literal, Parameter
from viewkeeper.plan.filling import ANY_LENGTH

_DOUBLE = {
    "=": "({0} == {1} or ({0} != {0} and {1} != {1}))",
    "<>": "({0} != {1} and ({0} == {0} or {1} == {1}))",
    "<": "({0} < {1} or ({1} != {1} and {0} == {0}))",
    "<=": "({0} <= {1} or {1} != {1})",
    ">": "({0} > {1} or ({0} != {0} and {1} == {1}))",
    ">=": "({0} >= {1} or {0} != {0})",
}
_OTHERS = {"=": "==", "<>": "!="}


def _comparison(call: Call, _bind: Bind) -> Code:
    if call.args[0].type.kind is Kind.DOUBLE:
        return Code(_DOUBLE[call.name])
    return Code(f"{{0}} {_OTHERS.get(call.name, call.name)} {{1}}")


def _same(call: Call, _bind: Bind) -> Code:
    # None == None is true, and None is equal to nothing else.
    return Code(_DOUBLE["="] if call.args[0].type.kind is Kind.DOUBLE else "{0} == {1}")


def _connective(decisive: str, otherwise: str) -> Implementation:
    """AND (a FALSE decides) or OR (a TRUE decides); else a NULL makes NULL."""

    def implementation(call: Call, _bind: Bind) -> Code:
        places = [f"{{{place}}}" for place in range(len(call.args))]
        decided = " or ".join(f"{place} is {decisive}" for place in places)
        unknown = " or ".join(f"{place} is None" for place in places)
        return Code(f"({decisive} if {decided} else None if {unknown} else {otherwise})")

    return implementation


def _membership(call: Call, bind: Bind) -> Code:
    """TRUE if the value is in the list, else NULL if either is or has a NULL, else FALSE; FALSE if the list is empty.

    A member that is a parameter of a list stands for the values that are given for it.
    """
    type, members = call.args[0].type, call.args[1:]
    if all(isinstance(member, Literal) for member in members):
        value = f"{bind(normalised)}({{0}}, {bind(type)})" if type.kind is Kind.DOUBLE else "{0}"
        cells = _cells(members)
        known = bind(frozenset(normalised(cell, type) for cell in cells if cell is not None))
        return Code(f"(None if {{0}} is None else True if {value} in {known} else {None if None in cells else False})")
    lists = [isinstance(member, Parameter) and member.element == ANY_LENGTH for member in members]
    places = [f"{{{place}}}" for place in range(1, len(call.args))]
    equal = _DOUBLE["="] if type.kind is Kind.DOUBLE else "{0} == {1}"
    within = f"{bind(_has_double)}({{0}}, {{1}})" if type.kind is Kind.DOUBLE else "{0} in {1}"
    found = " or ".join(
        (within if is_list else equal).replace("{1}", place) for place, is_list in zip(places, lists, strict=True)
    )
    unknown = " or ".join(
        f"None in {place}" if is_list else f"{place} is None" for place, is_list in zip(places, lists, strict=True)
    )
    tested = f"None if {{0}} is None else True if {found} else None if {unknown} else False"
    if all(lists):
        empty = " and ".join(f"not {place}" for place in places)
        tested = f"False if {empty} else {tested}"
    return Code(f"({tested})")


def _has_double(value: float, members: Sequence[float | None]) -> bool:
    return value in members or (value != value and any(one != one for one in members))


def _cells(members: Sequence[Expr]) -> list[Any]:
    return [member.value for member in members if isinstance(member, Literal)]


def _greatest(*values: Any) -> Any:
    best = None
    for value in values:
        if value is not None and (best is None or value > best):
            best = value
    return best


def _least(*values: Any) -> Any:
    best = None
    for value in values:
        if value is not None and (best is None or value < best):
            best = value
    return best


def _greatest_double(*values: float | None) -> float | None:
    best = None
    for value in values:
        if value is not None and (best is None or value > best or (value != value and best == best)):
            best = value
    return best


def _least_double(*values: float | None) -> float | None:
    best = None
    for value in values:
        if value is not None and (best is None or value < best or (best != best and value == value)):
            best = value
    return best


def _by_kind(double: Implementation, other: Implementation) -> Implementation:
    return lambda call, bind: (double if call.type.kind is Kind.DOUBLE else other)(call, bind)


LOGICAL: dict[str, Implementation] = {
    "=": _comparison,
    "<>": _comparison,
    "<": _comparison,
    "<=": _comparison,
    ">": _comparison,
    ">=": _comparison,
    "<=>": _same,
    "and": _connective("False", "True"),
    "or": _connective("True", "False"),
    "not": inline("not {0}"),
    "is_null": inline("{0} is None"),
    "in": _membership,
    "greatest": _by_kind(calls(_greatest_double), calls(_greatest)),
    "least": _by_kind(calls(_least_double), calls(_least)),
}
