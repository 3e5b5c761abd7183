"""Databases with views that stand still until a test moves them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import viewkeeper as vk
from viewkeeper.store.interface import Store
from viewkeeper.views.batch import Timing, batch_by_rows
from viewkeeper.views.bound import bound_views
from viewkeeper.views.fill import begin_fill, fill_by_rows
from viewkeeper.views.settle import settle_views

ORDERS = "CREATE TABLE Orders (id BIGINT PRIMARY KEY, shop STRING, cost INT, note STRING)"


def store_of(db: vk.Database) -> Store:
    return db._store


def put_orders(db: vk.Database, *rows: tuple[int, str | None, int | None]) -> vk.Position:
    """Rows of Orders (id, shop, cost), in one transaction."""
    with db.transaction() as tx:
        for number, shop, cost in rows:
            tx.put("Orders", {"id": number, "shop": shop, "cost": cost})
    return tx.position


def move(db: vk.Database, upper: vk.Position | None = None, *, settle: bool = True) -> None:
    """Bring every group up to a position, lower ones first."""
    store = store_of(db)
    target = store.offset(db.head() if upper is None else upper)
    for group, state in sorted(store.view_tables.groups().items()):
        if state.watermark < target and state.filled is None:
            bound = bound_views(store)
            store.view_tables.apply(batch_by_rows(store, bound, group, state, target, Timing()))
    if settle:
        settle_views(store)


@contextmanager
def unfilled() -> Iterator[None]:
    """Views that are made here wait for a maintainer."""
    with patch("viewkeeper.write.views.SMALL", -1):
        yield


def fill(db: vk.Database, name: str, steps: int | None = None) -> None:
    """Do some steps of a fill, of two rows each, or all of it."""
    store = store_of(db)
    bound = bound_views(store)
    (one,) = [one for one in bound.views.values() if one.view.name == name and not _is_whole(store, one.view.id)]
    with patch("viewkeeper.views.fill.STEP_ROWS", 2):
        if store.view_tables.standing(one.view.id) is None:
            begin_fill(store, bound, one)
        fill_by_rows(store, bound, one, steps)


def _is_whole(store: Store, number: int) -> bool:
    found = store.view_tables.standing(number)
    return found is not None and found[1].filled is None


def values(rows: Any) -> list[tuple[Any, ...]]:
    """Rows as tuples."""
    return [tuple(row.values()) for row in rows]
