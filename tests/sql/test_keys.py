"""WHERE to key ranges, by example; test_keys_random.py has the rule."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tests.sql.tables import Catalog, points, where
from viewkeeper.errors import OutOfRange, TooManyRows
from viewkeeper.sql.statements import KeyRange


@pytest.mark.parametrize(
    ("condition", "prefixes"),
    [
        ("a = 1", [(1,)]),
        ("1 = a", [(1,)]),
        ("a == 1", [(1,)]),
        ("(a = 1) AND ((b = 'x'))", [(1, "x")]),
        ("b = 'x' AND c = 2 AND a = 1", [(1, "x", 2.0)]),
        ("a IN (3, 1, 2, 1)", [(1,), (2,), (3,)]),
        ("a IN (2, 1) AND b IN ('y', 'x')", [(1, "x"), (1, "y"), (2, "x"), (2, "y")]),
        ("a = 1 AND a = 1", [(1,)]),
        ("a = 1 AND a = 2", []),
        ("a IN (1, 2, 3) AND a IN (2, 3, 4)", [(2,), (3,)]),
        ("a IN (1, 2, 3) AND a > 1 AND 3 > a", [(2,)]),
        ("a = 5 AND a BETWEEN 1 AND 4", []),
        ("a = NULL", []),
        ("NULL = a", []),
        ("a IN (NULL, 1)", [(1,)]),
        ("a IN (NULL)", []),
        ("a > NULL", []),
        ("a BETWEEN NULL AND 5", []),
        ("a = 1 AND b < NULL", []),
        ("a > 5 AND a < 5", []),
        ("a >= 5 AND a < 5", []),
        ("a BETWEEN 6 AND 5", []),
        ("a = 1 AND b = 'x' AND c IN (0.0, -0.0, 'NaN', 'NaN')", [(1, "x", 0.0), (1, "x", math.nan)]),
    ],
)
def test_equalities_are_prefixes_in_key_order(condition: str, prefixes: list[tuple[Any, ...]]) -> None:
    # By repr, since NaN is not equal to itself; -0.0 and 0.0 are one key, whichever was written last.
    assert repr(where(condition)).replace("-0.0", "0.0") == repr(points(*prefixes))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a > 1", KeyRange(prefix=(), lower=1, lower_inclusive=False)),
        ("1 < a", KeyRange(prefix=(), lower=1, lower_inclusive=False)),
        ("a >= 1", KeyRange(prefix=(), lower=1)),
        ("1 <= a", KeyRange(prefix=(), lower=1)),
        ("a < 1", KeyRange(prefix=(), upper=1, upper_inclusive=False)),
        ("a <= 1", KeyRange(prefix=(), upper=1)),
        ("1 >= a", KeyRange(prefix=(), upper=1)),
        ("a BETWEEN 1 AND 5", KeyRange(prefix=(), lower=1, upper=5)),
        ("a > 1 AND a >= 2 AND a < 9 AND a <= 9", KeyRange(prefix=(), lower=2, upper=9, upper_inclusive=False)),
        ("a >= 2 AND a > 2 AND a <= 9", KeyRange(prefix=(), lower=2, lower_inclusive=False, upper=9)),
        ("a = 1 AND b >= 'x'", KeyRange(prefix=(1,), lower="x")),
        ("a = 1 AND b = 'x' AND c < 'NaN'", KeyRange(prefix=(1, "x"), upper=math.nan, upper_inclusive=False)),
    ],
)
def test_bounds_are_the_tightest_on_the_next_key_column(condition: str, expected: KeyRange) -> None:
    assert repr(where(condition)) == repr((expected,))


def test_a_range_goes_with_every_prefix() -> None:
    assert where("a IN (2, 1) AND b > 'm'") == (
        KeyRange(prefix=(1,), lower="m", lower_inclusive=False),
        KeyRange(prefix=(2,), lower="m", lower_inclusive=False),
    )


def test_key_order_is_not_column_order() -> None:
    tables = Catalog("CREATE TABLE t (x INT, y INT, z INT, PRIMARY KEY (z, x))")
    assert tables.one("DELETE FROM t WHERE x = 1 AND z = 2").where == points((2, 1))


def test_a_value_outside_the_type_of_its_column_is_refused() -> None:
    with pytest.raises(OutOfRange, match='column "a" of type INT'):
        where("a < 3000000000")


def test_too_many_combinations_of_in_lists_are_refused() -> None:
    lists: dict[str, list[Any]] = {"a": list(range(400)), "b": [str(number) for number in range(251)]}
    with pytest.raises(TooManyRows, match="100,400 key ranges"):
        where("a IN (:a) AND b IN (:b)", lists)
    lists["b"].pop()
    assert len(where("a IN (:a) AND b IN (:b)", lists)) == 100_000
