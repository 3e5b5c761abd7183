"""A history of one process and one thread, the same for a seed: quick, and with everything in it that may go wrong.

Two handles write and read at random, a third one only reads. Between that maintainers run, now and then two at once,
and views are replaced while only the old ones are brought up. `meanwhile` is called where something is half done on
purpose.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.histories.checker import Violation, check
from tests.histories.history import Event, History
from tests.histories.recording import Client, Level, committed
from tests.histories.shop import BASE, BUYERS, ORDERS, create, open_shop, views_in
from tests.histories.workload import Shopper
from tests.views.kept import finish, maintainer
from viewkeeper.views.settle import settle_views
from viewkeeper.write import views as view_statements

STEPS = 160


class Driven:
    """A shop, and what happens in it."""

    def __init__(self, path: Path, mode: str, seed: int) -> None:
        self.events: list[Event] = []
        self.mode = mode
        self.views = views_in(mode)
        self.chance = random.Random(seed)
        self.db = open_shop(path, mode)
        self.handles = [self.db, vk.open(path), vk.open(path, read_only=True), vk.open(path)]
        *clients, self.watcher = (
            Client(db, self.events.append, f"handle {number}", timeout=0) for number, db in enumerate(self.handles)
        )
        self.visitors = [
            Shopper(client, mode, random.Random(f"{seed}.{client.stream}"), writes=number < 2)
            for number, client in enumerate(clients)
        ]
        self.shoppers = self.visitors[:2]

    def run(self) -> list[Violation]:
        for _ in range(STEPS):
            kind = self.chance.random()
            if kind < 0.7:
                self.chance.choice(self.visitors).act()
            elif kind < 0.85:
                self.maintain()
            elif kind < 0.93:
                self.maintain_twice()
            elif kind < 0.98:
                self.replace()
            else:
                self.db.repair(self.chance.choice(self.views).name)
        finish(maintainer(self.db._shared))
        for definition in (*BASE, *self.views):
            self.watcher.scan(definition.name, level=Level(name="latest"))
        history = History.of([*self.events, *committed(self.db, [ORDERS, BUYERS])])
        for db in self.handles:
            db.close()
        return check(history, (*BASE, *self.views))

    def meanwhile(self, *_: Any) -> None:
        for view in self.views:
            self.watcher.scan(view.name, level=Level(name="any"))

    def maintain(self) -> None:
        maintainer(self.db._shared, batch_changes=4).round()

    def maintain_twice(self) -> None:
        """A second maintainer does all of the work while the first one has computed some."""
        other: Callable[[], Any] = maintainer(self.db._shared).round
        maintainer(self.db._shared, batch_changes=4, step=lambda name: other() if name == "computed" else None).round()

    def replace(self) -> None:
        """The new view is filled; before it takes its place, the old ones move on."""
        view = self.chance.choice(self.views)
        old = {one.id for one in self.db.views()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(view_statements, "settle_views", lambda store: False)
            self.db.execute(create(view, self.mode, again=True))
        for shopper in self.shoppers:
            shopper.write(shopper.client)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("viewkeeper.pipeline.maintainer.settle_views", lambda store: False)
            maintainer(self.db._shared, views=old).round()
        self.meanwhile()
        settle_views(self.db._shared)
        self.meanwhile()
