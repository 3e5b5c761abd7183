"""A plan with values in the place of its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, assert_never

from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, Parameter, children
from viewkeeper.plan.join import Equality, InnerJoin, PartnerJoin, UnionAll
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens
from viewkeeper.plan.whole import Single, TopN, Window

ANY_LENGTH = -1
"""The element of a parameter that stands for all of a list of which no length is declared."""

_Values = Mapping[tuple[str | int, int | None], Any]


def filled(relation: Relation, values: _Values) -> Relation:
    """The relation in which every parameter is a constant; KeyError for one that is not in `values`.

    A list behind IN becomes its values; nothing is in one that has none.
    """
    match relation:
        case Scan() | Single():
            return relation
        case Filter(input, condition):
            return Filter(filled(input, values), filled_expr(condition, values))
        case Project(input, exprs, names):
            return Project(filled(input, values), _all(exprs, values), names)
        case Expand(input, projections, names):
            return Expand(filled(input, values), tuple(_all(row, values) for row in projections), names)
        case Tokens(input, text, name):
            return Tokens(filled(input, values), filled_expr(text, values), name)
        case Aggregate() | Distinct() | TopN() | Window():
            return replace(relation, input=filled(relation.input, values))
        case InnerJoin(parts, equalities):
            return InnerJoin(tuple(filled(part, values) for part in parts), _pairs(equalities, values))
        case PartnerJoin(kind, left, right, equalities, condition):
            also = None if condition is None else filled_expr(condition, values)
            return PartnerJoin(kind, filled(left, values), filled(right, values), _pairs(equalities, values), also)
        case UnionAll(parts):
            return UnionAll(tuple(filled(part, values) for part in parts))
    assert_never(relation)


def filled_expr(expr: Expr, values: _Values) -> Expr:
    """The expression with constants for its parameters."""
    match expr:
        case Input() | Literal():
            return expr
        case Parameter(key, type, element):
            return Literal(values[key, element], type)
        case Call("in", (value, *members), result):
            found = tuple(filled_expr(one, values) for member in members for one in _elements(member, values))
            kept = tuple(dict.fromkeys(found))
            return Call("in", (filled_expr(value, values), *kept), result) if kept else Literal(False, result)
        case Call(name, args, type):
            return Call(name, _all(args, values), type)
        case Cast(arg, type):
            return Cast(filled_expr(arg, values), type)
        case Case(branches, otherwise, type):
            pairs = tuple((filled_expr(when, values), filled_expr(then, values)) for when, then in branches)
            return Case(pairs, filled_expr(otherwise, values), type)
    assert_never(expr)


def parameters_in(expr: Expr) -> Iterator[Parameter]:
    """The parameters of an expression; one may come several times."""
    if isinstance(expr, Parameter):
        yield expr
    for child in children(expr):
        yield from parameters_in(child)


def _all(exprs: tuple[Expr, ...], values: _Values) -> tuple[Expr, ...]:
    return tuple(filled_expr(expr, values) for expr in exprs)


def _pairs(equalities: tuple[Equality, ...], values: _Values) -> tuple[Equality, ...]:
    return tuple((filled_expr(left, values), filled_expr(right, values)) for left, right in equalities)


def _elements(member: Expr, values: _Values) -> list[Expr]:
    """What a member of IN stands for: all values of a list, whichever of its places it is."""
    if isinstance(member, Parameter) and member.element is not None:
        return [Literal(cell, member.type) for cell in values[member.key, ANY_LENGTH]]
    return [member]


def with_whole_lists(expr: Expr) -> Expr:
    """An expression in which IN has each list as one parameter, of element `ANY_LENGTH`."""
    match expr:
        case Call("in", (value, *members), type):
            kept = dict.fromkeys(
                replace(one, element=ANY_LENGTH) if isinstance(one, Parameter) and one.element is not None else one
                for one in members
            )
            return Call("in", (with_whole_lists(value), *map(with_whole_lists, kept)), type)
        case Call(name, args, type):
            return Call(name, tuple(map(with_whole_lists, args)), type)
        case Cast(arg, type):
            return Cast(with_whole_lists(arg), type)
        case Case(branches, otherwise, type):
            pairs = tuple((with_whole_lists(when), with_whole_lists(then)) for when, then in branches)
            return Case(pairs, with_whole_lists(otherwise), type)
    return expr
