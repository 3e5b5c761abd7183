"""Random plans that join and unite three small tables, and each other, with heavy reuse of keys and values."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

from tests.execute.plans import aggregates, conditions, linear
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import BIGINT, BOOLEAN, DOUBLE, STRING
from viewkeeper.plan.aggregate import AggregateCall, AggregateKind, result_type
from viewkeeper.plan.expr import Call, Expr, Input, Literal
from viewkeeper.plan.join import Equality, InnerJoin, PartnerJoin, PartnerKind, UnionAll, starts_of
from viewkeeper.plan.relation import Aggregate, Distinct, Field, Filter, Project, Relation, Scan

COLUMNS = (
    Column(name="id", type=BIGINT, nullable=False),
    Column(name="k", type=BIGINT),
    Column(name="m", type=BIGINT),
    Column(name="s", type=STRING),
    Column(name="x", type=DOUBLE),
)
TABLES = (
    Table(name="A", columns=COLUMNS, primary_key=("id",)),
    Table(name="B", columns=COLUMNS, primary_key=("id",)),
    Table(name="C", columns=COLUMNS, primary_key=("k", "id")),
)
DEEPEST = 2


SMALL = st.sampled_from([0, 1, 0, 1, 2, None])
REST = (st.sampled_from(["a", "a", "", None]), st.sampled_from([0.0, 1.0, -0.0, math.nan, None]))
ROWS: dict[str, st.SearchStrategy[tuple[Any, ...]]] = {
    "A": st.tuples(st.integers(0, 3), SMALL, SMALL, *REST),
    "B": st.tuples(st.integers(0, 3), SMALL, SMALL, *REST),
    "C": st.tuples(st.integers(0, 1), st.integers(0, 1), SMALL, *REST),
}
"""Rows by table."""


def scans() -> st.SearchStrategy[Relation]:
    """A table with some of its columns; the ids of tables count from 1."""
    return st.builds(
        _scan, st.integers(1, len(TABLES)), st.lists(st.integers(0, len(COLUMNS) - 1), min_size=2, unique=True)
    )


def _scan(table: int, columns: list[int]) -> Relation:
    fields = tuple(Field(COLUMNS[number].name, COLUMNS[number].type) for number in columns)
    return Scan(table, TABLES[table - 1].name, tuple(columns), fields)


@st.composite
def joinplans(draw: st.DrawFn) -> Relation:
    """A join or union, and perhaps something above it."""
    relation = draw(_many(0))
    if draw(st.integers(0, 3)) == 0:
        relation = draw(linear(relation))
    match draw(st.sampled_from(["rows", "rows", "rows", "distinct", "aggregate"])):
        case "distinct":
            return Distinct(relation)
        case "aggregate":
            return draw(aggregates(relation))
    return relation


@st.composite
def _many(draw: st.DrawFn, depth: int) -> Relation:
    match draw(st.sampled_from(["partner", "partner", "partner", "inner", "inner", "union"])):
        case "inner":
            return draw(_inner([draw(_inputs(depth + 1)) for _ in range(draw(st.integers(2, 4 - depth)))]))
        case "partner":
            return draw(_partner(draw(_inputs(depth + 1)), draw(_inputs(depth + 1))))
    return draw(_union([draw(_inputs(depth + 1)) for _ in range(draw(st.integers(2, 3)))]))


@st.composite
def _inputs(draw: st.DrawFn, depth: int) -> Relation:
    """A table, some of its rows, groups of it, or a join."""
    match draw(st.sampled_from(["scan", "scan", "scan", "filter", "project", "groups", "many"])):
        case "filter":
            scan = draw(scans())
            return Filter(scan, draw(conditions(scan.fields)))
        case "project":
            return draw(_projected(draw(scans())))
        case "groups":
            return draw(_grouped(draw(scans())))
        case "many" if depth < DEEPEST:
            return draw(_many(depth))
    return draw(scans())


@st.composite
def _projected(draw: st.DrawFn, input: Relation) -> Relation:
    """Other columns, so that nothing but a hidden key may tell the rows apart."""
    places = draw(st.lists(st.integers(0, len(input.fields) - 1), min_size=1, max_size=3))
    exprs = tuple(Input(place, input.fields[place].type) for place in places)
    return Project(input, exprs, tuple(f"p{number}" for number in range(len(exprs))))


@st.composite
def _grouped(draw: st.DrawFn, input: Relation) -> Relation:
    """Groups, or DISTINCT; no sum that depends on the order of additions."""
    if draw(st.integers(0, 3)) == 0:
        return Distinct(input)
    places = st.integers(0, len(input.fields) - 1)
    group = tuple(draw(st.lists(places, max_size=2, unique=True)))
    calls = [AggregateCall(AggregateKind.COUNT_ROWS, None, BIGINT)]
    argument = draw(places)
    kind = draw(st.sampled_from([AggregateKind.MIN, AggregateKind.MAX, AggregateKind.SUM, AggregateKind.COUNT]))
    found = result_type(kind, input.fields[argument].type)
    if found is not None and not (kind is AggregateKind.SUM and found == DOUBLE):
        calls.append(AggregateCall(kind, argument, found))
    names = tuple(f"c{number}" for number in range(len(group) + len(calls)))
    return Aggregate(input, group, tuple(calls), names)


@st.composite
def _equality(draw: st.DrawFn, left: tuple[Field, ...], right: tuple[Field, ...], start: int, other: int) -> Equality:
    """Two columns of one type; where there are none, of a constant type. `start` and `other`: where the sides begin."""
    pairs = [
        (one, two) for one, mine in enumerate(left) for two, theirs in enumerate(right) if mine.type == theirs.type
    ]
    if not pairs:
        return _known(left, start), _known(right, other)
    one, two = draw(st.sampled_from(pairs))
    type = left[one].type
    expr: Expr = Input(start + one, type)
    if type == BIGINT and draw(st.integers(0, 5)) == 0:
        expr = Call("+", (expr, Literal(1, BIGINT)), BIGINT)
    return expr, Input(other + two, type)


def _known(fields: tuple[Field, ...], start: int) -> Expr:
    """Whether the first column is NULL: any two inputs can be compared by that."""
    return Call("is_null", (Input(start, fields[0].type),), BOOLEAN)


@st.composite
def _inner(draw: st.DrawFn, inputs: list[Relation]) -> Relation:
    """Each input is equal to one before it; now and then to more than one, so that there are cycles."""
    starts = starts_of(inputs)
    equalities = []
    for number in range(1, len(inputs)):
        for _ in range(draw(st.sampled_from([1, 1, 2]))):
            other = draw(st.integers(0, number - 1))
            pair = draw(_equality(inputs[other].fields, inputs[number].fields, starts[other], starts[number]))
            equalities.append(pair if draw(st.booleans()) else (pair[1], pair[0]))
    return InnerJoin(tuple(inputs), tuple(equalities))


@st.composite
def _partner(draw: st.DrawFn, left: Relation, right: Relation) -> Relation:
    width = len(left.fields)
    equalities = tuple(
        draw(_equality(left.fields, right.fields, 0, width)) for _ in range(draw(st.sampled_from([1, 1, 2])))
    )
    condition: Expr | None = None
    match draw(st.sampled_from(["none", "compared", "compared", "any"])):
        case "compared":
            condition = draw(_compared(left, right))
        case "any":
            condition = draw(conditions((*left.fields, *right.fields)))
    return PartnerJoin(draw(st.sampled_from(PartnerKind)), left, right, equalities, condition)


@st.composite
def _compared(draw: st.DrawFn, left: Relation, right: Relation) -> Expr:
    """A comparison of the two sides, where both have a number."""
    fields = (*left.fields, *right.fields)
    mine, theirs = (
        [place for place, field in enumerate(fields) if field.type == BIGINT and (place < len(left.fields)) is first]
        for first in (True, False)
    )
    if not mine or not theirs:
        return draw(conditions(fields))
    name = draw(st.sampled_from(["<", "<>", ">="]))
    pair = (Input(draw(st.sampled_from(mine)), BIGINT), Input(draw(st.sampled_from(theirs)), BIGINT))
    return Call(name, pair, BOOLEAN)


@st.composite
def _union(draw: st.DrawFn, inputs: list[Relation]) -> Relation:
    """Branches of one shape; NULL where one has no column of some type."""
    types = [field.type for field in inputs[0].fields][:3]
    branches = []
    for input in inputs:
        exprs: list[Expr] = []
        for type in types:
            places = [place for place, field in enumerate(input.fields) if field.type == type]
            exprs.append(Input(draw(st.sampled_from(places)), type) if places else Literal(None, type))
        branches.append(Project(input, tuple(exprs), tuple(f"u{number}" for number in range(len(types)))))
    return UnionAll(tuple(branches))
