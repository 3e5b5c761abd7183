"""The row executor against the oracle: after every batch, however the log is split, the view is its SELECT."""

from __future__ import annotations

import itertools
import math
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.execute.plans import COLUMNS, TABLE, plans, rows
from tests.oracle import evaluate, hashable
from viewkeeper.delta.program import Storage, numbered, program
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.viewchanges import ViewRunner
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column
from viewkeeper.model.types import BIGINT, Kind
from viewkeeper.plan.relation import Aggregate, Distinct, Field, Relation, Scan, below
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.interface import WriteSet
from viewkeeper.store.registry import close_store, open_store
from viewkeeper.store.scan import ALL
from viewkeeper.store.viewstore import Apply

VIEW, GROUP = 1000, 1
BASE = 1
"""The id of the first table of a database."""

histories = st.lists(
    st.lists(st.tuples(st.sampled_from(["put", "put", "delete"]), rows()), min_size=1, max_size=5),
    min_size=1,
    max_size=6,
)


class View:
    """A view kept by the row executor, in a group of its own."""

    def __init__(self, store: EmbeddedStore, relation: Relation, *, has_key: bool) -> None:
        visible = tuple(Column(name=field.name, type=field.type) for field in relation.fields)
        key = ((0, Field("id", BIGINT)),) if has_key else None
        made = program(relation, visible, (), id=VIEW, name="V", key_of=lambda _: key)
        self.store = store
        self.program = numbered(made, itertools.count(VIEW + 1))
        self.runner = ViewRunner(self.program)
        self.errors = 0
        store.view_tables.create_group(GROUP, self.runner.objects(), 0, 0)
        self.batch(0)

    def batch(self, upper: int) -> None:
        """Bring the view from its watermark to `upper`."""
        state = self.store.view_tables.groups()[GROUP]
        first, errors = self.runner.first_changes(self._delta(state.watermark, upper))
        with self.store.view_tables.reading(self.runner.objects()) as reading:
            changes = self.runner.run(first, errors, reading)
        self.errors += changes.errors
        batch = Apply(
            group=GROUP,
            generation=state.generation,
            lower=state.watermark,
            upper=upper,
            transaction=0,
            committed_at=0,
            objects=changes.objects,
        )
        self.store.view_tables.apply(batch)

    def _delta(self, lower: int, upper: int) -> list[Weighted]:
        codec = self.store.catalog().codec("Events")
        columns = self.program.plan.source.columns
        delta: list[Weighted] = []
        for block in self.store.blocks(self.store.position(lower), self.store.position(upper)):
            for section in block.sections:
                for before, after in section.pairs(codec):
                    for row, weight in ((before, -1), (after, 1)):
                        if row is not None:
                            delta.append((tuple(row[column] for column in columns), weight))
        return delta

    def stored(self) -> list[tuple[Any, ...]]:
        """The visible rows, each as often as it weighs."""
        codec = RowCodec(self.program.layout)
        found: list[tuple[Any, ...]] = []
        with self.store.view_tables.reading([VIEW]) as reading:
            for _, value in reading.slice(codec, ALL, 1 << 20):
                row = codec.decode(value)
                times = row[-1] if self.program.storage is Storage.WEIGHTED else 1
                found += [row[: self.program.layout.visible]] * times  # type: ignore[operator]
        return found


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


def canonical(relation: Relation, found: list[tuple[Any, ...]]) -> Counter[Any]:
    """Rows as a bag; doubles to nine digits, since sums of them depend on the order."""

    def shown(cell: Any) -> Any:
        if isinstance(cell, float) and math.isfinite(cell):
            return float(f"{cell:.9g}") + 0.0
        return cell

    return Counter(hashable(tuple(map(shown, row))) for row in found)


def write(store: EmbeddedStore, transaction: list[tuple[str, tuple[Any, ...]]]) -> None:
    codec = store.catalog().codec("Events")
    writes = WriteSet()
    for what, row in transaction:
        key = codec.key.encode(row)
        if what == "put":
            writes.put(codec, key, dict(enumerate(row)))
        else:
            writes.remove(codec, key)
    store.commit(writes)


@settings(max_examples=250, suppress_health_check=list(HealthCheck))
@given(relation=plans(BASE).filter(is_exact), history=histories, split=st.integers(1, 3), has_key=st.booleans())
def test_view_is_its_select_after_every_batch(
    relation: Relation, history: list[Any], split: int, has_key: bool
) -> None:
    folder = Path(tempfile.mkdtemp())
    store = open_store(folder / "db", durability="os")
    try:
        store.create_table(TABLE)
        codec = store.catalog().codec("Events")
        view = View(store, relation, has_key=has_key)
        for number, transaction in enumerate(history, 1):
            write(store, transaction)
            if number % split and number < len(history):
                continue
            view.batch(store.offset(store.head()))
            base = [row for chunk in store.snapshot().scan(codec, ALL) for row in chunk]

            def table(_: Scan, base: list[Any] = base) -> list[Any]:
                return base

            wanted = evaluate(relation, table)
            assert canonical(relation, view.stored()) == canonical(relation, wanted)
        assert len(COLUMNS) == 6
    finally:
        close_store(store)
        shutil.rmtree(folder)
