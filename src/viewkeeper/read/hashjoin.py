"""Joins of rows in memory: the rows of one side by what they are compared by, looked up for each row of the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, TypeAlias

from viewkeeper.execute.changetable import normal_double
from viewkeeper.execute.rows.expr import Failures, compile_expr, compile_predicate, compile_row
from viewkeeper.model.types import Kind, Row
from viewkeeper.plan.expr import Expr, Input, rewrite
from viewkeeper.plan.join import Equality, PartnerJoin, PartnerKind, inputs_read

Run: TypeAlias = Callable[[Any], Sequence[Row]]
"""From the rows of the scans to those of one side."""
Key: TypeAlias = Callable[[Row], Any]
"""What rows are compared by; None if that is NULL, or one of several is."""

_UNCOUNTED = Failures()


def key_of(exprs: Sequence[Expr]) -> Key:
    """What several expressions give for a row, equal where SQL has it equal: NaN is NaN, and -0.0 is 0.0."""
    has_doubles = any(expr.type.kind is Kind.DOUBLE for expr in exprs)
    if len(exprs) == 1 and not has_doubles:
        (only,) = exprs
        if isinstance(only, Input):
            return itemgetter(only.index)
        compute_one = compile_expr(only)
        return lambda row: compute_one(row, _UNCOUNTED)
    compute = compile_row(exprs)

    def key(row: Row) -> Any:
        cells = compute(row, _UNCOUNTED)
        if None in cells:
            return None
        return tuple(map(_same, cells)) if has_doubles else cells

    return key


def _same(cell: Any) -> Any:
    return normal_double(cell) if isinstance(cell, float) else cell


def by_key(rows: Sequence[Row], key: Key) -> dict[Any, list[Row]]:
    """Rows by what they are compared by; NULL equals nothing."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        cells = key(row)
        if cells is not None:
            found.setdefault(cells, []).append(row)
    return found


def inner_join(widths: Sequence[int], runs: Sequence[Run], equalities: Sequence[Equality]) -> tuple[Run, Any]:
    """The rows of an inner join, and where in them its fields are; given the widths of the inputs."""
    starts = [sum(widths[:number]) for number in range(len(widths) + 1)]
    ends = [*(inputs_read(one, starts) | inputs_read(other, starts) for one, other in equalities)]
    joined, places = [0], list(range(widths[0]))
    steps: list[tuple[Run, Key, Key]] = []
    while len(joined) < len(widths):
        # Any that is linked will do: all are few.
        number = next(
            number
            for number in range(len(widths))
            if number not in joined and any(number in pair and pair & {*joined} for pair in ends)
        )
        left, right = _linked(number, joined, starts, equalities)
        where = {field: place for place, field in enumerate(places)}
        steps.append(
            (
                runs[number],
                key_of([_moved(expr, where) for expr in left]),
                key_of(
                    [_moved(expr, {starts[number] + place: place for place in range(widths[number])}) for expr in right]
                ),
            )
        )
        joined.append(number)
        places += range(starts[number], starts[number + 1])
    first = runs[0]

    def run(leaves: Any) -> Sequence[Row]:
        rows = first(leaves)
        for other, key, their_key in steps:
            found = by_key(other(leaves), their_key).get
            rows = [row + partner for row in rows for partner in found(key(row), ())]
        return rows

    if joined == sorted(joined):
        return run, None
    order = {field: place for place, field in enumerate(places)}
    return run, tuple(order[field] for field in range(starts[-1]))


def _linked(
    number: int, joined: Sequence[int], starts: Sequence[int], equalities: Sequence[Equality]
) -> tuple[list[Expr], list[Expr]]:
    """What an input is found by: expressions over those that were joined before, and its own."""
    left, right = [], []
    for pair in equalities:
        for one, other in (pair, pair[::-1]):
            (mine,), (theirs,) = inputs_read(other, starts), inputs_read(one, starts)
            if mine == number and theirs in joined:
                left.append(one)
                right.append(other)
    return left, right


def _moved(expr: Expr, where: Any) -> Expr:
    return rewrite(expr, lambda field: Input(where[field.index], field.type))


def partner_join(relation: PartnerJoin, left: Run, right: Run) -> Run:
    """The rows of a join for which it matters whether a row has a partner."""
    width, other_width = len(relation.left.fields), len(relation.right.fields)
    key = key_of([one for one, _ in relation.equalities])
    their_key = key_of(
        [rewrite(one, lambda field: Input(field.index - width, field.type)) for _, one in relation.equalities]
    )
    matches = None if relation.condition is None else compile_predicate(relation.condition)
    nothing: list[Row] = []

    def partners(row: Row, found: dict[Any, list[Row]]) -> list[Row]:
        """The rows of the other side that are partners of a row, which come in pairs with it."""
        others = found.get(key(row), nothing)
        if matches is None or not others:
            return others
        return [other for other in others if matches(row + other, _UNCOUNTED)]

    if not relation.kind.shows_pairs:
        wanted = relation.kind is PartnerKind.SEMI

        def chosen(leaves: Any) -> Sequence[Row]:
            rows = left(leaves)
            found = by_key(right(leaves), their_key)
            return [row for row in rows if bool(partners(row, found)) is wanted]

        return chosen
    alone: tuple[Row, ...] = ((None,) * other_width,)
    before: Row = (None,) * width
    is_full = relation.kind is PartnerKind.FULL

    def paired(leaves: Any) -> Sequence[Row]:
        rows, others = left(leaves), right(leaves)
        found = by_key(others, their_key)
        if not is_full:
            return [row + other for row in rows for other in partners(row, found) or alone]
        made: list[Row] = []
        met: set[int] = set()
        for row in rows:
            theirs = partners(row, found)
            # Rows that are equal are partners of the same rows, so it does no harm if two are one object.
            met.update(map(id, theirs))
            made += [row + other for other in theirs or alone]
        return [*made, *(before + other for other in others if id(other) not in met)]

    return paired
