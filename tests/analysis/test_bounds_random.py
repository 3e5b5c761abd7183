"""The bounds are true: random tables, views and queries over rows that crowd on few keys, each run and each counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.analysis.bounds import Case
from tests.analysis.worlds import add_view, make_world

SEEN: Counter[str] = Counter()


# A seed and not draws: a case draws thousands of times, and each later draw depends on what the analysis said.
@settings(max_examples=max(40, settings().max_examples * 3 // 5), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_answers_operations_rows_and_the_cost_of_writes_stay_within_what_is_said(seed: int) -> None:
    rng = Random(seed)
    world = make_world(rng)
    for number in range(rng.choice([0, 1, 2])):
        add_view(rng, world, f"V{number}")
    with TemporaryDirectory() as folder:
        case = Case(Path(folder) / "db", world, rng, note)
        try:
            case.try_query()
            case.try_query()
            case.try_writes()
        finally:
            case.db.close()
    SEEN.update(case.seen)


def test_the_random_cases_have_been_of_every_kind() -> None:
    """Of each level that needs no Spark there are some, most answers have rows, and writes reach views."""
    assert {"SI-0", "SI-1", "SI-2", "unbounded", "writes"} <= {kind for kind, count in SEEN.items() if count > 2}
    bounded = sum(SEEN[level] for level in ("SI-0", "SI-1", "SI-2"))
    assert SEEN["with rows"] > bounded
