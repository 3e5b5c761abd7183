"""A view over one table or several, kept by the row executor batch by batch; what it has stored, and what it should."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from tests.oracle import evaluate, hashable
from viewkeeper.delta.deltaplan import Changes
from viewkeeper.delta.program import Storage, numbered, program
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.viewchanges import ViewRunner
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Column, Table
from viewkeeper.plan.relation import Field, Relation, Scan
from viewkeeper.store.applying import Apply
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.interface import WriteSet
from viewkeeper.store.scan import ALL

VIEW, GROUP = 1000, 1

Write = tuple[str, str, tuple[Any, ...]]
"""What is done, "put" or "delete", to which table, and a row; of a deleted one only the key counts."""
KeyOf = Callable[[Scan], tuple[tuple[int, Field], ...] | None]


def key_of(tables: Sequence[Table]) -> KeyOf:
    """What tells the rows of tables apart: their keys."""
    known = {table.name: table for table in tables}

    def found(scan: Scan) -> tuple[tuple[int, Field], ...]:
        table = known[scan.name]
        return tuple(
            (number, Field(table.columns[number].name, table.columns[number].type)) for number in table.key_ids
        )

    return found


class View:
    """A view in a group of its own; it is empty, or its one row, before the first change."""

    def __init__(self, store: EmbeddedStore, relation: Relation, keys: KeyOf) -> None:
        visible = tuple(Column(name=field.name, type=field.type) for field in relation.fields)
        made = program(relation, visible, (), id=VIEW, name="V", key_of=keys)
        self.store = store
        self.relation = relation
        self.program = numbered(made, itertools.count(VIEW + 1))
        self.runner = ViewRunner(self.program)
        self.errors = 0
        store.view_tables.create_group(GROUP, self.runner.objects(), 0, 0)
        self.batch(0)

    def batch(self, upper: int) -> None:
        """Bring the view from its watermark to `upper`."""
        state = self.store.view_tables.groups()[GROUP]
        plan = self.program.plan
        deltas = [self._delta(leaf, state.watermark, upper) for leaf in plan.leaves()]
        with self.store.view_tables.reading(self.runner.objects()) as reading:
            first = self.runner.joined(deltas, reading) if plan.is_joined else self.runner.first_changes(deltas[0])
            changes = self.runner.run(first, reading)
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

    def _delta(self, leaf: Changes, lower: int, upper: int) -> list[Weighted]:
        codec = self.store.catalog().codec(self.store.catalog().tables[leaf.object].name)
        delta: list[Weighted] = []
        for block in self.store.blocks(self.store.position(lower), self.store.position(upper)):
            for section in block.sections:
                if section.table == leaf.object:
                    for before, after in section.pairs(codec):
                        for row, weight in ((before, -1), (after, 1)):
                            if row is not None:
                                delta.append((tuple(row[column] for column in leaf.columns), weight))
        return delta

    def stored(self) -> Counter[Any]:
        """The visible rows, each as often as it weighs."""
        codec = RowCodec(self.program.layout)
        found: list[tuple[Any, ...]] = []
        with self.store.view_tables.reading([VIEW]) as reading:
            for _, value in reading.slice(codec, ALL, 1 << 20):
                row = codec.decode(value)
                times = row[-1] if self.program.storage is Storage.WEIGHTED else 1
                found += [row[: self.program.layout.visible]] * times  # type: ignore[operator]
        return canonical(found)

    def wanted(self) -> Counter[Any]:
        """What it should have stored if it stood at the head."""
        return canonical(evaluate(self.relation, self._rows))

    def _rows(self, scan: Scan) -> list[tuple[Any, ...]]:
        codec = self.store.catalog().codec(scan.name)
        return [row for chunk in self.store.snapshot().scan(codec, ALL) for row in chunk]


def canonical(found: list[tuple[Any, ...]]) -> Counter[Any]:
    """Rows as a bag; doubles to nine digits, since sums of them depend on the order."""

    def shown(cell: Any) -> Any:
        if isinstance(cell, float) and math.isfinite(cell):
            return float(f"{cell:.9g}") + 0.0
        return cell

    return Counter(hashable(tuple(map(shown, row))) for row in found)


def write(store: EmbeddedStore, transaction: Sequence[Write]) -> None:
    writes = WriteSet()
    for what, table, row in transaction:
        codec = store.catalog().codec(table)
        key = codec.key.encode(row)
        if what == "put":
            writes.put(codec, key, dict(enumerate(row)))
        else:
            writes.remove(codec, key)
    store.commit(writes)
