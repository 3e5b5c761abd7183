"""What the key columns behind those with values are compared with by inequality: one stretch of keys is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from viewkeeper.analysis.conditions import Conditions, RowTest, Test, core
from viewkeeper.analysis.paths import Path
from viewkeeper.plan.access import Beyond, Operand
from viewkeeper.plan.expr import Call, Expr, Parameter

ValueOf: TypeAlias = Callable[[Expr], Operand | None]
"""A value that an expression has in rows that were read before; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """The bounds of the next key column, as those of an Access; `covered` are the conditions that they see to."""

    lower: tuple[Operand, bool] | None = None
    upper: tuple[Operand, bool] | None = None
    starts: Operand | None = None
    beyond: Beyond | None = None
    not_null: bool = False
    covered: frozenset[Expr] = frozenset()


def stretch(path: Path, width: int, among: Conditions, *, is_bounded: bool, found: ValueOf | None = None) -> Stretch:
    """What is said of the key columns behind the first ones; `found` gives what was read before, as a bound.

    A pattern that is given later may not say how a text begins, and is then refused. So it is used only where the
    read is not bounded without it.
    """
    key = path.stored.key
    expr = path.shown[key[width]] if width < len(key) else None
    if expr is None:
        return Stretch()
    lower: tuple[Operand, bool] | None = None
    upper: tuple[Operand, bool] | None = None
    covered: set[Expr] = set()
    present = frozenset(_present(expr, among))
    tests = list(among.tests_of(expr))
    starts: Test | None = next((test for test in tests if test.op in ("starts", "word starts")), None)
    if starts is not None and is_bounded and starts.op == "starts" and isinstance(starts.operands[0], Parameter):
        starts = None
    if starts is not None:
        return Stretch(starts=starts.operands[0], covered=present | {starts.conjunct})
    for test in tests:
        if core(test.subject) != core(expr) and not among.are_equal(test.subject, expr):
            continue
        if test.op in (">", ">=") and lower is None:
            lower = test.operands[0], test.op == ">="
            covered.add(test.conjunct)
        elif test.op in ("<", "<=") and upper is None:
            upper = test.operands[0], test.op == "<="
            covered.add(test.conjunct)
    for op, other, conjunct in among.compared(expr):
        is_lower = op in (">", ">=")
        if found is None or (lower if is_lower else upper) is not None or (operand := found(other)) is None:
            continue
        end = operand, op in (">=", "<=")
        lower, upper = (end, upper) if is_lower else (lower, end)
        covered.add(conjunct)
    for row in among.rows:
        beyond = _beyond(row, path, width, among)
        if beyond is not None:
            return Stretch(lower=lower, upper=upper, beyond=beyond, covered=present | covered | {row.conjunct})
    is_open = lower is None and upper is None
    return Stretch(lower=lower, upper=upper, not_null=is_open and bool(present), covered=present | covered)


def _present(expr: Expr, among: Conditions) -> Iterator[Expr]:
    """The conditions that a key column is not NULL, which any bound sees to."""
    for conjunct in among.other:
        match conjunct:
            case Call("not", (Call("is_null", (subject,), _),), _) if among.are_equal(subject, expr):
                yield conjunct


def _beyond(row: RowTest, path: Path, width: int, among: Conditions) -> Beyond | None:
    """What a row is compared with, if all that compares so is side by side in stored order."""
    stored = path.stored
    places = stored.key[width : width + len(row.subjects)]
    if len(places) < len(row.subjects):
        return None
    sides: set[bool] = set()
    for number, (place, subject, less) in enumerate(zip(places, row.subjects, row.is_less, strict=True)):
        expr = path.shown[place]
        if expr is None or core(expr) not in among.same(subject) or stored.columns[place].type != subject.type:
            return None
        # NULL is less than any value in stored order; that of the first column is left out by itself.
        if less and number and stored.columns[place].nullable:
            return None
        sides.add(less is not stored.descending[width + number])
    if len(sides) > 1:
        return None
    return Beyond(values=row.operands, before=sides.pop(), inclusive=row.inclusive)
