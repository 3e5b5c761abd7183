"""Random single-table plans over one small table, with heavy reuse of keys and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import BIGINT, BOOLEAN, DOUBLE, INT, STRING, Kind, Type, decimal
from viewkeeper.plan.aggregate import WHOLE, AggregateCall, AggregateKind, result_type
from viewkeeper.plan.expr import Call, Case, Expr, Input, Literal
from viewkeeper.plan.relation import Aggregate, Distinct, Expand, Field, Filter, Project, Relation, Scan, Tokens

MONEY = decimal(10, 2)
COLUMNS = (
    Column(name="id", type=BIGINT, nullable=False),
    Column(name="kind", type=STRING),
    Column(name="n", type=BIGINT),
    Column(name="price", type=MONEY),
    Column(name="x", type=DOUBLE),
    Column(name="text", type=STRING),
)
TABLE = Table(name="Events", columns=COLUMNS, primary_key=("id",))

CELLS: dict[str, st.SearchStrategy[Any]] = {
    "id": st.integers(0, 12),
    "kind": st.sampled_from(["a", "b", "c", "", None]),
    "n": st.sampled_from([None, 0, 1, 2, 3, -1, 2**62, 2**63 - 1, -(2**63)]),
    "price": st.sampled_from([None, 0, 125, 999, -250, 10**10 - 1]),
    "x": st.sampled_from([None, 0.0, -0.0, 0.5, 2.25, -8.0, float("nan"), float("inf"), float("-inf")]),
    "text": st.sampled_from([None, "", "red fish", "Red, red fish!", "blue_fish"]),
}


def rows() -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*(CELLS[column.name] for column in COLUMNS))


def scan(table: int) -> Scan:
    return Scan(table, "Events", (1, 2, 3, 4, 5), tuple(Field(column.name, column.type) for column in COLUMNS[1:]))


@st.composite
def conditions(draw: Callable[..., Any], fields: tuple[Field, ...]) -> Expr:
    kind = draw(st.sampled_from(["null", "compare", "both", "case"]))
    if kind == "both":
        name = draw(st.sampled_from(["and", "or"]))
        return Call(name, (draw(conditions(fields)), draw(conditions(fields))), BOOLEAN)
    numbers = [number for number, field in enumerate(fields) if field.type == BIGINT]
    if kind == "null" or not numbers:
        place = draw(st.integers(0, len(fields) - 1))
        test = Call("is_null", (Input(place, fields[place].type),), BOOLEAN)
        return Call("not", (test,), BOOLEAN) if draw(st.booleans()) else test
    operand: Expr = Input(draw(st.sampled_from(numbers)), BIGINT)
    if kind == "case":
        test = Call("<", (operand, Literal(2, BIGINT)), BOOLEAN)
        operand = Case(((test, Call("+", (operand, Literal(1, BIGINT)), BIGINT)),), Literal(None, BIGINT), BIGINT)
    name = draw(st.sampled_from(["=", "<>", "<", ">="]))
    return Call(name, (operand, Literal(draw(st.integers(-1, 3)), BIGINT)), BOOLEAN)


@st.composite
def numbers(draw: Callable[..., Any], fields: tuple[Field, ...]) -> Expr | None:
    """A BIGINT expression that fails on some rows: division by zero, overflow."""
    places = [number for number, field in enumerate(fields) if field.type == BIGINT]
    if not places:
        return None
    left: Expr = Input(draw(st.sampled_from(places)), BIGINT)
    right: Expr = Input(draw(st.sampled_from(places)), BIGINT)
    return Call(draw(st.sampled_from(["+", "*", "div", "%"])), (left, right), BIGINT)


@st.composite
def aggregates(draw: Callable[..., Any], input: Relation) -> Relation:
    fields = input.fields
    places = st.integers(0, len(fields) - 1)
    group = tuple(draw(st.lists(places, max_size=2, unique=True)))
    calls = []
    for _ in range(draw(st.integers(0 if group else 1, 4))):
        kind = draw(st.sampled_from([kind for kind in AggregateKind if kind not in WHOLE]))
        argument = None if kind is AggregateKind.COUNT_ROWS else draw(places)
        found = result_type(kind, None if argument is None else fields[argument].type)
        if found is not None:
            calls.append(AggregateCall(kind, argument, found))
    if not group and not calls:
        calls.append(AggregateCall(AggregateKind.COUNT_ROWS, None, BIGINT))
    names = tuple(f"c{number}" for number in range(len(group) + len(calls)))
    return Aggregate(input, group, tuple(calls), names)


@st.composite
def linear(draw: Callable[..., Any], input: Relation) -> Relation:
    fields = input.fields
    kind = draw(st.sampled_from(["filter", "project", "expand", "tokens"]))
    if kind == "filter":
        return Filter(input, draw(conditions(fields)))
    if kind == "tokens":
        texts = [number for number, field in enumerate(fields) if field.type == STRING]
        if texts:
            return Tokens(input, Input(draw(st.sampled_from(texts)), STRING), "word")
    chosen = draw(st.lists(st.integers(0, len(fields) - 1), min_size=1, max_size=4, unique=True))
    exprs: list[Expr] = [Input(place, fields[place].type) for place in chosen]
    failing = draw(numbers(fields))
    if failing is not None and draw(st.booleans()):
        exprs.append(failing)
    names = tuple(f"c{number}" for number in range(len(exprs)))
    if kind != "expand":
        return Project(input, tuple(exprs), names)
    second = [Literal(None, expr.type) if place % 2 else expr for place, expr in enumerate(exprs)]
    branches = tuple((*shape, Literal(number, INT)) for number, shape in enumerate([exprs, second]))
    return Expand(input, branches, (*names, "branch"))


@st.composite
def plans(draw: Callable[..., Any], table: int) -> Relation:
    """Up to two linear steps, then perhaps an aggregate or DISTINCT, and that perhaps once more."""
    relation: Relation = scan(table)
    for _ in range(draw(st.integers(1, 2))):
        for _ in range(draw(st.integers(0, 2))):
            relation = draw(linear(relation))
        match draw(st.sampled_from(["rows", "distinct", "aggregate", "aggregate"])):
            case "distinct":
                relation = Distinct(relation)
            case "aggregate":
                relation = draw(aggregates(relation))
    return relation


def is_approximate(type: Type) -> bool:
    return type.kind is Kind.DOUBLE
