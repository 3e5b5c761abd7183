"""The bounds are true: random tables, views and queries over rows that crowd on few keys, each run and each counted."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.analysis.asking import ask
from tests.analysis.bounds import Case
from tests.analysis.viewing import add_view
from tests.analysis.worlds import make_world

SEEN: Counter[str] = Counter()


# A seed and not draws: a case draws thousands of times, and each later draw depends on what the analysis said.
@settings(max_examples=max(40, settings().max_examples * 3 // 5), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_answers_operations_rows_and_the_cost_of_writes_stay_within_what_is_said(seed: int) -> None:
    rng = Random(seed)
    world = make_world(rng)
    for number in range(rng.choice([0, 1, 2, 2])):
        add_view(rng, world, f"V{number}")
    with TemporaryDirectory() as folder:
        case = Case(Path(folder) / "db", world, rng, note)
        try:
            case.try_query()
            case.try_query()
            case.try_writes()
            case.check_views()
        finally:
            case.db.close()
    SEEN.update(case.seen)


def test_the_random_cases_have_been_of_every_kind() -> None:
    """Of each level that needs no Spark there are some, most answers have rows, and writes reach views."""
    assert {"SI-0", "SI-1", "SI-2", "unbounded", "writes"} <= SEEN.keys()
    bounded = sum(SEEN[level] for level in ("SI-0", "SI-1", "SI-2"))
    assert SEEN["with rows"] > bounded


@pytest.mark.parametrize(
    "pattern",
    [
        r"LEFT JOIN \w+ b ON .*LEFT JOIN \w+ c ON c\.\w+ = b\.",
        r"EXISTS .*EXISTS",
        r"(EXISTS|IN) \(SELECT .*(\be\d\.\w+ [<>]=? [a-d]\.|\b[a-d]\.\w+ [<>]=? e)",
        r"IN \(SELECT",
        r"(?<!NOT )IN :\w+(?! MAX)\b",
        r"NOT IN :\w+ MAX",
        r"ORDER BY \w+( DESC)?(, \w+( DESC)?)* OFFSET \d\)",
        r"JOIN \(SELECT .* GROUP BY",
        r"\(SELECT DISTINCT",
        r"^SELECT (MIN|MAX)\(\w\.\w+\) AS s0 FROM",
        r"\(SELECT .* HAVING",
        r"\(SELECT .* ROLLUP",
        r"VIEW .* ROLLUP",
        r"VIEW .* GROUPING SETS",
        r"VIEW .* MIN\(.* MAX\(",
        r"VIEW .* COUNT\(DISTINCT",
        r"VIEW .* JOIN .* GROUP BY",
        r"VIEW .* LOCAL AS",
        r"VIEW .* WHERE .* OR ",
        r"VIEW .* WHERE COALESCE",
        r"VIEW .* WHERE (a\.\w+) = \1",
        r"VIEW .* WHERE .* IS NULL",
    ],
)
def test_the_random_texts_are_of_every_kind(texts: list[str], pattern: str) -> None:
    assert sum(bool(re.search(pattern, text)) for text in texts) > 2


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """What a few hundred cases make and ask, always the same."""
    found = []
    for seed in range(400):
        rng = Random(seed)
        world = make_world(rng)
        add_view(rng, world, "V0")
        add_view(rng, world, "V1")
        found += [*world.statements, *(ask(rng, world).ours for _ in range(3))]
    return found
