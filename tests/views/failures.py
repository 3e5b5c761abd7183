"""How many rows of a view fail, by the oracle: what its `errors` has to say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import assert_never

from tests.oracle import Cells, evaluate, grouped, hashable, value, words
from viewkeeper.plan.aggregate import AggregateKind
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens

Tables = Callable[[Scan], Iterable[Cells]]


@dataclass
class Traced:
    """Rows, each with the number of the row that it was made from: one of the source, or of the last aggregate.

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
    """The rows of the source, and of each aggregate, on which an expression up to the next aggregate fails.

    And the rows of each aggregate whose sums do not fit.
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
        case _:
            assert_never(relation)
    return traced


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
