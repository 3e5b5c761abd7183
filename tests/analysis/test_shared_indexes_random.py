"""Views that share join indexes stay what they have to be: random ones in one mode, as SQLite has them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.analysis.bounds import Case
from tests.analysis.triples import make_triples, write_some


@settings(max_examples=max(20, settings().max_examples * 3 // 10), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
def test_views_that_share_join_indexes_have_the_rows_of_their_queries(seed: int) -> None:
    rng = Random(seed)
    world = make_triples(rng)
    with TemporaryDirectory() as folder:
        case = Case(Path(folder) / "db", world, rng, note)
        try:
            for _ in range(5):
                _write(case)
                case.check_views()
        finally:
            case.db.close()


def _write(case: Case) -> None:
    with case.db.transaction() as tx:
        for table, key, row in write_some(case.rng, case.world, case.rng.choice([1, 3, 8])):
            case.note(f"{table} {key} {row}")
            if row is None:
                tx.delete(table, key)
            else:
                tx.put(table, {"id": key, **row})
