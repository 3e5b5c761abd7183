"""Names over several sources, as joins will have them."""

from __future__ import annotations

from typing import Any

import pytest
from sqlglot import exp

from viewkeeper.errors import BadDefinition, UnknownColumn, Unsupported
from viewkeeper.model.types import INT
from viewkeeper.plan.relation import Field, Scan
from viewkeeper.sql.parse import parse
from viewkeeper.sql.query.context import Context
from viewkeeper.sql.query.rows import RowColumn, Rows

NAMES = [("l", "id"), ("l", "x"), ("R", "id"), (None, "y")]
ROWS = Rows(
    relation=Scan(1, "t", (0, 1, 2, 3), tuple(Field(name, INT) for _, name in NAMES)),
    columns=tuple((qualifier, RowColumn(name=name, type=INT)) for qualifier, name in NAMES),
)


def place(name: str, qualifier: str | None = None) -> int:
    def never(name: str) -> Any:
        raise AssertionError(name)

    (parsed,) = parse("SELECT a FROM t")
    node = exp.Column(this=exp.to_identifier(name), table=exp.to_identifier(qualifier))
    return ROWS.place(node, Context(parsed=parsed, find=never, periodic=False))


def test_a_name_is_found_without_case_and_a_qualifier_tells_equal_ones_apart() -> None:
    assert [place("X"), place("id", "L"), place("ID", "r"), place("y")] == [1, 0, 2, 3]


def test_a_name_of_several_sources_needs_a_qualifier() -> None:
    with pytest.raises(BadDefinition, match='column "id" is in several sources'):
        place("id")


def test_a_name_of_another_source_is_unknown() -> None:
    with pytest.raises(UnknownColumn, match=r'column "r\.x" is not in "l" and "R"'):
        place("x", "r")
    with pytest.raises(Unsupported, match='the qualifier "other"'):
        place("x", "other")


def test_a_star_is_of_all_sources_or_of_one() -> None:
    assert (ROWS.places(), ROWS.places("L"), ROWS.places("none")) == ([0, 1, 2, 3], [0, 1], [])
