"""What one write costs: lookups in views and auxiliary tables, and rows written there, whoever keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import viewkeeper as vk
from viewkeeper.store import commit, insync
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.views.batch import Timing, batch_by_rows
from viewkeeper.views.bound import bound_views


@dataclass(slots=True)
class Cost:
    reads: int = 0
    writes: int = 0

    def wrote(self, objects: Mapping[int, ObjectChanges]) -> None:
        self.writes += sum(len(one.changes) + len(one.rows) for one in objects.values())


def cost_of_write(db: vk.Database, write: Callable[[], object], table: str | None = None) -> Cost:
    """What a write costs, in its own transaction and in the batches of all groups that follow; these are applied.

    Everything has to be at the head before. With `table`, only groups above it count: others move too, and a global
    aggregate reads its one row for that.
    """
    store: EmbeddedStore = db._shared
    cost, elsewhere = Cost(), Cost()
    with _counted(cost):
        write()
    bound, head = bound_views(store), store.offset(store.head())
    above = {number for number, one in bound.catalog.tables.items() if table in (None, one.name)}
    # A view that reads another one comes behind it.
    for number in sorted(bound.catalog.views):
        one = bound.get(number)
        if one is not None and not one.sources.isdisjoint(above):
            above.add(number)
    for number in sorted(bound.catalog.views):
        for group, state in store.view_tables.groups().items():
            if number in state.objects and state.watermark < head:
                with _counted(elsewhere if above.isdisjoint(state.objects) else cost) as counted:
                    batch = batch_by_rows(store, bound, group, state, head, Timing())
                    counted.wrote(batch.objects)
                store.view_tables.apply(batch)
    return cost


@contextmanager
def _counted(cost: Cost) -> Iterator[Cost]:
    kept = {name: getattr(ViewReading, name) for name in ("get", "get_many", "slice", "stored_row")}
    written = commit.write_followed

    def counting(name: str) -> Callable[..., Any]:
        def run(reading: ViewReading, *args: Any, **named: Any) -> Any:
            cost.reads += len(args[1]) if name == "get_many" else 1
            return kept[name](reading, *args, **named)

        return run

    def write_followed(txn: Any, catalog: Any, followed: insync.Followed) -> None:
        cost.wrote(followed.objects)
        written(txn, catalog, followed)

    try:
        for name in kept:
            setattr(ViewReading, name, counting(name))
        commit.write_followed = write_followed
        yield cost
    finally:
        for name, plain in kept.items():
            setattr(ViewReading, name, plain)
        commit.write_followed = written
