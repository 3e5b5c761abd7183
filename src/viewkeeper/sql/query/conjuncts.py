"""Conditions joined by AND, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from viewkeeper.model.types import BOOLEAN
from viewkeeper.plan.expr import Call, Expr, Literal
from viewkeeper.plan.failing import can_fail
from viewkeeper.plan.relation import Filter, Relation
from viewkeeper.sql.constructs import bare
from viewkeeper.sql.query.columns import moved

if TYPE_CHECKING:
    from viewkeeper.sql.query.expressions import Expressions


@dataclass(frozen=True, slots=True, kw_only=True)
class Conjunct:
    """A condition that every row has to meet, and where it stands in the text."""

    expr: Expr
    node: exp.Expr

    @property
    def sides(self) -> tuple[Expr, Expr] | None:
        """What an equality compares; None if it is another condition."""
        match self.expr:
            case Call("=", (left, right), _):
                return left, right
        return None

    @property
    def never_fails(self) -> bool:
        return not can_fail(self.expr)

    @property
    def is_true(self) -> bool:
        return self.expr == Literal(True, BOOLEAN)

    def moved(self, by: int) -> Conjunct:
        return replace(self, expr=moved(self.expr, by))


def split(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND joins, from left to right, without parentheses around them."""
    found: list[exp.Expr] = []
    pending = [node]
    while pending:
        part = bare(pending.pop())
        if isinstance(part, exp.And):
            pending += [part.args["expression"], part.args["this"]]
        else:
            found.append(part)
    return found


def bind_conjuncts(node: exp.Expr, binder: Expressions) -> list[Conjunct]:
    return [Conjunct(expr=binder.condition(part), node=part) for part in split(node)]


def conjunction(conditions: Sequence[Expr]) -> Expr | None:
    """One condition of several; None if there is none."""
    if len(conditions) > 1:
        return Call("and", tuple(conditions), BOOLEAN)
    return conditions[0] if conditions else None


def filtered(relation: Relation, conditions: Iterable[Expr]) -> Relation:
    """The rows that meet the conditions, too: a Filter that is there already takes them behind its own."""
    added = list(conditions)
    if not added:
        return relation
    if isinstance(relation, Filter):
        there = relation.condition
        sides = there.args if isinstance(there, Call) and there.name == "and" else (there,)
        relation, added = relation.input, [*sides, *added]
    condition = conjunction(added)
    return relation if condition is None else Filter(relation, condition)
