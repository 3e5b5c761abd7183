"""Operands as keys: of every type, converted, NULL, in lists, as bounds and beginnings, in either direction."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import viewkeeper as vk
from tests.read.moving import store_of
from tests.read.planning import access, cells, found, number, plan, run, scan
from viewkeeper.errors import BadParameter
from viewkeeper.execute.rows.expr import Failures, compile_predicate
from viewkeeper.model.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, Cell, Type, decimal
from viewkeeper.model.values import accept
from viewkeeper.plan.expr import Call, Cast, Input, Literal, Parameter
from viewkeeper.read.operands import beginning, bound, converter

VALUES: dict[str, tuple[str, list[Any]]] = {
    "BOOLEAN": ("BOOLEAN", [False, True]),
    "INT": ("INT", [-(2**31), -1, 0, 2**31 - 1]),
    "BIGINT": ("BIGINT", [-(2**63), -1, 0, 2**63 - 1]),
    "DOUBLE": ("DOUBLE", [-math.inf, -1.5, 0.0, math.inf, math.nan]),
    "DECIMAL": ("DECIMAL(10,2)", [Decimal("-1.25"), Decimal("0.00"), Decimal("99.99")]),
    "WIDE": ("DECIMAL(38,2)", [Decimal(f"-{10**30}.00"), Decimal("0.00"), Decimal(f"{10**35}.00")]),
    "STRING": ("STRING", ["", "a", "a\0b", "é"]),
    "BINARY": ("BINARY", [b"", b"\0", b"a\xff"]),
    "DATE": ("DATE", [date(1, 1, 1), date(2024, 2, 29)]),
    "TIMESTAMP": ("TIMESTAMP", [datetime(1970, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, 1, 2, 3, 4, tzinfo=UTC)]),
}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        yield opened


@pytest.mark.parametrize("name", VALUES)
def test_a_key_of_every_type_is_found_by_equality_and_between_bounds(db: vk.Database, name: str) -> None:
    declared, values = VALUES[name]
    db.execute(f"CREATE TABLE T (k {declared} PRIMARY KEY, v INT)")
    db.execute("CREATE INDEX Down ON T (k DESC)")
    for place, value in enumerate(values):
        db.put("T", {"k": value, "v": place})
    store = store_of(db)
    type = store.catalog().find("T").columns[0].type
    given = [accept(value, type, "k") for value in values]
    k, low, high = (Parameter(key, type) for key in ("k", "low", "high"))
    same = plan(scan(db, "T"), access(db, "T", 0, k))
    between = plan(scan(db, "T"), access(db, "T", 0, lower=(low, False), upper=(high, True)))
    down = plan(scan(db, "Down"), access(db, "Down", 0, lower=(low, True), upper=(high, False)))
    for place, cell in enumerate(given):
        assert [row[1] for row in cells(run(db, same, k=cell))] == [place]
        for other, end in enumerate(given):
            ascending = [row[1] for row in cells(run(db, between, low=cell, high=end))]
            assert ascending == list(range(place + 1, other + 1))
            found = [row[0] for row in cells(run(db, down, "latest", low=cell, high=end))]
            assert repr(found) == repr(values[place:other][::-1])
    for made, values in ((same, {"k": None}), (between, {"low": None, "high": given[0]})):
        rows = run(db, made, **values)
        assert (cells(rows), rows.meta.operations) == ([], 0)


def test_null_lies_between_no_bounds_in_either_direction(db: vk.Database) -> None:
    db.execute("CREATE TABLE T (id INT PRIMARY KEY, v INT)")
    db.execute("CREATE INDEX Up ON T (v)")
    db.execute("CREATE INDEX Down ON T (v DESC)")
    for one, value in enumerate([None, 1, None, 2]):
        db.put("T", {"id": one, "v": value})
    n = number(type=INT)
    for name in ("Up", "Down"):
        below = plan(scan(db, name), access(db, name, 0, upper=(n, True)))
        above = plan(scan(db, name), access(db, name, 0, lower=(n, True)))
        assert sorted(row[0] for row in cells(run(db, below, "latest", n=1))) == [1]
        assert sorted(row[0] for row in cells(run(db, above, "latest", n=1))) == [1, 2]
        same = plan(scan(db, name), access(db, name, 0, n))
        assert cells(run(db, same, "latest", n=None)) == []


def test_a_list_with_the_same_value_twice_is_looked_up_once(db: vk.Database) -> None:
    db.execute("CREATE TABLE T (k DOUBLE PRIMARY KEY, v INT)")
    for one in (0.0, math.nan, 2.0):
        db.put("T", {"k": one, "v": 1})
    places = tuple(Parameter("ks", DOUBLE, place) for place in range(6))
    made = plan(scan(db, "T"), access(db, "T", 0, (*places, Literal(2.0, DOUBLE))))
    rows = run(db, made, ks=[0.0, -0.0, math.nan, float("nan"), None, 2.0])
    assert repr(cells(rows)) == "[(0.0, 1), (nan, 1), (2.0, 1)]"
    assert rows.meta.operations == 3
    db.execute("CREATE INDEX ByBoth ON T (k, v)")
    ranges = plan(scan(db, "ByBoth"), access(db, "ByBoth", 0, places[:3], upper=(Literal(1, INT), True)))
    rows = run(db, ranges, "latest", ks=[math.nan, float("nan"), 2.0])
    assert (len(cells(rows)), rows.meta.operations) == (2, 2)


def test_values_of_another_type_are_converted_and_what_equals_none_costs_nothing(db: vk.Database) -> None:
    db.execute("CREATE TABLE T (k INT PRIMARY KEY, v DOUBLE)")
    for one in range(4):
        db.put("T", {"k": one, "v": one / 2})
    wide = tuple(number("ks", BIGINT, place) for place in range(3))
    rows = run(db, plan(scan(db, "T"), access(db, "T", 0, wide)), ks=[1, 2**40, -(2**62)])
    assert ([row[0] for row in cells(rows)], rows.meta.operations) == ([1], 1)
    # 0.0, 0.5, 1.0 and 1.5, of which two are numbers that a key can be.
    made = plan(scan(db, "T"), access(db, "T", None), access(db, "T", 0, found(0, 1, DOUBLE)))
    rows = run(db, made)
    assert ([row[0] for row in cells(rows)], rows.meta.operations) == ([0, 1], 1 + 2)


NUMBERS = st.one_of(
    st.tuples(st.just(BIGINT), st.sampled_from([-(2**62), -3, -1, 0, 2, 2**31 - 1, 2**31, 2**62])),
    st.tuples(st.just(DOUBLE), st.sampled_from([-math.inf, -1e30, -1.5, -1.0, 0.0, 0.5, 1.0, 2.5, 1e30, math.inf])),
    st.tuples(st.just(DOUBLE), st.just(math.nan)),
    st.tuples(st.just(decimal(12, 3)), st.sampled_from([-1500, -1000, -1, 0, 1, 1999, 2000, 10**11])),
    st.tuples(st.just(TIMESTAMP), st.sampled_from([-1, 0, 1, 86_400_000_000, 86_400_000_001])),
)


@settings(max_examples=500)
@given(
    operand=NUMBERS,
    key=st.sampled_from([(INT, [-2, -1, 0, 1, 2, 3, 2**31 - 1]), (decimal(4, 1), [-15, -10, -1, 0, 5, 20, 9999])]),
    name=st.sampled_from(["=", "<", "<=", ">", ">="]),
)
def test_a_converted_operand_finds_what_a_comparison_in_both_types_would(
    operand: tuple[Type, Any], key: tuple[Type, list[int]], name: str
) -> None:
    source, cell = operand
    target, cells_of_key = key
    if source == TIMESTAMP:
        target, cells_of_key = DATE, [-1, 0, 1, 2]
    common = _common(source, target)
    left, right = Cast(Input(0, target), common), Cast(Literal(cell, source), common)
    holds = compile_predicate(Call(name, (left, right), BOOLEAN))
    wanted = [one for one in cells_of_key if holds((one,), Failures())]
    assert [one for one in cells_of_key if _meets(one, name, source, target, cell)] == wanted


def _common(source: Type, target: Type) -> Type:
    if source in (DOUBLE, TIMESTAMP):
        return source
    return BIGINT if (source, target) == (BIGINT, INT) else decimal(38, 3)


def _meets(one: Any, name: str, source: Type, target: Type, cell: Cell) -> bool:
    """Whether a key is what an operand was made to."""
    if name == "=":
        convert = converter(source, target)
        return (cell if convert is None else convert(cell)) == one
    end = bound(source, target, inclusive=name.endswith("="), is_lower=name[0] == ">")(cell)
    if end is None:
        return False
    made: Any = end[0]
    if made is None or (end[1] and one == made):
        return True
    return one > made if name[0] == ">" else one < made


def test_texts_are_found_by_how_they_begin(db: vk.Database) -> None:
    db.execute("CREATE TABLE T (g INT, k STRING, PRIMARY KEY (g, k))")
    db.execute("CREATE INDEX Down ON T (k DESC)")
    words = ["", "a", "ab", "ab\0", "ab\U0010ffff", "abc", "ac", "a%c", "b"]
    for word in words:
        db.put("T", {"g": 1, "k": word})
    pattern = Parameter("p", STRING)
    up = plan(scan(db, "T"), access(db, "T", 0, Literal(1, INT), starts=pattern))
    down = plan(scan(db, "Down"), access(db, "Down", 0, starts=pattern))
    for like, start in (("ab%", "ab"), ("%", ""), ("a%", "a"), (r"a\%%", "a%"), ("x%", "x")):
        wanted = sorted(word for word in words if word.startswith(start))
        assert [row[1] for row in cells(run(db, up, p=like))] == wanted
        assert [row[0] for row in cells(run(db, down, "latest", p=like))] == wanted[::-1]
    rows = run(db, up, p=None)
    assert (cells(rows), rows.meta.operations) == ([], 0)


@pytest.mark.parametrize("pattern", ["", "abc", "a%b", "a_%", "%a", "%%", "a\\", "\\%"])
def test_a_pattern_that_says_more_than_how_a_text_begins_is_refused(pattern: str) -> None:
    with pytest.raises(BadParameter, match="begins"):
        beginning(pattern)
