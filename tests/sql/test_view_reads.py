"""SELECT of a view by key: keys that descend, may be NULL, and may be hidden in part."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viewkeeper.errors import UnknownColumn, Unsupported
from viewkeeper.model.keycodec import KeyCodec
from viewkeeper.model.schema import Column, Table
from viewkeeper.model.types import DOUBLE, INT, STRING
from viewkeeper.sql.bind import bind
from viewkeeper.sql.parse import parse
from viewkeeper.sql.sources import Source, source_of
from viewkeeper.sql.statements import KeyRange, Select

COLUMNS = (*(Column(name=name, type=INT) for name in "xyz"), Column(name="n", type=STRING))
BY_YX = Source(id=7, name="v", columns=COLUMNS, key=(1, 0), kind="view")
DESCENDING = Source(id=7, name="v", columns=COLUMNS, key=(), kind="view", order=((1, True), (0, False)))
UNORDERED = Source(id=7, name="v", columns=COLUMNS, key=(), kind="view")


def select(text: str, source: Source, params: Any = None) -> Select:
    (parsed,) = parse(text)
    statement = bind(parsed, lambda _: source, params)
    assert isinstance(statement, Select)
    return statement


def ranges(condition: str, source: Source) -> tuple[KeyRange, ...]:
    return select(f"SELECT * FROM v WHERE {condition}", source).where


def test_a_view_is_read_by_its_visible_key() -> None:
    found = select("SELECT n, X AS first FROM V WHERE y = 1 AND x IN (:p, 2) LIMIT 5", BY_YX, {"p": 3})
    assert found == Select(
        table="v",
        columns=(("n", 3), ("first", 0)),
        where=(KeyRange(prefix=(1, 2)), KeyRange(prefix=(1, 3))),
        descending=False,
        limit=5,
    )


def test_a_view_may_be_ordered_by_columns_that_are_not_unique() -> None:
    assert ranges("y = 1", DESCENDING) == (KeyRange(prefix=(1,)),)


def test_points_come_in_stored_order() -> None:
    assert ranges("y IN (1, 3, 2)", DESCENDING) == tuple(KeyRange(prefix=(value,)) for value in (3, 2, 1))


def test_bounds_are_values_also_where_the_key_descends_and_leave_out_null() -> None:
    assert ranges("y > 1 AND y <= 5", DESCENDING) == (
        KeyRange(prefix=(), lower=1, lower_inclusive=False, upper=5, not_null=True),
    )


def test_null_is_asked_for_by_name() -> None:
    assert ranges("y IS NULL", BY_YX) == (KeyRange(prefix=(None,)),)
    assert ranges("y IS NULL AND x > 1", BY_YX) == (
        KeyRange(prefix=(None,), lower=1, lower_inclusive=False, not_null=True),
    )
    assert ranges("y IS NOT NULL", BY_YX) == (KeyRange(prefix=(), not_null=True),)
    assert ranges("y = 1 AND y IS NOT NULL", BY_YX) == (KeyRange(prefix=(1,)),)
    for nothing in ("y = NULL", "y IS NULL AND y = 1", "y IS NULL AND y > 1", "y IS NULL AND y IS NOT NULL"):
        assert ranges(nothing, BY_YX) == ()


def test_a_key_column_that_is_never_null_is_not_tested_for_it() -> None:
    columns = (Column(name="x", type=INT, nullable=False), *COLUMNS[1:])
    source = Source(id=7, name="v", columns=columns, key=(0,), kind="view")
    assert ranges("x > 1", source) == (KeyRange(prefix=(), lower=1, lower_inclusive=False),)
    with pytest.raises(Unsupported, match="IS in WHERE"):
        ranges("x IS NULL", source)


@pytest.mark.parametrize(
    ("order", "descending"),
    [("y DESC, x", False), ("y DESC", False), ("y, x DESC", True), ("y", True), ("y NULLS FIRST", True)],
)
def test_order_by_is_the_stored_order_or_its_reverse(order: str, descending: bool) -> None:
    assert select(f"SELECT * FROM v ORDER BY {order}", DESCENDING).descending is descending


def test_order_by_leaves_out_what_is_null() -> None:
    found = select("SELECT * FROM v WHERE y IS NULL ORDER BY x DESC", BY_YX)
    assert found.descending is True


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("ORDER BY y, x", "other directions than the key's", "Write ORDER BY y DESC, x or ORDER BY y, x DESC"),
        ("ORDER BY x", "another order than the key's", "Write ORDER BY y DESC, x or"),
        ("ORDER BY y DESC NULLS FIRST", "NULLS FIRST in ORDER BY", "Write ORDER BY y DESC"),
        ("WHERE z = 1", 'column "z", which is not in the key,', "Write conditions on (y DESC, x)"),
        ("WHERE x = 1", 'key column "x" without one on "y"', "Write y = …"),
    ],
)
def test_what_the_stored_order_does_not_answer_is_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(Unsupported) as caught:
        select(f"SELECT * FROM v {text}", DESCENDING)
    assert message in str(caught.value)
    assert hint in caught.value.hint


@pytest.mark.parametrize("text", ["WHERE x = 1", "ORDER BY x"])
def test_a_view_without_a_visible_key_is_read_whole(text: str) -> None:
    assert select("SELECT * FROM v", UNORDERED).where == (KeyRange(prefix=()),)
    with pytest.raises(Unsupported) as caught:
        select(f"SELECT * FROM v {text}", UNORDERED)
    assert "in your program" in caught.value.hint or "Read the rows and filter them." in caught.value.hint


def test_an_unknown_column_is_named_with_the_view() -> None:
    with pytest.raises(UnknownColumn, match='column "q" is not in view "v"'):
        select("SELECT q FROM v", BY_YX)


def test_a_table_is_a_source_too() -> None:
    columns = (Column(name="a", type=INT, nullable=False), Column(name="b", type=DOUBLE, nullable=False))
    table = Table(name="t", columns=columns, primary_key=("b", "a"), id=5)
    assert source_of(table) == Source(id=5, name="t", columns=columns, key=(1, 0), kind="table")
    assert source_of(BY_YX) is BY_YX


VALUES = (None, 0, 1, 2)


@st.composite
def _conditions(draw: st.DrawFn) -> tuple[str, Any]:
    """A condition on the first of three columns, and then on the next, with its meaning row by row."""
    texts: list[str] = []
    meanings: list[Any] = []
    for place, name in enumerate("xyz"[: draw(st.integers(0, 3))]):
        value = draw(st.sampled_from(VALUES[1:]))
        kinds: list[tuple[str, Any]] = [
            (f"{name} = {value}", lambda cell, value=value: cell == value),
            (f"{name} IS NULL", lambda cell: cell is None),
            (f"{name} IN ({value}, 1)", lambda cell, value=value: cell in (value, 1)),
            (f"{name} >= {value}", lambda cell, value=value: cell is not None and cell >= value),
            (f"{name} < {value}", lambda cell, value=value: cell is not None and cell < value),
            (f"{name} IS NOT NULL", lambda cell: cell is not None),
        ]
        kind = draw(st.integers(0, 5))
        texts.append(kinds[kind][0])
        meanings.append((place, kinds[kind][1]))
        if kind > 2:
            break
    return " AND ".join(texts), lambda key: all(holds(key[place]) for place, holds in meanings)


def _within(one: KeyRange, key: tuple[Any, ...]) -> bool:
    width = len(one.prefix)
    if key[:width] != one.prefix:
        return False
    cell = key[width] if width < len(key) else None
    if one.not_null and cell is None:
        return False
    if one.lower is not None and (cell is None or cell < one.lower or (cell == one.lower and not one.lower_inclusive)):
        return False
    return not (
        one.upper is not None
        and cell is not None
        and (cell > one.upper or (cell == one.upper and not one.upper_inclusive))
    )


@given(_conditions(), st.tuples(st.booleans(), st.booleans(), st.booleans()))
def test_ranges_find_the_rows_that_the_condition_is_true_for_in_stored_order(
    condition: tuple[str, Any], down: tuple[bool, bool, bool]
) -> None:
    text, holds = condition
    source = Source(id=7, name="v", columns=COLUMNS, key=(), kind="view", order=tuple(enumerate(down)))
    found = select("SELECT * FROM v" + (f" WHERE {text}" if text else ""), source).where
    codec = KeyCodec(range(3), [INT] * 3, down)
    stored = sorted(product(VALUES, repeat=3), key=codec.encode_key)
    read = [key for one in found for key in stored if _within(one, key)]
    assert read == [key for key in stored if holds(key)]
