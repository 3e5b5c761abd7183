"""The row executor against the oracle: after every batch, however the log is split, the view is its SELECT."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.execute.driving import View, Write, key_of, write
from tests.execute.plans import TABLE, plans, rows
from viewkeeper.model.types import Kind
from viewkeeper.plan.relation import Aggregate, Distinct, Relation, below
from viewkeeper.store.registry import close_store, open_store

BASE = 1
"""The id of the first table of a database."""

histories = st.lists(
    st.lists(st.tuples(st.sampled_from(["put", "put", "delete"]), st.just(TABLE.name), rows()), min_size=1, max_size=5),
    min_size=1,
    max_size=6,
)


def is_exact(relation: Relation) -> bool:
    """Whether no sum of doubles feeds a group or a DISTINCT, where the last bit would decide."""
    if isinstance(relation, Aggregate | Distinct):
        grouped = relation.group if isinstance(relation, Aggregate) else range(len(relation.fields))
        inner = relation.input
        if _has_aggregate(inner) and any(inner.fields[column].type.kind is Kind.DOUBLE for column in grouped):
            return False
        if _has_aggregate(inner) and any(field.type.kind is Kind.DOUBLE for field in inner.fields):
            return False
    return all(map(is_exact, below(relation)))


def _has_aggregate(relation: Relation) -> bool:
    return isinstance(relation, Aggregate) or any(map(_has_aggregate, below(relation)))


@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(relation=plans(BASE).filter(is_exact), history=histories, split=st.integers(1, 3), has_key=st.booleans())
def test_view_is_its_select_after_every_batch(
    relation: Relation, history: list[list[Write]], split: int, has_key: bool
) -> None:
    folder = Path(tempfile.mkdtemp())
    store = open_store(folder / "db", durability="os")
    try:
        store.create_table(TABLE)
        view = View(store, relation, key_of([TABLE]) if has_key else lambda _: None)
        for number, transaction in enumerate(history, 1):
            write(store, transaction)
            if number % split and number < len(history):
                continue
            view.batch(store.offset(store.head()))
            assert view.stored() == view.wanted()
    finally:
        close_store(store)
        shutil.rmtree(folder)
