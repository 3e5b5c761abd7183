"""A plan with values in the place of its parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from viewkeeper.model.types import Cell, Type
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal, Parameter, children
from viewkeeper.plan.join import Equality, InnerJoin, PartnerJoin, UnionAll
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens
from viewkeeper.plan.whole import TopN, Window

ANY_LENGTH = -1
"""The element of a parameter that stands for all of a list of which no length is declared."""

_Values = Mapping[tuple[str | int, int | None], Cell]


def filled(relation: Relation, values: _Values) -> Relation:
    """The relation in which every parameter is a constant; KeyError for one that is not in `values`.

    A list of any length becomes its elements 0, 1 … as far as there are, and one NULL if there are none.
    """
    match relation:
        case Scan():
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
        case Call("in", (value, Parameter(key, type, element)), result) if element == ANY_LENGTH:
            return Call("in", (filled_expr(value, values), *_elements(key, values, type)), result)
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


def _elements(key: str | int, values: _Values, type: Type) -> list[Literal]:
    found: list[Literal] = []
    while (key, len(found)) in values:
        found.append(Literal(values[key, len(found)], type))
    return found or [Literal(None, type)]
