"""Joins and unions by the row executor against the oracle: after every batch, however the log is split."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.execute.driving import View, Write, key_of, write
from tests.execute.joinplans import ROWS, TABLES, joinplans
from viewkeeper.plan.relation import Relation
from viewkeeper.store.registry import close_store, open_store


@st.composite
def histories(draw: st.DrawFn) -> list[list[Write]]:
    """A first transaction that fills the tables, and some that change, move and delete rows, or bring them back."""
    found: list[list[Write]] = [
        [("put", name, row) for name, rows in ROWS.items() for row in draw(st.lists(rows, min_size=2, max_size=6))]
    ]
    for _ in range(draw(st.integers(1, 5))):
        tables = draw(st.lists(st.sampled_from(sorted(ROWS)), min_size=1, max_size=6))
        found.append([(draw(st.sampled_from(["put", "delete"])), name, draw(ROWS[name])) for name in tables])
    return found


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(relation=joinplans(), history=histories(), split=st.integers(1, 3), has_key=st.booleans())
def test_join_is_its_select_after_every_batch(
    relation: Relation, history: list[list[Write]], split: int, has_key: bool
) -> None:
    """Also over inputs of which nothing is known that would tell their rows apart."""
    folder = Path(tempfile.mkdtemp())
    store = open_store(folder / "db", durability="os")
    try:
        for table in TABLES:
            store.create_table(table)
        view = View(store, relation, key_of(TABLES) if has_key else lambda _: None)
        for number, transaction in enumerate(history, 1):
            write(store, transaction)
            if number % split and number < len(history):
                continue
            view.batch(store.offset(store.head()))
            assert view.stored() == view.wanted()
    finally:
        close_store(store)
        shutil.rmtree(folder)
