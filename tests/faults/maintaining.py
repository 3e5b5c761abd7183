"""A database whose views have several stages and stand on each other, and processes that maintain it and are killed."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import viewkeeper as vk
from tests.faults.child import say
from tests.oracle import Cells
from tests.views.kept import check_views, finish, maintainer
from viewkeeper.pipeline import backfill
from viewkeeper.store import groups
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.scan import ALL
from viewkeeper.views import fill

TABLE = "CREATE TABLE T (id BIGINT PRIMARY KEY, g STRING, n BIGINT)"
VIEWS = (
    "CREATE VIEW Totals AS SELECT g, COUNT(*) AS c, SUM(n) AS s, MIN(n) AS low, MAX(n) AS high FROM T GROUP BY g",
    "CREATE VIEW Ends AS SELECT g, MAX(n) AS high FROM T GROUP BY g",
    "CREATE VIEW Sizes AS SELECT c, COUNT(*) AS many FROM Totals GROUP BY c",
    "CREATE INDEX ByN ON T (n DESC) INCLUDE (g)",
    "CREATE VIEW Kinds AS SELECT DISTINCT g FROM T WHERE n % 3 > 0",
    "CREATE VIEW Pairs AS SELECT a.g, COUNT(*) AS c, MAX(b.n) AS high FROM T a JOIN T b ON a.n = b.n GROUP BY a.g",
    "CREATE VIEW Alone AS SELECT a.id, t.c FROM T a LEFT JOIN Totals t ON a.g = t.g AND t.low < a.n",
)


def store_of(db: vk.Database) -> EmbeddedStore:
    return db._shared


def prepare(path: Path, rows: int = 9) -> vk.Database:
    """Open a new database with the table and some rows."""
    db = vk.open(path, durability="os")
    db.execute(TABLE)
    write(db, 1, rows)
    return db


def write(db: vk.Database, seed: int, transactions: int) -> None:
    """Transactions of one to four puts and deletes of a few keys."""
    chance = random.Random(seed)
    for _ in range(transactions):
        with db.transaction() as tx:
            for _ in range(chance.randint(1, 4)):
                key = chance.randrange(12)
                if chance.random() < 0.25:
                    tx.delete("T", key)
                else:
                    tx.put("T", {"id": key, "g": chance.choice("abc"), "n": chance.randrange(6)})


def base(store: EmbeddedStore, position: int) -> list[Cells]:
    codec = store.catalog().codec("T")
    return [row for part in store.snapshot(store.position(position)).scan(codec, ALL) for row in part]


def check(db: vk.Database, *, at_head: bool = True) -> None:
    """Views are what they have to be where their watermark says that they are, and the log knows that place."""
    store = store_of(db)
    assert check_views(store, lambda position: base(store, position)) > 0
    for state in store.view_tables.groups().values():
        assert store.transaction_before(state.watermark) == (state.transaction, state.committed_at)
        if at_head:
            assert state.watermark == store.offset(store.head())
            assert state.filled is None


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(10)


class Killer:
    """Kills the process when a step comes up for the n-th time."""

    def __init__(self, step: str, times: int) -> None:
        self.step = step
        self.times = times

    def __call__(self, name: str) -> None:
        if name == self.step:
            self.times -= 1
            if self.times == 0:
                die()


def maintain_and_die(path: str, step: str, times: str = "1") -> None:
    """Maintain until a step comes up."""
    with vk.open(path) as db:
        finish(maintainer(store_of(db), batch_changes=5, step=Killer(step, int(times))))
    say("ended")


def die_inside_apply(path: str) -> None:
    """Die with rows written and the watermark not, before the transaction commits."""

    def set_group(*_: Any) -> None:
        die()

    with vk.open(path) as db:

        def armed(name: str) -> None:
            if name == "computed":
                groups.set_group = set_group  # type: ignore[assignment]

        finish(maintainer(store_of(db), step=armed))
    say("ended")


def fill_and_die(path: str, step_rows: str, times: str) -> None:
    """Fill in small steps until there were so many."""
    fill.STEP_ROWS = int(step_rows)
    # Whoever goes on has to wait for this claim.
    backfill.CLAIM_SECONDS = 0.3
    killer = Killer("step", int(times))
    with vk.open(path) as db:
        maintainer(store_of(db), progress=lambda _: killer("step")).round()
    say("ended")


def write_for_long(path: str, seed: str, transactions: str) -> None:
    with vk.open(path) as db:
        say("writing")
        for number in range(int(transactions)):
            write(db, int(seed) * 10_000 + number, 1)
    say("ended")


def maintain_until_told(path: str) -> None:
    """Maintain again and again until a line comes in; then to the end."""
    with vk.open(path) as db:
        keeping = maintainer(store_of(db), batch_changes=7)
        say("maintaining")
        os.set_blocking(sys.stdin.fileno(), False)
        while not sys.stdin.readline():
            keeping.round()
        finish(keeping)
    say("ended")
