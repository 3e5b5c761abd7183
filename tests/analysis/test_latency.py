"""Predicted latency: arithmetic over samples that are given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from viewkeeper.analysis.latency import Samples, is_get, latency_of
from viewkeeper.analysis.verdict import UNBOUNDED, Verdict
from viewkeeper.plan.access import Access, AccessKind, QueryPlan
from viewkeeper.plan.relation import Scan

SAMPLES = Samples(query=[100.0], get=[10.0], range=[3.0], row=[0.5])
RELATION = Scan(1, "t", (), ())


def access(kind: AccessKind, operations: int, rows: int, **more: Any) -> Access:
    return Access(kind=kind, object=1, name="t", leaf=None, operations=operations, rows=rows, **more)


def plan(*accesses: Access) -> QueryPlan:
    return QueryPlan(accesses=accesses, relation=RELATION, columns=())


@pytest.mark.parametrize(
    ("accesses", "expected"),
    [
        ((), 100),
        ((access(AccessKind.LOOKUP, 1, 1),), 110),
        ((access(AccessKind.LOOKUP, 5, 5),), 150),
        ((access(AccessKind.INDEX_SCAN, 1, 20),), 100 + 3 + 10),
        ((access(AccessKind.SORTED_INDEX_JOIN, 4, 20),), 100 + 12 + 10),
        ((access(AccessKind.INDEX_SCAN, 1, 50), access(AccessKind.LOOKUP_JOIN, 50, 50)), 100 + 3 + 25 + 500),
    ],
)
def test_without_variance_it_is_the_sum_over_all_reads(accesses: tuple[Access, ...], expected: float) -> None:
    assert latency_of(plan(*accesses), SAMPLES) == (expected, expected)


def test_a_lookup_of_several_rows_under_each_key_is_a_range() -> None:
    assert is_get(access(AccessKind.LOOKUP_JOIN, 10, 10))
    assert not is_get(access(AccessKind.LOOKUP_JOIN, 10, 100))
    assert not is_get(access(AccessKind.LOOKUP, 1, 1, limit=1))
    assert not is_get(access(AccessKind.INDEX_SCAN, 1, 1))


def test_the_median_and_the_99th_percentile_are_those_of_the_samples() -> None:
    samples = replace(SAMPLES, query=[float(number) for number in range(1000)])
    p50, p99 = latency_of(plan(), samples)
    assert p50 == pytest.approx(500, abs=30)
    assert p99 == pytest.approx(990, abs=8)


def test_the_same_samples_give_the_same_figures() -> None:
    samples = replace(SAMPLES, query=[1.0, 2.0, 4.0], row=[0.1, 0.7])
    one = plan(access(AccessKind.INDEX_SCAN, 1, 20))
    assert latency_of(one, samples) == latency_of(one, samples)


def test_a_plan_that_reads_more_is_slower_however_the_time_of_a_query_varies() -> None:
    samples = replace(SAMPLES, query=[1.0, 2.0, 400.0, 9.0], row=[0.1, 0.7])
    found = [latency_of(plan(access(AccessKind.INDEX_SCAN, 1, rows)), samples) for rows in (0, 1, 2, 20)]
    assert found == sorted(found)
    assert [p99 for _, p99 in found] == sorted({p99 for _, p99 in found})


def test_all_operations_of_a_read_are_slow_together() -> None:
    # Drawn one by one, a hundred operations would hardly ever all be slow.
    samples = replace(SAMPLES, query=[0.0], get=[1.0] * 9 + [2.0])
    assert latency_of(plan(access(AccessKind.LOOKUP, 100, 100)), samples) == (100, 200)


@pytest.mark.parametrize(
    ("latency", "slo", "meets"),
    [
        (None, None, None),
        (None, 10.0, None),
        ((1.0, 9.0), 10.0, True),
        ((1.0, 11.0), 10.0, False),
        ((1.0, 9.0), None, None),
    ],
)
def test_the_99th_percentile_is_what_has_to_be_met(
    latency: tuple[float, float] | None, slo: float | None, meets: bool | None
) -> None:
    assert Verdict(level="SI-0", operations_max=1, rows_max=1, latency=latency, slo=slo).meets_slo is meets


def test_what_has_no_bound_meets_nothing() -> None:
    assert Verdict(level=UNBOUNDED, slo=10.0).meets_slo is False
    assert Verdict(level=UNBOUNDED).meets_slo is None
