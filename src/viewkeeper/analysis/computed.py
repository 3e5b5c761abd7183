"""What a query computes from its parameters alone, such as `LOWER(:word)`, as a parameter of its own.

So it is a value that rows are found by, and is computed once a run, not once a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from viewkeeper.analysis.conditions import core
from viewkeeper.analysis.sqltext import sql
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Parameter, children, inputs
from viewkeeper.plan.filling import parameters_in
from viewkeeper.plan.join import PartnerJoin
from viewkeeper.plan.relation import Filter, Relation, below, with_below

_COMPARES = frozenset({"=", "<>", "<", "<=", ">", ">=", "<=>", "in", "like", "has_word", "has_word_like"})


def with_computed(relation: Relation) -> Relation:
    """The relation whose conditions compare with such parameters."""
    made = with_below(relation, [with_computed(part) for part in below(relation)])
    if isinstance(made, Filter):
        return replace(made, condition=_condition(made.condition))
    if isinstance(made, PartnerJoin) and made.condition is not None:
        return replace(made, condition=_condition(made.condition))
    return made


def _condition(expr: Expr) -> Expr:
    if not isinstance(expr, Call):
        return expr
    if expr.name in _COMPARES:
        subject, *others = expr.args
        is_list = expr.name == "in"
        return replace(expr, args=(_operand(subject), *(_operand(one, is_member=is_list) for one in others)))
    return replace(expr, args=tuple(map(_condition, expr.args)))


def _operand(expr: Expr, *, is_member: bool = False) -> Expr:
    """One side of a comparison. A conversion that keeps all values stays one, as of any other parameter, but in a list.

    What members of a list are converted to is the type of all of them.
    """
    if isinstance(expr, Cast) and core(expr) != expr and not is_member:
        return replace(expr, arg=_operand(expr.arg))
    if not isinstance(expr, Call | Cast | Case):
        return expr
    given = list(parameters_in(expr))
    if not given or any(one.element is not None for one in given) or any(True for _ in inputs(expr)):
        return expr
    return Parameter(key=sql(expr, _no_column), type=expr.type, expr=expr)


def _no_column(column: Input) -> str:
    raise ValueError(f"{column} in what is computed from parameters")


def computed_in(relation: Relation) -> Iterator[Parameter]:
    """The parameters of a relation that are computed; one may come several times."""
    condition = relation.condition if isinstance(relation, Filter | PartnerJoin) else None
    if condition is not None:
        yield from _computed(condition)
    for part in below(relation):
        yield from computed_in(part)


def _computed(expr: Expr) -> Iterator[Parameter]:
    if isinstance(expr, Parameter) and expr.expr is not None:
        yield expr
    for child in children(expr):
        yield from _computed(child)
