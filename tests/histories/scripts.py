"""Small scripts over one small shop, for every order of their steps."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.histories.history import Event, History
from tests.histories.interleaving import Paused, Step
from tests.histories.model import Definition
from tests.histories.recording import Client, Level, at_least, committed
from tests.histories.shop import BASE, BUYERS, ORDERS, buyer, create, gone, open_shop, order, views_in
from tests.views.kept import finish, maintainer
from viewkeeper.pipeline import maintainer as maintaining
from viewkeeper.store.viewstore import ViewStore
from viewkeeper.views import settle
from viewkeeper.views.bound import BoundViews
from viewkeeper.write import views as view_statements

LATEST, ANY = Level(name="latest"), Level(name="any")
NAMES = ("Totals", "Sizes", "Joined", "Named")


def shop_views(mode: str) -> tuple[Definition, ...]:
    return tuple(view for view in views_in(mode) if view.name in NAMES)


def prepare(path: Path, mode: str) -> list[Event]:
    """A database to make copies of; the events of its first writes."""
    events: list[Event] = []
    with open_shop(path, mode, shop_views(mode)) as db:
        client = Client(db, events.append, "first")
        client.write(order(1, 1, "a", 1), order(2, 2, "b", 2), buyer(1, "x"))
        finish(maintainer(db._shared))
    return events


@dataclass(slots=True)
class World:
    """One copy of the database, where one order of steps is run, and what is recorded there."""

    db: vk.Database
    other: vk.Database
    watching: vk.Database
    patch: pytest.MonkeyPatch
    mode: str
    views: tuple[Definition, ...]
    events: list[Event] = field(default_factory=list)
    positions: list[vk.Position] = field(default_factory=list)

    def client(self, name: str, db: vk.Database | None = None) -> Client:
        return Client(self.db if db is None else db, self.events.append, name, timeout=0)

    def look(self) -> None:
        """See all views as they are, through a handle that does nothing else."""
        for view in self.views:
            self.client("watcher", self.watching).scan(view.name, level=ANY)

    def history(self) -> History:
        """What was recorded, and everything as it is once views are up to date, through the handle of the readers."""
        finish(maintainer(self.db._shared))
        for definition in (*BASE, *self.views):
            self.client("reader", self.other).scan(definition.name, level=LATEST)
        return History.of([*self.events, *committed(self.db, [ORDERS, BUYERS])])


Script = Callable[[World], list[Step]]


def puts(world: World) -> list[Step]:
    """A transaction of two tables, and one that takes a row away and moves another."""
    client = world.client("writer")

    def first() -> None:
        world.positions.append(client.write(order(3, 2, "a", 5), buyer(2, "y")))

    def second() -> None:
        world.positions.append(client.write(gone(ORDERS, 1), order(2, 1, "a", 9)))

    return [first, second]


def one_put(world: World) -> list[Step]:
    return puts(world)[:1]


def reads(world: World) -> list[Step]:
    """Latest, then any, through one handle; and at least what was written last."""
    client = world.client("reader", world.other)

    def latest() -> None:
        for name in NAMES:
            client.scan(name, level=LATEST)
        client.get("Totals", "a", level=at_least(*world.positions[-1:]) if world.positions else ANY)

    def as_it_is() -> None:
        for name in NAMES:
            client.scan(name, level=ANY)
        client.get("Totals", "a")

    return [latest, as_it_is]


def snapshot(world: World) -> list[Step]:
    """A snapshot is made, and read later, bit by bit."""
    opened = world.client("reader", world.other).snapshot()
    inside: list[Client] = []

    def make() -> None:
        inside.append(opened.__enter__())
        inside[0].scan("Totals")

    def read() -> None:
        for name in ("Sizes", "Totals", "Joined", ORDERS, BUYERS):
            inside[0].scan(name)
        opened.__exit__(None, None, None)

    return [make, read]


def snapshot_behind_fold(world: World) -> list[Step]:
    """A view is read ahead of itself, through a handle that cannot bring it up for others, and then in a snapshot."""
    client = world.client("watcher", world.watching)

    def read() -> None:
        client.scan("Totals", level=LATEST)

    def both() -> None:
        with client.snapshot() as inside:
            for name in NAMES:
                inside.scan(name)

    return [read, both]


def session(world: World) -> list[Step]:
    """A session writes, and reads its write in views; another goes on from where it ended."""
    opened = world.client("user", world.other).session()
    inside: list[Client] = []

    def write() -> None:
        inside.append(opened.__enter__())
        inside[0].write(order(4, 1, "c", 4), gone(ORDERS, 2))
        inside[0].scan("Joined")

    def read() -> None:
        for name in NAMES:
            inside[0].scan(name)
        inside[0].get(ORDERS, 2)
        position = inside[0].position()
        opened.__exit__(None, None, None)
        with world.client("user", world.other).session(position) as later:
            later.scan("Totals")

    return [write, read]


def maintain(world: World) -> list[Step]:
    """A maintainer that computes a batch, and applies it."""

    def run(paused: Paused) -> None:
        keeping = maintainer(world.db._shared, step=lambda name: paused.here() if name == "computed" else None)
        keeping.round()
        keeping.let_go()

    return Paused(run).steps()


def maintain_late(world: World) -> list[Step]:
    """A maintainer that knows views as they were when its round began."""
    working = threading.local()
    really: Callable[[Any], BoundViews] = vars(maintaining)["bound_views"]

    def bound_views(store: Any) -> BoundViews:
        bound = really(store)
        if hasattr(working, "paused"):
            working.paused.here()
        return bound

    def run(paused: Paused) -> None:
        working.paused = paused
        keeping = maintainer(world.db._shared)
        keeping.round()
        keeping.let_go()

    world.patch.setattr(maintaining, "bound_views", bound_views)
    return Paused(run).steps()


def fold(world: World) -> list[Step]:
    """A reader that folds, and brings up the view for others later than it answers."""
    client = world.client("folder")
    really, held = ViewStore.apply, threading.Event()

    def apply(store: ViewStore, batch: object) -> object:
        held.wait(20)
        return really(store, batch)  # type: ignore[arg-type]

    def read() -> None:
        world.patch.setattr(ViewStore, "apply", apply)
        client.scan("Totals", level=LATEST)
        world.patch.setattr(ViewStore, "apply", really)

    def commit() -> None:
        held.set()
        client.scan("Totals", level=ANY)

    return [read, commit]


def replace_view(name: str) -> Script:
    """A view is filled anew beside the one that there is, and takes its place."""

    def script(world: World) -> list[Step]:
        (view,) = (view for view in world.views if view.name == name)
        swapping = threading.local()

        def run(paused: Paused) -> None:
            swapping.paused = paused
            world.db.execute(create(view, world.mode, again=True))

        def settle_views(store: object) -> bool:
            if hasattr(swapping, "paused"):
                swapping.paused.here()
            return settle.settle_views(store)  # type: ignore[arg-type]

        world.patch.setattr(view_statements, "settle_views", settle_views)
        return Paused(run).steps()

    return script


def copy_of(template: Path, path: Path) -> Path:
    shutil.copytree(template, path, ignore=shutil.ignore_patterns("lock.mdb"))
    return path
