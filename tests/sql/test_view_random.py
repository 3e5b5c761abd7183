"""Random SELECTs: their kept text gives the same plan again, and pruning a plan does not change what it computes."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from hypothesis import given

from tests.sql.plan_types import check_plan
from tests.sql.queries import Query, queries
from tests.sql.tables import catalog, view
from viewkeeper.plan.aggregate import AggregateCall
from viewkeeper.plan.expr import Call, Case, Cast, Expr, Input, Literal
from viewkeeper.plan.relation import (
    Aggregate,
    Distinct,
    Expand,
    Filter,
    Project,
    Relation,
    Scan,
    Tokens,
    scans,
)
from viewkeeper.plan.show import show
from viewkeeper.sql.parse import parse
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.prune import prune
from viewkeeper.sql.query.select import bind_top
from viewkeeper.sql.tree import CreateViewTree

TABLES = catalog()


@given(queries())
def test_the_kept_text_of_a_random_view_gives_the_same_plan(query: Query) -> None:
    tables = catalog()
    first = view(query.text, tables)
    for table in ("k", "Items", "Tags"):
        tables.run("; ".join(f"ALTER TABLE {table} ADD COLUMN {name} INT" for name in ("w0", "w1", "g0_0", "g1_0")))
    again = view(first.text, tables)
    assert first.plan is not None
    assert again.plan is not None
    assert show(again.plan) == show(first.plan)
    assert (again.plan, again.visible, again.approximate) == (first.plan, first.visible, first.approximate)


@given(queries())
def test_random_plans_have_no_implicit_conversion(query: Query) -> None:
    plan = view(query.text, TABLES).plan
    assert plan is not None
    check_plan(plan)


@given(queries())
def test_pruning_changes_neither_fields_nor_rows(query: Query) -> None:
    (parsed,) = parse(f"CREATE VIEW v AS {query.text}")
    assert isinstance(parsed.tree, CreateViewTree)
    bound, _ = bind_top(parsed.tree.query, Context(parsed=parsed, find=TABLES.find, periodic=False), {})
    narrow = prune(bound.relation)
    assert narrow.fields == bound.relation.fields
    assert _rows(narrow) == _rows(bound.relation)
    assert prune(narrow) == narrow
    for scan in scans(narrow):
        assert list(scan.columns) == sorted(set(scan.columns))


def test_pruning_leaves_only_the_columns_that_are_used() -> None:
    plan = view("SELECT Name FROM (SELECT Name, Price, Weight FROM Items WHERE Live)").plan
    assert plan is not None
    (scan,) = scans(plan)
    assert [field.name for field in scan.fields] == ["Name", "Live"]


def _rows(relation: Relation) -> list[tuple[Any, ...]]:
    """What a relation computes, with symbols for values: equal where the same thing is computed, and only there."""
    match relation:
        case Scan(_, name, columns, _):
            return [tuple((name, column, row % (column + 2)) for column in columns) for row in range(6)]
        case Filter(input, condition):
            return [row for row in _rows(input) if _holds(_value(condition, row))]
        case Project(input, exprs, _):
            return [tuple(_value(expr, row) for expr in exprs) for row in _rows(input)]
        case Expand(input, projections, _):
            return [tuple(_value(expr, row) for expr in one) for row in _rows(input) for one in projections]
        case Tokens(input, text, _):
            return [(*row, ("word", number, _value(text, row))) for row in _rows(input) for number in range(2)]
        case Aggregate(input, group, calls, _):
            groups: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
            for row in _rows(input):
                groups.setdefault(tuple(row[place] for place in group), []).append(row)
            return [(*key, *(_folded(call, rows) for call in calls)) for key, rows in groups.items()]
        case Distinct(input):
            return list(dict.fromkeys(map(_hashable, _rows(input))))
    raise AssertionError(relation)


def _folded(call: AggregateCall, rows: list[tuple[Any, ...]]) -> Any:
    return (call.kind, tuple(None if call.argument is None else row[call.argument] for row in rows))


def _hashable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(repr(value) for value in row)


def _holds(value: Any) -> bool:
    """Some rows pass and some do not, by what the condition is."""
    return crc32(repr(value).encode()) % 3 > 0


def _value(expr: Expr, row: tuple[Any, ...]) -> Any:
    match expr:
        case Input(index, _):
            return row[index]
        case Literal(value, type):
            return (repr(value), str(type))
        case Call(name, args, _):
            return (name, tuple(_value(arg, row) for arg in args))
        case Cast(arg, type):
            return (str(type), _value(arg, row))
        case Case(branches, otherwise, _):
            return (
                "case",
                tuple((_value(condition, row), _value(result, row)) for condition, result in branches),
                _value(otherwise, row),
            )
