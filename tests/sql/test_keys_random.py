"""Random conditions over random keys: the ranges find what the condition, evaluated row by row, is true for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.sql.tables import Catalog
from viewkeeper.model.keycodec import KeyCodec, prefix_end, sortable_double
from viewkeeper.model.schema import Table
from viewkeeper.model.types import Cell, Kind, Row
from viewkeeper.model.values import present
from viewkeeper.sql.statements import KeyRange

DOMAINS: dict[str, tuple[Any, ...]] = {
    "INT": (-2, -1, 0, 1, 2),
    "STRING": ("", "\0", "a", "aa", "b", "é"),
    "DOUBLE": (float("-inf"), -1.5, -0.0, 0.0, 2.5, float("nan")),
    "BOOLEAN": (False, True),
    "DECIMAL(4,2)": (-150, -1, 0, 1, 9999),
    "DATE": (-1, 0, 1),
    "BINARY": (b"", b"\0", b"\0\xff", b"\xff"),
}
"""Cells of each type, few enough that conditions meet keys."""

OPERATORS = ("=", "<", "<=", ">", ">=")


@dataclass(frozen=True)
class Comparison:
    """One comparison: `column` is its place in the key."""

    column: int
    operator: str
    values: tuple[Cell, ...]
    flipped: bool = False


def _order(cell: Any) -> Any:
    return sortable_double(cell) if isinstance(cell, float) else cell


def _holds(test: Comparison, key: Row) -> bool:
    """SQL's meaning, written out: NULL is never true; NaN is NaN and above all; -0.0 is 0.0."""
    cell = _order(key[test.column])
    values = [None if value is None else _order(value) for value in test.values]
    if test.operator == "IN":
        return any(value is not None and value == cell for value in values)
    if None in values:
        return False
    if test.operator == "BETWEEN":
        return bool(values[0] <= cell <= values[1])
    value = values[0]
    meaning = {"=": cell == value, "<": cell < value, "<=": cell <= value, ">": cell > value, ">=": cell >= value}
    return bool(meaning[test.operator])


def _found(ranges: tuple[KeyRange, ...], codec: KeyCodec, code: bytes) -> list[int]:
    """Which of the ranges hold an encoded key, decided on bytes alone."""
    holding = []
    for number, one in enumerate(ranges):
        prefix = codec.encode_key(one.prefix)
        if not code.startswith(prefix):
            continue
        if one.lower is not None:
            lower = codec.encode_key((*one.prefix, one.lower))
            begins = code.startswith(lower)
            if not (one.lower_inclusive if begins else code > lower):
                continue
        if one.upper is not None:
            upper = codec.encode_key((*one.prefix, one.upper))
            begins = code.startswith(upper)
            if not (one.upper_inclusive if begins else code < upper):
                continue
        holding.append(number)
    return holding


@st.composite
def _cases(draw: st.DrawFn) -> tuple[str, list[Comparison], list[Row]]:
    types = draw(st.lists(st.sampled_from(sorted(DOMAINS)), min_size=1, max_size=3))
    columns = ", ".join(f"c{number} {type}" for number, type in enumerate(types))
    key = ", ".join(f"c{number}" for number in range(len(types)))
    create = f"CREATE TABLE t (other INT, {columns}, PRIMARY KEY ({key}))"
    keys = draw(st.lists(st.tuples(*(st.sampled_from(DOMAINS[type]) for type in types)), max_size=12))
    pinned = draw(st.integers(0, len(types)))
    tests: list[Comparison] = []
    for column in range(min(pinned + 1, len(types))):
        # NULL empties the whole condition, so it is drawn seldom.
        domain = DOMAINS[types[column]]
        values = st.sampled_from(domain if draw(st.integers(0, 9)) else (*domain, None))
        points = [
            st.builds(Comparison, st.just(column), st.just("="), st.tuples(values), st.booleans()),
            st.builds(Comparison, st.just(column), st.just("IN"), st.lists(values, min_size=1, max_size=4).map(tuple)),
        ]
        ranges = [
            st.builds(Comparison, st.just(column), st.sampled_from(OPERATORS[1:]), st.tuples(values), st.booleans()),
            st.builds(Comparison, st.just(column), st.just("BETWEEN"), st.tuples(values, values)),
        ]
        if column < pinned:
            tests.append(draw(st.one_of(points)))
            tests += draw(st.lists(st.one_of(*points, *ranges), max_size=2))
        else:
            tests += draw(st.lists(st.one_of(ranges), max_size=3))
    return create, draw(st.permutations(tests)), keys


def _written(test: Comparison, table: Table, params: list[Any]) -> str:
    """A test as SQL; its values go into `params`."""
    column = table.columns[table.key_ids[test.column]]

    def mark(cell: Cell) -> str:
        params.append(present(cell, column.type))
        return "?"

    if test.operator == "IN":
        return f"{column.name} IN ({', '.join(map(mark, test.values))})"
    if test.operator == "BETWEEN":
        return f"{column.name} BETWEEN {mark(test.values[0])} AND {mark(test.values[1])}"
    if test.flipped:
        mirrored = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}[test.operator]
        return f"{mark(test.values[0])} {mirrored} {column.name}"
    return f"{column.name} {test.operator} {mark(test.values[0])}"


@given(_cases())
def test_ranges_find_exactly_the_keys_that_the_condition_is_true_for(
    case: tuple[str, list[Comparison], list[Row]],
) -> None:
    create, tests, keys = case
    tables = Catalog(create)
    table = tables.find("t")
    params: list[Any] = []
    condition = " AND ".join(_written(test, table, params) for test in tests)
    ranges = tables.one("SELECT * FROM t" + (f" WHERE {condition}" if tests else ""), params).where
    codec = KeyCodec(range(len(table.key_ids)), [table.columns[number].type for number in table.key_ids])
    for key in keys:
        holding = _found(ranges, codec, codec.encode_key(key))
        assert len(holding) == all(_holds(test, key) for test in tests), (key, condition, params)
    _check_order(ranges, codec)


def _check_order(ranges: tuple[KeyRange, ...], codec: KeyCodec) -> None:
    """Each range ends before the next begins."""
    starts = [codec.encode_key((*one.prefix, one.lower) if one.lower is not None else one.prefix) for one in ranges]
    assert starts == sorted(starts)
    for one, following in zip(ranges, starts[1:], strict=False):
        end = prefix_end(codec.encode_key(one.prefix))
        assert end is not None
        assert end <= following


def test_every_kind_of_key_is_among_the_random_ones() -> None:
    kinds = {type.partition("(")[0] for type in DOMAINS}
    assert kinds == {str(kind) for kind in Kind} - {"BIGINT", "TIMESTAMP"}
