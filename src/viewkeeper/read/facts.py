"""Facts about rows: an expression over their columns has to have one value.

What such an expression reads may be missing, on the outer side of a join; it is NULL then, which equals nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from viewkeeper.execute.rows.expr import Failures, compile_expr
from viewkeeper.model.types import Cell, Type
from viewkeeper.plan.casts import keeps_all
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal, inputs, rewrite, substitute
from viewkeeper.plan.join import Equality


@dataclass(frozen=True, slots=True)
class Fact:
    """`expr`, which is NULL where all that it reads is NULL, has to equal `value`; None if a value is only supposed.

    `origin` tells facts that follow from one another from the rest.
    """

    expr: Expr
    value: Literal | None
    origin: object

    def about(self, expr: Expr) -> Fact:
        """The same of another expression; of a conversion, as a fact about what is converted.

        The value is NULL, which equals nothing, where no value becomes that by the conversion.
        """
        value = self.value
        while isinstance(expr, Cast):
            source = expr.arg.type
            if value is not None:
                before = converted(value.value, value.type, source)
                kept = converted(before, source, value.type) == value.value
                value = Literal(before if kept else None, source)
            expr = expr.arg
        return replace(self, expr=expr, value=value)


def facts_in(condition: Expr) -> Iterator[Fact]:
    """What a condition says by equality with constants, on its own or beside others."""
    match condition:
        case Call("and", args, _):
            for arg in args:
                yield from facts_in(arg)
        case Call("=" | "in", (expr, Literal() as value), _) | Call("=", (Literal() as value, expr), _):
            if is_strict(expr):
                yield Fact(expr, value, condition).about(expr)


def is_strict(expr: Expr) -> bool:
    """Whether an expression says which value a column has, and is NULL where all columns are."""
    match expr:
        case Input():
            return True
        case Cast(arg, type):
            return keeps_all(arg.type, type) and is_strict(arg)
        case Call("coalesce", args, _):
            return all(map(is_strict, args))
    return False


def converted(value: Cell, source: Type, target: Type) -> Cell:
    """A value converted; None if it cannot be."""
    return compile_expr(Cast(Literal(value, source), target))((), Failures())


def facts_below(facts: Sequence[Fact], exprs: Sequence[Expr]) -> list[Fact]:
    """Facts about what is computed as facts about what it is computed from."""
    found = ((fact, substitute(fact.expr, tuple(exprs))) for fact in facts)
    return [fact.about(expr) for fact, expr in found if is_strict(expr)]


def facts_above(facts: Sequence[Fact], exprs: Sequence[Expr]) -> list[Fact]:
    """Facts as facts about what a projection shows, as far as it shows what they are about."""
    found = ((fact, over(fact.expr, exprs)) for fact in facts)
    return [replace(fact, expr=expr) for fact, expr in found if expr is not None]


def over(expr: Expr, exprs: Sequence[Expr]) -> Expr | None:
    """An expression over what a projection shows; None if something that it reads is not shown."""
    places = {shown.index: place for place, shown in reversed(list(enumerate(exprs))) if isinstance(shown, Input)}
    if any(place not in places for place in inputs(expr)):
        return None
    return rewrite(expr, lambda column: Input(places[column.index], column.type))


def closed(facts: Sequence[Fact], implied: Sequence[Equality]) -> list[Fact]:
    """Facts and all that follows from them by pairs of which the second has the value of the first."""
    known = dict.fromkeys(facts)
    pending = list(known)
    while pending:
        fact = pending.pop()
        for one, other in implied:
            same = _as(fact, one)
            if same is not None and is_strict(other) and (found := same.about(other)) not in known:
                known[found] = None
                pending.append(found)
    return list(known)


def across(facts: Sequence[Fact], equalities: Sequence[Equality]) -> list[Fact]:
    """Facts and what follows from them by one equality."""
    found = dict.fromkeys(facts)
    for fact in facts:
        for pair in equalities:
            for one, other in (pair, pair[::-1]):
                same = _as(fact, one)
                if same is not None and is_strict(other):
                    found[same.about(other)] = None
            if _choices(fact.expr) == [*_choices(pair[0]), *_choices(pair[1])]:
                # What USING makes of a FULL join: whichever side is there has the value.
                found.update((fact.about(side), None) for side in pair if is_strict(side))
    return list(found)


def _as(fact: Fact, expr: Expr) -> Fact | None:
    """A fact as one about an expression, if that is what it is about, or a conversion of it."""
    if fact.expr == expr:
        return fact
    if not isinstance(expr, Cast) or not is_strict(expr):
        return None
    inner = _as(fact, expr.arg)
    if inner is None:
        return None
    value = inner.value
    if value is not None:
        value = Literal(converted(value.value, value.type, expr.type), expr.type)
    return replace(fact, expr=expr, value=value)


def _choices(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.name == "coalesce":
        return [choice for arg in expr.args for choice in _choices(arg)]
    return [expr]


def within(facts: Sequence[Fact], start: int, end: int) -> list[Fact]:
    """The facts about one side of a join, whose fields these are."""
    return shifted((fact for fact in facts if reads(fact, start, end)), -start)


def shifted(facts: Iterable[Fact], by: int) -> list[Fact]:
    return [replace(fact, expr=moved(fact.expr, by)) for fact in facts]


def moved(expr: Expr, by: int) -> Expr:
    return rewrite(expr, lambda column: Input(column.index + by, column.type))


def reads(fact: Fact, start: int, end: int) -> bool:
    return all(start <= place < end for place in inputs(fact.expr))
