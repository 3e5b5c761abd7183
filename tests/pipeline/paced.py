"""A database with views of several modes, and maintainers whose clock is moved by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import viewkeeper as vk
from tests.faults.maintaining import TABLE, store_of, write
from tests.views.kept import group_of, maintainer
from viewkeeper.pipeline.maintainer import Maintainer

START = 2_000_000_000_000_000
"""A moment in µs, later than any that a note of these tests can have."""


class Moment:
    """A clock (µs) that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now

    def pass_ms(self, count: float) -> None:
        self.now += int(count * 1000)


def make(path: Path, *texts: str) -> vk.Database:
    """A table with some rows, and views, all at the head."""
    db = vk.open(path, durability="os")
    db.execute(TABLE)
    write(db, 1, 5)
    for text in texts:
        db.execute(text)
    db.maintain()
    return db


def by_mode(db: vk.Database, clock: Callable[[], int], **options: Any) -> Maintainer:
    """What a continuous maintainer does its rounds with."""
    return maintainer(store_of(db), by_mode=True, clock=clock, **options)


def watermark(db: vk.Database, name: str) -> int:
    state = group_of(store_of(db), store_of(db).catalog().known_view(name))
    assert state is not None
    return state.watermark


def head(db: vk.Database) -> int:
    return store_of(db).offset(db.head())


def lag(db: vk.Database, *names: str) -> list[int]:
    """How many changes views are behind the head."""
    return [head(db) - watermark(db, name) for name in names]


def number(db: vk.Database, name: str) -> int:
    return store_of(db).catalog().known_view(name).id


def ask(db: vk.Database, name: str, upto: int | None = None, *, priority: int = 1, seconds: float = 1e9) -> None:
    """As a reader does that waits for a view; by default, for the head."""
    upto = head(db) if upto is None else upto
    store_of(db).view_tables.ask(number(db, name), upto, priority=priority, requester="reader", seconds=seconds)
