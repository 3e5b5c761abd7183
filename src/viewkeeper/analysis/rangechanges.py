"""Changes of what a query compares by inequality: what would have to be compared by equality instead."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from viewkeeper.analysis.block import Block
from viewkeeper.analysis.change import Change, Place, mapped, place_of, short_name
from viewkeeper.analysis.conditions import INEQUALITIES, Conditions, core
from viewkeeper.analysis.sqltext import quoted, sql
from viewkeeper.model.types import BIGINT, BOOLEAN, INT, TIMESTAMP
from viewkeeper.plan.aggregate import EXTREMES
from viewkeeper.plan.expr import Call, Cast, Expr, Input, Literal, Parameter, inputs, rewrite
from viewkeeper.plan.numbers import arithmetic, is_number
from viewkeeper.sql.statements import Query

HOUR, CLASS = 3_600_000, 10
"""The widths of the epochs and of the classes that are tried."""


def classes(block: Block) -> Iterator[Change]:
    """Rows of groups that are chosen by inequality: those of an hour or of a class instead, which are a group."""
    if block.group is None:
        return
    extreme = bool(block.calls) and all(call.kind in EXTREMES for call in block.calls)
    put = "take the least or greatest of them" if extreme else "add them up"
    for subject in _ranged(block):
        name = quoted(short_name(block, subject.index))
        if subject.type == TIMESTAMP:
            way, written = "hour by hour", f"{name} - ({name} % {HOUR}) = :hour"
        elif is_number(subject.type):
            way, written = "class by class", f"{name} - {name} % {CLASS} = :class"
        else:
            continue
        yield Change(
            text=f"Ask {way}, and {put}: write {written} for what is asked of {name}.",
            query=_instead(place_of(block, subject.index), _in_hour if subject.type == TIMESTAMP else _in_class),
        )


def whole_groups(block: Block) -> Iterator[Change]:
    """Rows of groups that are chosen by inequality of what the groups are computed from: whole groups instead."""
    for subject, values in _ranged(block).items():
        value = next((one for one in values if isinstance(one, Parameter)), None)
        for group in map(core, block.group or ()):
            if value is None or isinstance(group, Input) or set(inputs(group)) != {subject.index}:
                continue
            written = sql(group, lambda column: quoted(short_name(block, column.index)))
            name = quoted(short_name(block, subject.index))
            yield Change(
                text=f"Compare {written} with {value.written} in place of {name}, so that whole groups are chosen.",
                query=_instead(place_of(block, subject.index), partial(_from, value, group)),
            )


def equalities(block: Block) -> Iterator[Change]:
    """Of several columns that are compared with parameters by inequality, one by equality; or one without classes."""
    found = _ranged(block)
    for subject, values in found.items():
        if len(found) == 1 and (block.group is None or subject.type == TIMESTAMP or is_number(subject.type)):
            continue
        value = next((one for one in values if isinstance(one, Parameter)), None)
        if value is not None:
            name = quoted(short_name(block, subject.index))
            reason = ", since rows lie side by side for a range of one column only" if len(found) > 1 else ""
            yield Change(
                text=f"Write {name} = {value.written}{reason}.",
                query=_instead(place_of(block, subject.index), partial(_equal, value)),
            )


def _ranged(block: Block) -> dict[Input, tuple[Literal | Parameter, ...]]:
    """The columns that are compared by inequality, and with what."""
    found: dict[Input, tuple[Literal | Parameter, ...]] = {}
    for test in Conditions(block.conjuncts).tests:
        if test.op in INEQUALITIES and isinstance(test.subject, Input):
            found[test.subject] = (*found.get(test.subject, ()), *test.operands)
    return found


def _in_hour(time: Expr) -> Expr:
    rest = Call("epoch%", (time, Literal(HOUR, BIGINT)), BIGINT)
    return Call("=", (Call("epoch-", (time, rest), TIMESTAMP), Parameter(key="hour", type=TIMESTAMP)), BOOLEAN)


def _in_class(number: Expr) -> Expr:
    start = _number("-", number, _number("%", number, Literal(CLASS, INT)))
    return Call("=", (start, Parameter(key="class", type=start.type)), BOOLEAN)


def _number(operator: str, left: Expr, right: Expr) -> Expr:
    to_left, to_right, result = arithmetic(operator, left.type, right.type)
    args = ((left, to_left), (right, to_right))
    return Call(operator, tuple(one if one.type == to else Cast(one, to) for one, to in args), result)


def _from(value: Parameter, group: Expr, column: Expr) -> Expr:
    return Call(">=", (rewrite(group, lambda _: column), replace(value, type=group.type)), BOOLEAN)


def _equal(value: Expr, column: Expr) -> Expr:
    return Call("=", (column, value if value.type == column.type else Cast(value, column.type)), BOOLEAN)


def _instead(place: Place | None, made: Callable[[Expr], Expr]) -> Callable[[Query], Query]:
    """A query in which one condition stands for all that compare a column with constants by inequality."""

    def changed(query: Query) -> Query:
        told: list[Expr] = []

        def change(expr: Expr, columns: Sequence[Place | None]) -> Expr:
            match expr:
                case Call("and", args):
                    return replace(expr, args=tuple(change(arg, columns) for arg in args))
                case Call(op, (left, right)) if op in INEQUALITIES:
                    subject = core(right) if isinstance(core(left), Literal | Parameter) else core(left)
                    constant = core(left) if subject == core(right) else core(right)
                    if (
                        isinstance(subject, Input)
                        and place is not None
                        and columns[subject.index] == place
                        and isinstance(constant, Literal | Parameter)
                    ):
                        told.append(expr)
                        return made(subject) if len(told) == 1 else Literal(True, BOOLEAN)
            return expr

        return replace(query, plan=mapped(query.plan, change))

    return changed
