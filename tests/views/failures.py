"""How many rows of a view fail, by the oracle: what its `errors` has to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from tests.oracle import Cells, combined, equal, evaluate, grouped, hashable, partnered, value, words
from viewkeeper.plan.aggregate import AggregateKind
from viewkeeper.plan.join import Equality, InnerJoin, PartnerJoin, UnionAll, inputs_read, starts_of
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens

Tables = Callable[[Scan], Iterable[Cells]]


@dataclass
class Traced:
    """Rows, each with the number of the row that it was made from: one of a source, of an aggregate or of a join.

    `failed` are the numbers of rows on which something failed since; `errors` is what failed before.
    """

    rows: list[tuple[int, Cells]]
    errors: int = 0
    failed: set[int] = field(default_factory=set)

    def value(self, expr: object, number: int, row: Cells) -> object:
        return value(expr, row, lambda: self.failed.add(number))  # type: ignore[arg-type]

    def project(self, exprs: Iterable[object], number: int, row: Cells) -> Cells:
        return tuple([self.value(expr, number, row) for expr in exprs])


def failing(relation: Relation, tables: Tables) -> int:
    """The rows of sources, aggregates and joins on which an expression up to the next aggregate or join fails.

    What a join compares is counted with the rows of its inputs, and its further condition with the pairs that are
    equal. And the rows of each aggregate whose sums do not fit.
    """
    traced = _trace(relation, tables)
    return traced.errors + len(traced.failed)


def _trace(relation: Relation, tables: Tables) -> Traced:
    match relation:
        case Scan():
            return Traced(list(enumerate(evaluate(relation, tables))))
        case Filter(input, condition):
            traced = _trace(input, tables)
            traced.rows = [one for one in traced.rows if traced.value(condition, *one) is True]
        case Project(input, exprs, _):
            traced = _trace(input, tables)
            traced.rows = [(number, traced.project(exprs, number, row)) for number, row in traced.rows]
        case Expand(input, projections, _):
            traced = _trace(input, tables)
            traced.rows = [
                (number, traced.project(exprs, number, row)) for number, row in traced.rows for exprs in projections
            ]
        case Tokens(input, text, _):
            traced = _trace(input, tables)
            traced.rows = [
                (number, (*row, word))
                for number, row in traced.rows
                for word in words(traced.value(text, number, row))  # type: ignore[arg-type]
            ]
        case Distinct(input):
            below = _trace(input, tables)
            different = list({hashable(row): row for _, row in below.rows}.values())
            return Traced(list(enumerate(different)), below.errors + len(below.failed))
        case Aggregate(input, _, _, _):
            below = _trace(input, tables)
            groups = grouped([row for _, row in below.rows], relation)
            errors = below.errors + len(below.failed) + _overflows(relation, [row for _, row in below.rows])
            return Traced(list(enumerate(groups)), errors)
        case InnerJoin(parts, equalities):
            sides = [_trace(part, tables) for part in parts]
            errors = _compared(sides, parts, equalities)
            return Traced(list(enumerate(combined([_rows(side) for side in sides], equalities))), errors)
        case PartnerJoin(_, left, right, equalities):
            sides = [_trace(left, tables), _trace(right, tables)]
            rows = partnered(_rows(sides[0]), _rows(sides[1]), relation)
            errors = _compared(sides, (left, right), equalities)
            return Traced(list(enumerate(rows)), errors + _failing_pairs(relation, *map(_rows, sides)))
        case UnionAll(parts):
            return _united([_trace(part, tables) for part in parts])
        case _:
            assert_never(relation)
    return traced


def _rows(traced: Traced) -> list[Cells]:
    return [row for _, row in traced.rows]


def _compared(sides: list[Traced], parts: Sequence[Relation], equalities: Sequence[Equality]) -> int:
    """What fails below a join and in what it compares."""
    starts = starts_of(parts)
    for place, side in enumerate(sides):
        mine = [expr for pair in equalities for expr in pair if inputs_read(expr, starts) == {place}]
        for number, row in side.rows:
            around = (*[None] * starts[place], *row, *[None] * (starts[-1] - starts[place + 1]))
            side.project(mine, number, around)
    return sum(side.errors + len(side.failed) for side in sides)


def _failing_pairs(join: PartnerJoin, left: list[Cells], right: list[Cells]) -> int:
    pairs = [(*one, *other) for one in left for other in right if equal(join.equalities, (*one, *other))]
    traced = Traced(list(enumerate(pairs)))
    for number, row in traced.rows:
        traced.project([] if join.condition is None else [join.condition], number, row)
    return len(traced.failed)


def _united(parts: list[Traced]) -> Traced:
    whole = Traced([])
    for branch, part in enumerate(parts):
        whole.rows += [(number * len(parts) + branch, row) for number, row in part.rows]
        whole.failed |= {number * len(parts) + branch for number in part.failed}
        whole.errors += part.errors
    return whole


def _overflows(relation: Aggregate, rows: list[Cells]) -> int:
    """Groups that have something to add up, and no sum."""
    sums = [
        (len(relation.group) + place, call.argument)
        for place, call in enumerate(relation.calls)
        if call.kind is AggregateKind.SUM
    ]
    full = {
        (hashable(tuple(row[column] for column in relation.group)), argument)
        for row in rows
        for _, argument in sums
        if argument is not None and row[argument] is not None
    }
    width = len(relation.group)
    return sum(
        any(group[place] is None and (hashable(group[:width]), argument) in full for place, argument in sums)
        for group in grouped(rows, relation)
    )
