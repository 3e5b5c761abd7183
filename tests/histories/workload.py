"""What the processes of a history do: clients that write and read at random, and a maintainer that is killed.

They start from a fork server that has imported everything, so that a maintainer lives again within milliseconds.
"""

from __future__ import annotations

import random
import threading
import time
import traceback
from typing import Any

import viewkeeper as vk
from tests.histories.history import Operation, Recorder
from tests.histories.model import Definition
from tests.histories.recording import DEFAULT, Client, Level, at_least
from tests.histories.shop import BASE, BUYERS, ORDERS, buyer, gone, order, views_in
from tests.views.kept import maintainer
from viewkeeper.pipeline import backfill, moving

DOMAINS: dict[str, tuple[Any, ...]] = {
    "id": tuple(range(12)),
    "buyer": tuple(range(5)),
    "kind": ("a", "b", "c"),
    "name": ("x", "y", "z"),
    "n": tuple(range(6)),
    "c": tuple(range(7)),
}
TIMEOUT = 0.5
PAUSE = 0.004
"""Seconds between two things that a client does, on average: hundreds of transactions, not many thousands."""


class Shopper:
    """One thread of a client: chooses what to do next."""

    def __init__(self, client: Client, mode: str, chance: random.Random, *, writes: bool = True) -> None:
        self.client = client
        self.writes = writes
        self.chance = chance
        self.definitions = (*views_in(mode), *views_in(mode), *BASE)
        self.positions = [client.db.head()]

    def act(self) -> None:
        kind = self.chance.random()
        if kind < 0.35 and self.writes:
            self.write(self.client)
        elif kind < 0.9:
            self.read(self.client, self.level())
        elif kind < 0.95:
            with self.client.snapshot() as inside:
                for _ in range(4):
                    self.read(inside)
        else:
            start = self.chance.choice([None, *self.positions])
            with self.client.session(start) as inside:
                for _ in range(6):
                    if self.chance.random() < 0.3 and self.writes:
                        self.write(inside)
                    else:
                        self.read(inside, self.level())

    def write(self, client: Client) -> None:
        operations = [self.operation() for _ in range(self.chance.choice([1, 1, 2, 3]))]
        self.positions = [*self.positions[-9:], client.write(*operations)]

    def operation(self) -> Operation:
        number, chance = self.chance.choice(DOMAINS["id"]), self.chance
        kind = chance.random()
        if kind < 0.6:
            return order(number, chance.randrange(5), chance.choice("abc"), chance.randrange(6))
        if kind < 0.8:
            return gone(ORDERS, number)
        if kind < 0.95:
            return buyer(chance.randrange(5), chance.choice("xyz"))
        return gone(BUYERS, chance.randrange(5))

    def level(self) -> Level:
        name = self.chance.choice(["", "any", "any", "latest", "at_least", "at_least", "max_lag"])
        if name == "at_least":
            return at_least(*self.chance.choices(self.positions, k=self.chance.choice([1, 1, 2])))
        if name == "max_lag":
            return Level(name=name, lag_ms=self.chance.choice([1, 20, 200]))
        return Level(name=name)

    def read(self, client: Client, level: Level = DEFAULT) -> None:
        """Read something, and often the same once more at another level: what has been seen is not to go back."""
        chance = self.chance
        definition = chance.choice(self.definitions)
        key = tuple(chance.choice(DOMAINS[column]) for column in definition.key)
        where = self.interval(definition, key)
        for again in (False, True):
            if again and (level is DEFAULT or chance.random() < 0.5):
                return
            asked = self.level() if again else level
            kind = chance.random()
            if kind < 0.4 and definition.unique:
                client.get(definition.name, *key, level=asked, with_meta=chance.random() < 0.5)
            elif kind < 0.5:
                client.query(definition.name, definition.key[0], key[0], level=asked)
            else:
                client.scan(definition.name, level=asked, **where)

    def interval(self, definition: Definition, key: tuple[Any, ...]) -> dict[str, Any]:
        chance = self.chance
        where: dict[str, Any] = {"reverse": chance.random() < 0.3}
        if chance.random() < 0.3:
            where["limit"] = chance.randrange(5)
        kind = chance.random()
        if kind < 0.2:
            where["prefix"] = key[:1]
        elif kind < 0.4:
            where["lower"] = key
        elif kind < 0.6:
            where["upper"] = key
        return where


def shop_until_told(path: str, events: str, seed: int, mode: str, over: Any) -> None:
    """Threads of a client process: two share a handle, one has its own, and one a handle that cannot write."""
    record = Recorder(events)
    with vk.open(path) as shared, vk.open(path) as own, vk.open(path, read_only=True) as reading:
        threads = []
        for number, db in enumerate((shared, shared, own, reading)):
            name = f"{seed}-{'shared' if db is shared else number}"
            client = Client(db, record, name, timeout=TIMEOUT)
            shopper = Shopper(client, mode, random.Random(f"{seed}.{number}"), writes=db is not reading)
            threads.append(threading.Thread(target=_shop, args=(shopper, over, events)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    record.close()


def _shop(shopper: Shopper, over: Any, events: str) -> None:
    try:
        while not over.is_set():
            shopper.act()
            time.sleep(shopper.chance.expovariate(1 / PAUSE))
    except BaseException:
        # Whatever it is, the test that reads the events is to end with it.
        with open(f"{events}.failed", "a", encoding="utf-8") as file:
            file.write(traceback.format_exc())
        raise


def maintain_until_killed(path: str) -> None:
    """Rounds without end, in small batches."""
    # Whoever goes on need not wait long for a claim of one that was killed.
    moving.CLAIM_SECONDS = backfill.CLAIM_SECONDS = 0.2
    with vk.open(path) as db:
        keeping = maintainer(db._shared, batch_changes=3)
        while True:
            keeping.round()
            time.sleep(0.01)
