"""A relation over a few rows in memory, compiled once and run as often as a query is.

It means what execute/evaluate.py makes of it. Rows stay in the order in which they came, as far as joins keep it: what
was read in an order need not be sorted again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias, assert_never

from viewkeeper.execute.changetable import normal_double
from viewkeeper.execute.ordering import in_order
from viewkeeper.execute.recompute import grouped_rows
from viewkeeper.execute.rows.expr import Failures, compile_expr, compile_predicate, compile_row
from viewkeeper.execute.windows import window_rows
from viewkeeper.model.picking import picker
from viewkeeper.model.types import Kind, Row
from viewkeeper.model.words import tokens
from viewkeeper.plan.expr import Expr, Input, rewrite
from viewkeeper.plan.join import InnerJoin, PartnerJoin, UnionAll
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Filter, Project, Relation, Scan, Tokens
from viewkeeper.plan.whole import Single, TopN, Window, needs_all
from viewkeeper.read.aggregated import grouper
from viewkeeper.read.hashjoin import inner_join, partner_join

Leaves: TypeAlias = Sequence[Sequence[Row]]
"""By scan, from left to right, rows of all columns of what is scanned, by their ids."""
Run: TypeAlias = Callable[[Leaves], Sequence[Row]]

_UNCOUNTED = Failures()
"""A query does not tell on how many rows an expression failed: it gives NULL there."""


@dataclass(frozen=True, slots=True)
class Part:
    """What gives rows, and where in them each field of the relation is; None if they have just these."""

    run: Run
    places: tuple[int, ...] | None = None

    def over(self, expr: Expr) -> Expr:
        """An expression over the fields as one over the rows."""
        places = self.places
        return expr if places is None else rewrite(expr, lambda field: Input(places[field.index], field.type))

    def picked(self) -> Run:
        """Rows that have just the fields."""
        if self.places is None:
            return self.run
        run, pick = self.run, picker(self.places)
        return lambda leaves: [*map(pick, run(leaves))]


def compiled(relation: Relation) -> Run:
    """A function from the rows of the scans to those of the relation. May be run by several threads at once."""
    return part_of(relation, count()).picked()


def part_of(relation: Relation, numbers: Iterator[int]) -> Part:
    """The same for a part of a relation; `numbers` has those of the scans that are still to come."""
    match relation:
        case Scan(columns=columns):
            number = next(numbers)
            return Part(lambda leaves: leaves[number], columns)
        case Filter(input, condition):
            return _filtered(part_of(input, numbers), condition)
        case Project(input, exprs, _):
            return _projected(part_of(input, numbers), exprs)
        case Expand(input, projections, _):
            part = part_of(input, numbers)
            return _expanded(part.run, [tuple(map(part.over, exprs)) for exprs in projections])
        case Tokens(input, text, _):
            return _tokenized(part_of(input, numbers).picked(), text)
        case Aggregate():
            return _aggregated(relation, part_of(relation.input, numbers).picked())
        case Distinct(input):
            return _distinct(part_of(input, numbers).picked(), input)
        case InnerJoin(inputs, equalities):
            runs = [part_of(input, numbers).picked() for input in inputs]
            return Part(*inner_join([len(input.fields) for input in inputs], runs, equalities))
        case PartnerJoin():
            left = part_of(relation.left, numbers).picked()
            return Part(partner_join(relation, left, part_of(relation.right, numbers).picked()))
        case UnionAll(inputs):
            runs = [part_of(input, numbers).picked() for input in inputs]
            return Part(lambda leaves: [row for run in runs for row in run(leaves)])
        case TopN(input, order, limit, offset):
            end = None if limit is None else offset + limit
            below = part_of(input, numbers).picked()
            return Part(lambda leaves: in_order(below(leaves), order)[offset:end])
        case Single():
            return Part(lambda leaves: [()])
        case Window(input, calls, _):
            below = part_of(input, numbers).picked()
            return Part(lambda leaves: window_rows(list(below(leaves)), calls)[0])
    assert_never(relation)


def _filtered(part: Part, condition: Expr) -> Part:
    run, keep, failures = part.run, compile_predicate(part.over(condition)), _UNCOUNTED
    return Part(lambda leaves: [row for row in run(leaves) if keep(row, failures)], part.places)


def _projected(part: Part, exprs: Sequence[Expr]) -> Part:
    over = [part.over(expr) for expr in exprs]
    shown = [expr.index for expr in over if isinstance(expr, Input)]
    if len(shown) == len(over):
        return Part(part.run, tuple(shown))
    run, compute, failures = part.run, compile_row(over), _UNCOUNTED
    return Part(lambda leaves: [compute(row, failures) for row in run(leaves)])


def _expanded(run: Run, projections: Sequence[Sequence[Expr]]) -> Part:
    computes, failures = [compile_row(exprs) for exprs in projections], _UNCOUNTED
    return Part(lambda leaves: [compute(row, failures) for row in run(leaves) for compute in computes])


def _tokenized(run: Run, text: Expr) -> Part:
    text_of, failures = compile_expr(text), _UNCOUNTED

    def words(row: Row) -> Sequence[str]:
        found = text_of(row, failures)
        return list(tokens(found)) if isinstance(found, str) else ()

    return Part(lambda leaves: [(*row, word) for row in run(leaves) for word in words(row)])


def _distinct(run: Run, input: Relation) -> Part:
    doubles = [place for place, field in enumerate(input.fields) if field.type.kind is Kind.DOUBLE]
    if not doubles:
        return Part(lambda leaves: list(dict.fromkeys(run(leaves))))

    def same(row: Row) -> Row:
        return tuple(normal_double(cell) if isinstance(cell, float) else cell for cell in row)

    return Part(lambda leaves: list(dict.fromkeys(map(same, run(leaves)))))


def _aggregated(relation: Aggregate, run: Run) -> Part:
    if needs_all(relation):
        return Part(lambda leaves: grouped_rows(relation, list(run(leaves)))[0])
    groups = grouper(relation.input.fields, relation)
    return Part(lambda leaves: groups(run(leaves)))
