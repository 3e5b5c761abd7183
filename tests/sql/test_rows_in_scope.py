"""Names over several sources, and inside of another query."""

from __future__ import annotations

from typing import Any

import pytest
from sqlglot import exp

from viewkeeper.errors import BadDefinition, UnknownColumn, Unsupported
from viewkeeper.model.types import BIGINT, INT
from viewkeeper.plan.expr import Input
from viewkeeper.sql.parse import parse
from viewkeeper.sql.query.columns import Columns, RowColumn
from viewkeeper.sql.query.context import Context


def columns(source: str | None, *names: str, hidden: int = 0) -> Columns:
    return Columns.of(source, [RowColumn(name=name, type=INT) for name in names], [BIGINT] * hidden)


LEFT, RIGHT = columns("l", "id", "x", hidden=1), columns("R", "id", "y")
BOTH = LEFT.beside(RIGHT)


def find(found: Columns, name: str, source: str | None = None) -> int:
    def never(name: str) -> Any:
        raise AssertionError(name)

    (parsed,) = parse("SELECT a FROM t")
    node = exp.Column(this=exp.to_identifier(name), table=exp.to_identifier(source))
    node.this.meta.update(start=7, end=7)
    expr = found.find(node, Context(parsed=parsed, find=never, periodic=False))
    assert isinstance(expr, Input)
    return expr.index


def test_a_name_is_found_without_case_and_a_source_tells_equal_ones_apart() -> None:
    assert [find(BOTH, "X"), find(BOTH, "id", "L"), find(BOTH, "ID", "r"), find(BOTH, "y")] == [1, 0, 3, 4]


def test_a_name_of_several_sources_needs_its_source() -> None:
    with pytest.raises(BadDefinition, match='column "id" is in several sources'):
        find(BOTH, "id")


def test_a_name_of_another_source_is_unknown() -> None:
    with pytest.raises(UnknownColumn, match=r'column "r\.x" is not in "l" and "R"'):
        find(BOTH, "x", "r")
    with pytest.raises(Unsupported, match='the qualifier "other"'):
        find(BOTH, "x", "other")


def test_a_hidden_field_has_a_place_and_no_name() -> None:
    assert (BOTH.width, [one.expr for one in BOTH.spread()]) == (5, [BOTH.input(place) for place in (0, 1, 3, 4)])
    with pytest.raises(UnknownColumn):
        find(BOTH, "", "l")


def test_a_star_is_of_all_sources_or_of_one() -> None:
    assert [one.text for one in BOTH.spread()] == ["l.id", "l.x", "R.id", "R.y"]
    assert [one.text for one in BOTH.spread("L")] == ["l.id", "l.x"]
    assert BOTH.spread("none") == []


def test_inside_of_another_query_a_name_is_first_of_the_inner_one() -> None:
    inside = RIGHT.inside(LEFT)
    assert [find(inside, "id"), find(inside, "y"), find(inside, "x"), find(inside, "id", "l")] == [3, 4, 1, 0]


def test_a_source_of_the_inner_query_hides_one_outside() -> None:
    inside = columns("l", "z").inside(LEFT)
    with pytest.raises(UnknownColumn, match=r'column "l\.id" is not in "l"'):
        find(inside, "id", "l")
    with pytest.raises(Unsupported, match='the column "x" of a source outside'):
        find(inside, "x")
