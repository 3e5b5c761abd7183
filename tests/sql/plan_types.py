"""Whether every expression of a plan has exactly the types that it is computed with."""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input
from viewkeeper.plan.functions import FUNCTIONS
from viewkeeper.plan.join import InnerJoin, PartnerJoin
from viewkeeper.plan.relation import Expand, Field, Filter, Project, Relation, below


def check_plan(relation: Relation) -> None:
    """AssertionError if a conversion was left out."""
    fields = tuple(field for part in below(relation) for field in part.fields)
    for expr in _exprs(relation):
        _check(expr, fields)
    for part in below(relation):
        check_plan(part)


def _exprs(relation: Relation) -> list[Expr]:
    match relation:
        case Filter(_, condition):
            return [condition]
        case Project(_, exprs, _):
            return list(exprs)
        case Expand(_, projections, _):
            return [expr for projection in projections for expr in projection]
        case InnerJoin(_, equalities):
            return [side for pair in equalities for side in pair]
        case PartnerJoin(equalities=equalities, condition=condition):
            return [*(side for pair in equalities for side in pair), *([] if condition is None else [condition])]
    return []


def _check(expr: Expr, fields: Sequence[Field]) -> None:
    match expr:
        case Input(index, type):
            assert fields[index].type == type
        case Call(name, args, type):
            signature = FUNCTIONS[name].signature(args)
            assert signature is not None
            assert (signature.args, signature.result) == (tuple(arg.type for arg in args), type), (name, signature)
            for arg in args:
                _check(arg, fields)
        case Cast(arg, type):
            assert arg.type != type
            _check(arg, fields)
        case Case(branches, otherwise, _):
            for part in (*(one for branch in branches for one in branch), otherwise):
                _check(part, fields)
