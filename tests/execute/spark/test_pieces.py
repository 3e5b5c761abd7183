"""Sums of pieces over Arrow columns are the exact sums of the row executor, at the limits of every type too."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.execute.expressions.random_cells import random_cell
from tests.strategies import edge_cells
from viewkeeper.delta.deltaplan import Measure, MeasureKind
from viewkeeper.execute.changetable import adder, zero
from viewkeeper.execute.spark.pieces import piece_count, pieces, whole
from viewkeeper.model.arrow import from_cells
from viewkeeper.model.types import BIGINT, DOUBLE, INT, Cell, Type, decimal

NUMBERS = (
    INT,
    BIGINT,
    DOUBLE,
    decimal(1, 0),
    decimal(9, 9),
    decimal(10, 2),
    decimal(18, 0),
    decimal(19, 3),
    decimal(38, 38),
)


def by_pieces(kind: MeasureKind, type: Type, cells: list[Cell], weights: list[int], offset: int = 0) -> Any:
    """The measure by way of Arrow, over arrays that begin `offset` places into their buffers."""
    values = from_cells([None] * offset + cells, type).slice(offset)
    weighted = pa.array(weights, pa.int64())
    found = pieces(kind, type, values, weighted, all_ones=set(weights) == {1})
    assert len(found) == piece_count(kind, type)
    return whole(kind, type, [pc.sum(piece, min_count=0).as_py() for piece in found])


def by_rows(kind: MeasureKind, type: Type, cells: list[Cell], weights: list[int]) -> Any:
    measure = Measure(kind, 0, type)
    total, add = zero(measure), adder(measure)
    for cell, weight in zip(cells, weights, strict=True):
        total = add(total, (cell,), weight)
    return total


def assert_same(left: Any, right: Any, size: float = 0.0) -> None:
    """`size`: what was added up without the signs. What is left where it cancels out depends on the order, and so does
    whether it goes beyond the limits on the way.
    """
    if isinstance(left, list):
        assert left[1:] == right[1:]
        is_within = math.isfinite(size) and math.isfinite(right[0])
        assert math.isclose(left[0], right[0], rel_tol=1e-9, abs_tol=max(1e-9, size * 1e-12)) or not is_within
    else:
        assert type(left) is int
        assert left == right


@given(seed=st.integers(0, 2**32), type=st.sampled_from(NUMBERS), kind=st.sampled_from(MeasureKind), ones=st.booleans())
@example(seed=776, type=DOUBLE, kind=MeasureKind.SUM, ones=True)
@example(seed=55267, type=DOUBLE, kind=MeasureKind.SUM, ones=True)
def test_pieces_sum_up_to_the_measure(seed: int, type: Type, kind: MeasureKind, ones: bool) -> None:
    rng = Random(seed)
    cells = [random_cell(rng, type) for _ in range(rng.randint(0, 30))]
    weights = [1 if ones else rng.choice((1, -1, 3, -1000)) for _ in cells]
    found = by_pieces(kind, type, cells, weights, offset=rng.randint(0, 3))
    floats = [abs(cell) for cell in cells if isinstance(cell, float) and math.isfinite(cell)]
    size = sum(one * one if kind is MeasureKind.SQUARES else one for one in floats) * max(map(abs, weights), default=1)
    assert_same(found, by_rows(kind, type, cells, weights), size)


@pytest.mark.parametrize("type", NUMBERS, ids=str)
@pytest.mark.parametrize("kind", [MeasureKind.SUM, MeasureKind.SQUARES])
def test_a_limit_weighs_as_much_as_a_batch_may(type: Type, kind: MeasureKind) -> None:
    """Each piece has to hold the largest value times the largest weight."""
    for cell in edge_cells(type):
        if isinstance(cell, float) and not abs(cell) < 1e150:
            continue
        weight = (1 << 27) - 1
        assert_same(by_pieces(kind, type, [cell], [weight]), by_rows(kind, type, [cell], [weight]))


def test_whole_numbers_are_summed_beyond_64_and_128_bits() -> None:
    most = 2**63 - 1
    assert by_pieces(MeasureKind.SUM, BIGINT, [most] * 5, [1] * 5) == 5 * most
    assert by_pieces(MeasureKind.SQUARES, BIGINT, [-(2**63)] * 5, [1] * 5) == 5 * 2**126
    nines = 10**38 - 1
    assert by_pieces(MeasureKind.SUM, decimal(38, 0), [nines, nines, -1], [1, 1, -1]) == 2 * nines + 1
    assert by_pieces(MeasureKind.SQUARES, decimal(38, 10), [nines] * 3, [1] * 3) == 3 * nines**2


def test_doubles_that_are_not_finite_are_counted_apart() -> None:
    cells: list[Cell] = [1.5, None, math.nan, math.inf, -math.inf, 1e300]
    assert by_pieces(MeasureKind.SUM, DOUBLE, cells, [2, 1, -1, 3, 4, 0]) == [3.0, -1, 3, 4]
    assert by_pieces(MeasureKind.SQUARES, DOUBLE, cells, [2, 1, -1, 3, 4, 1]) == [4.5, -1, 8, 0]


def test_nothing_sums_up_to_nothing() -> None:
    for type in NUMBERS:
        for kind in MeasureKind:
            assert by_pieces(kind, type, [], []) == zero(Measure(kind, 0, type))
            assert by_pieces(kind, type, [None, None], [1, -1]) == zero(Measure(kind, 0, type))
