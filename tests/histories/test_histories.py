"""Histories of several processes and threads, with a maintainer that is killed at random, hold what each level says."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from tests.histories.checker import check
from tests.histories.history import History, read_events
from tests.histories.model import Definition
from tests.histories.recording import Client, Level, committed
from tests.histories.shop import BASE, BUYERS, ORDERS, create, open_shop, views_in
from tests.histories.workload import maintain_until_killed, shop_until_told
from tests.views.kept import finish, maintainer

MODES = ("DEFERRED", "LAZY", "EVERY 50 MILLISECOND", "SYNC", "LOCAL")
"""How views are kept, as it stands behind MAINTAIN; each mode is a history of its own."""
MENDED = ("DEFERRED", "LAZY", "EVERY 50 MILLISECOND", "SYNC", "LOCAL")
"""The modes whose views `repair` knows."""
KINDS = ("kill", "kill", "replace", "repair")
"""What is done meanwhile, in an order that changes."""
PROCESSES = 2
SECONDS = 3.0
LOADED_FIRST = (
    "viewkeeper.execute.viewchanges",
    "viewkeeper.pipeline.maintainer",
    "viewkeeper.pipeline.repair",
    "viewkeeper.sql.bind",
    "viewkeeper.sql.parse",
    "viewkeeper.write.views",
)
"""What maintainers would otherwise spend their short lives importing."""
_processes = multiprocessing.get_context("forkserver")


@dataclass(slots=True)
class Disturbance:
    """What was done to the views meanwhile: what, to which, and when it was over, by the clock of the history."""

    done: list[tuple[str, str, int]] = field(default_factory=list)

    def count(self, what: str) -> int:
        return sum(kind == what for kind, _, _ in self.done)


@pytest.mark.parametrize("mode", MODES)
def test_every_read_keeps_its_level_and_no_row_goes_back(
    mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    with capsys.disabled():
        print(f"\n{mode}: seed {seed}", end="", flush=True)
    files = [tmp_path / f"events-{number}" for number in range(PROCESSES)]
    path = tmp_path / "database"
    with open_shop(path, mode) as db:
        done = disturb(db, path, files, mode, random.Random(seed))
        history = gather(db, files, views_in(mode))
    found = check(history, (*BASE, *views_in(mode)))
    errors = Counter(read.error for read in history.reads if read.error)
    with capsys.disabled():
        print(
            f": {len(history.commits):,} transactions, {len(history.reads):,} reads checked, "
            f"{sum(errors.values())} of them excused, {done.count('kill')} kills, "
            f"{done.count('replace')} swaps, {done.count('repair')} repairs",
            flush=True,
        )
    assert not found, f"seed {seed}, {len(found)} violations:\n" + "\n".join(map(str, (*found[:10], *done.done)))
    assert len(history.reads) > 100
    assert len(history.commits) > 30
    assert sum(errors.values()) < len(history.reads) / 5, errors
    assert all(done.count(what) for what in KINDS if what != "repair" or mode in MENDED), done


def disturb(db: vk.Database, path: Path, files: list[Path], mode: str, chance: random.Random) -> Disturbance:
    """Let clients run for a while; kill and restart the maintainer, replace and repair views meanwhile."""
    _processes.set_forkserver_preload(["tests.histories.workload", *LOADED_FIRST])
    over = _processes.Event()
    clients = [_start(shop_until_told, str(path), str(file), chance.getrandbits(32), mode, over) for file in files]
    keeper = _start(maintain_until_killed, str(path))
    done = Disturbance()
    _await(files)
    until = time.monotonic() + SECONDS
    kinds = [kind for kind in KINDS if kind != "repair" or mode in MENDED]
    left: list[str] = []
    try:
        while left or time.monotonic() < until:
            left = left or chance.sample(kinds, len(kinds))
            time.sleep(chance.uniform(0, 0.25))
            view = chance.choice(views_in(mode))
            match kind := left.pop():
                case "kill":
                    keeper.kill()
                    keeper.join()
                    time.sleep(chance.uniform(0, 0.1))
                    keeper = _start(maintain_until_killed, str(path))
                case "replace":
                    _while_others_do(partial(db.execute, create(view, mode, again=True)))
                case "repair":
                    _while_others_do(partial(db.repair, view.name))
            done.done.append((kind, view.name, time.monotonic_ns()))
        over.set()
        for client in clients:
            client.join(20)
            assert client.exitcode == 0, "a client failed or hangs"
    finally:
        for process in (*clients, keeper):
            process.kill()
            process.join()
        failed = [file.read_text(encoding="utf-8") for one in files if (file := Path(f"{one}.failed")).exists()]
    assert not failed, failed[0]
    return done


def _await(files: list[Path]) -> None:
    """Processes take a while to start; then they are to do something in the time that they have."""
    deadline = time.monotonic() + 20
    while not all(file.exists() and file.stat().st_size for file in files):
        assert time.monotonic() < deadline, "a client does not start"
        time.sleep(0.01)


def _while_others_do(action: Callable[[], Any]) -> None:
    """What a view was replaced or claimed under has to be asked for again."""
    for _ in range(50):
        try:
            action()
        except (vk.Conflict, vk.Outrun, vk.TableDropped, vk.ViewNotReady):
            time.sleep(0.02)
        else:
            return
    raise AssertionError("fifty times outrun")


def gather(db: vk.Database, files: list[Path], views: tuple[Definition, ...]) -> History:
    """All events, and in the end one look at everything once it is up to date."""
    events = read_events(files)
    finish(maintainer(db._shared))
    client = Client(db, events.append, "in the end")
    for definition in (*BASE, *views):
        client.scan(definition.name, level=Level(name="latest"))
    events += committed(db, [ORDERS, BUYERS])
    return History.of(events)


def _start(target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    process = _processes.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process
