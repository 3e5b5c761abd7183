"""Transactions of many threads over few keys: as if they had run one after the other, in the order of their positions.

Each transaction notes what it read. Afterwards the log is replayed: everything that a committed transaction read must
be what the replayed tables hold right before its own changes.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from tests.store.harness import EMBEDDED
from tests.store.model import same
from tests.store.shapes import between, codec_of, column, encoded, fill, put, rows, scan, table
from viewkeeper.errors import Conflict
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import BIGINT, INT, Row
from viewkeeper.store.interface import Interval, Store, StoreTransaction, WriteSet

THREADS = 6
EACH = 40
ACCOUNTS = table("Accounts", ("id",), column("id", BIGINT), column("balance", BIGINT), column("owner", INT))
EVENTS = table("Events", ("id",), column("id", BIGINT), column("thread", INT))
MARKS = table("Marks", ("thread", "number"), column("thread", INT), column("number", INT))
"""A row for each transaction that writes, so that each changes something and has a block of its own."""
TABLES = (ACCOUNTS, EVENTS, MARKS)


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    opened = EMBEDDED.open(folder)
    for made in TABLES:
        opened.create_table(made)
    yield opened
    EMBEDDED.close(opened)


@dataclass(frozen=True)
class Read:
    """What one get or scan gave; a get is a scan of one key."""

    codec: RowCodec
    interval: Interval
    rows: tuple[Row, ...]
    limit: int | None = None
    reverse: bool = False


@dataclass
class Attempt:
    """A transaction that notes its reads. It reads before it writes, so what it reads is the store's."""

    tx: StoreTransaction
    random: Random
    reads: list[Read] = field(default_factory=list)
    position: int = -1
    writes: bool = False

    def get(self, codec: RowCodec, number: int) -> Row | None:
        key = encoded(codec, number)
        row = self.tx.get(codec, key)
        self.reads.append(Read(codec, Interval(key, key + b"\0"), () if row is None else (row,)))
        return row

    def scan(self, codec: RowCodec, interval: Interval, limit: int | None = None, reverse: bool = False) -> list[Row]:
        found = scan(self.tx, codec, interval, limit=limit, reverse=reverse)
        self.reads.append(Read(codec, interval, tuple(found), limit, reverse))
        return found

    def put(self, codec: RowCodec, *cells: int) -> None:
        self.writes = True
        self.tx.put(codec, encoded(codec, cells[0]), dict(enumerate(cells)))


def run(store: Store, work: Callable[[Attempt, int], None], seed: int) -> tuple[list[Attempt], int]:
    """EACH transactions in each of THREADS threads, again after a Conflict; the committed ones, and the conflicts."""
    barrier = threading.Barrier(THREADS)
    marks = codec_of(store, "Marks")

    def thread(number: int) -> tuple[list[Attempt], int]:
        random = Random(seed * 100 + number)
        done: list[Attempt] = []
        conflicts = 0
        barrier.wait()
        while len(done) < EACH:
            attempt = Attempt(store.transaction(), random)
            work(attempt, number)
            if attempt.writes:
                attempt.tx.put(marks, encoded(marks, number, len(done)), {0: number, 1: len(done)})
            # Leaves the others time to get between the reads and the commit.
            time.sleep(random.random() * 0.001)
            try:
                attempt.position = store.offset(attempt.tx.commit())
            except Conflict:
                conflicts += 1
                continue
            done.append(attempt)
        return done, conflicts

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(thread, range(THREADS)))
    return [attempt for done, _ in results for attempt in done], sum(conflicts for _, conflicts in results)


def replayed(store: Store) -> tuple[dict[int, dict[int, dict[bytes, Row]]], dict[int, int]]:
    """The tables at each transaction boundary, rebuilt from the log alone; and the start of each block by its end."""
    codecs = {codec.table.id: codec for codec in (codec_of(store, made.name) for made in TABLES)}
    now: dict[int, dict[bytes, Row]] = {number: {} for number in codecs}
    states = {0: {number: dict(by_key) for number, by_key in now.items()}}
    starts: dict[int, int] = {}
    lower = store.position(0)
    while blocks := store.blocks(lower):
        for block in blocks:
            for section in block.sections:
                codec = codecs[section.table]
                for before, after in section.pairs(codec):
                    row = before or after
                    assert row is not None
                    key = codec.key.encode(row)
                    assert same(before, now[section.table].get(key))
                    now[section.table].pop(key, None)
                    if after is not None:
                        now[section.table][key] = after
            states[block.end] = {number: dict(by_key) for number, by_key in now.items()}
            starts[block.end] = block.start
            lower = store.position(block.end)
    return states, starts


def check_serial(store: Store, done: list[Attempt]) -> None:
    """Each committed transaction has read the state right before its changes, or at its position if it only read."""
    states, starts = replayed(store)
    for attempt in done:
        moment = starts[attempt.position] if attempt.writes else attempt.position
        for read in attempt.reads:
            state = states[moment][read.codec.table.id]
            keys = sorted((key for key in state if key in read.interval), reverse=read.reverse)
            assert [state[key] for key in keys][: read.limit] == list(read.rows), (attempt.position, read)
    writers = [attempt.position for attempt in done if attempt.writes]
    assert len(set(writers)) == len(writers)
    for name in (made.name for made in TABLES):
        codec = codec_of(store, name)
        last = states[store.offset(store.head())][codec.table.id]
        assert rows(store, name) == [last[key] for key in sorted(last)]


@pytest.mark.parametrize("seed", range(3))
def test_transfers_keep_the_total_and_no_account_goes_below_zero(store: Store, seed: int) -> None:
    accounts = codec_of(store, "Accounts")
    fill(store, "Accounts", [{"id": number, "balance": 10} for number in range(5)])

    def transfer(attempt: Attempt, thread: int) -> None:
        source, target = attempt.random.sample(range(5), 2)
        balances = {}
        for number in (source, target):
            row = attempt.get(accounts, number)
            assert row is not None
            balances[number] = int(row[1] or 0)
        amount = attempt.random.randint(1, 6)
        if balances[source] >= amount:
            attempt.put(accounts, source, balances[source] - amount, thread)
            attempt.put(accounts, target, balances[target] + amount, thread)

    done, conflicts = run(store, transfer, seed)
    assert conflicts > 0
    states, _ = replayed(store)
    for offset, state in states.items():
        balances = [int(row[1] or 0) for row in state[accounts.table.id].values()]
        assert sum(balances) == (50 if offset else 0)
        assert min(balances, default=0) >= 0
    check_serial(store, done)


def test_no_increment_is_lost(store: Store) -> None:
    accounts = codec_of(store, "Accounts")
    fill(store, "Accounts", [{"id": number, "balance": 0} for number in range(3)])

    def increment(attempt: Attempt, thread: int) -> None:
        number = attempt.random.randrange(3)
        row = attempt.get(accounts, number)
        assert row is not None
        attempt.put(accounts, number, int(row[1] or 0) + 1, thread)

    done, conflicts = run(store, increment, 1)
    assert conflicts > 0
    assert sum(int(row[1] or 0) for row in rows(store, "Accounts")) == len(done) == THREADS * EACH
    check_serial(store, done)


def test_blind_writes_are_never_refused(store: Store) -> None:
    accounts = codec_of(store, "Accounts")

    def write(attempt: Attempt, thread: int) -> None:
        attempt.put(accounts, attempt.random.randrange(3), thread, 0)

    done, conflicts = run(store, write, 2)
    assert conflicts == 0
    assert len(done) == THREADS * EACH
    check_serial(store, done)


@pytest.mark.parametrize("by_scan", [False, True], ids=["by get", "by scan"])
def test_of_two_on_call_one_stays_at_every_position(store: Store, by_scan: bool) -> None:
    """Write skew: each may leave if the other is there, and neither writes what the other one reads."""
    accounts = codec_of(store, "Accounts")
    pairs = 4
    fill(store, "Accounts", [{"id": number, "balance": 1} for number in range(2 * pairs)])

    def leave_or_return(attempt: Attempt, thread: int) -> None:
        pair = attempt.random.randrange(pairs)
        mine, other = attempt.random.sample([2 * pair, 2 * pair + 1], 2)
        if by_scan:
            there = {row[0]: row[1] for row in attempt.scan(accounts, between(accounts, 2 * pair, 2 * pair + 2))}
        else:
            there = {number: (attempt.get(accounts, number) or (0, 0))[1] for number in (mine, other)}
        if not there[mine]:
            attempt.put(accounts, mine, 1, thread)
        elif there[other]:
            attempt.put(accounts, mine, 0, thread)

    done, conflicts = run(store, leave_or_return, 3)
    assert conflicts > 0
    states, _ = replayed(store)
    for offset, state in states.items():
        present = {int(row[0] or 0): row[1] for row in state[accounts.table.id].values()}
        assert offset == 0 or all(present[2 * pair] or present[2 * pair + 1] for pair in range(pairs))
    check_serial(store, done)


@pytest.mark.parametrize("reverse", [False, True], ids=["scan all", "last row only"])
def test_next_number_behind_the_last_row_is_given_once(store: Store, reverse: bool) -> None:
    """Phantoms: the row that conflicts was not there when it was read."""
    events = codec_of(store, "Events")

    def append(attempt: Attempt, thread: int) -> None:
        found = attempt.scan(events, Interval(), 1 if reverse else None, reverse)
        number = int(found[0 if reverse else -1][0] or 0) + 1 if found else 0
        attempt.put(events, number, thread)

    done, conflicts = run(store, append, 4)
    assert conflicts > 0
    assert [row[0] for row in rows(store, "Events")] == list(range(THREADS * EACH))
    assert Counter(row[1] for row in rows(store, "Events")) == dict.fromkeys(range(THREADS), EACH)
    check_serial(store, done)


@pytest.mark.parametrize("seed", range(4))
def test_any_mix_of_reads_and_writes_is_serial(store: Store, seed: int) -> None:
    """Gets, scans of any limit and direction, puts and deletes, on two tables; some transactions only read."""
    tables = [codec_of(store, "Accounts"), codec_of(store, "Events")]
    fill(store, "Accounts", [{"id": number, "balance": number} for number in range(12)])

    def anything(attempt: Attempt, thread: int) -> None:
        random = attempt.random
        for _ in range(random.randint(0, 3)):
            codec = random.choice(tables)
            if random.random() < 0.5:
                attempt.get(codec, random.randrange(15))
            else:
                lower, upper = sorted(random.sample(range(-1, 17), 2))
                attempt.scan(codec, between(codec, lower, upper), random.choice([None, 1, 3]), random.random() < 0.5)
        for _ in range(random.randint(0, 2)):
            codec = random.choice(tables)
            number = random.randrange(15)
            attempt.writes = True
            if random.random() < 0.3:
                attempt.tx.remove(codec, encoded(codec, number))
            else:
                attempt.put(codec, number, random.randrange(1_000))

    done, conflicts = run(store, anything, seed)
    assert conflicts > 0
    check_serial(store, done)


def test_serial_check_finds_a_lost_update(store: Store) -> None:
    """The check itself: a history in which two transactions have read the same state and both written must fail."""
    accounts = codec_of(store, "Accounts")
    put(store, "Accounts", id=1, balance=0)
    first, second = (Attempt(store.transaction(), Random(0)) for _ in range(2))
    for attempt in (first, second):
        attempt.get(accounts, 1)
        writes = WriteSet()
        writes.put(accounts, encoded(accounts, 1), {0: 1, 1: 1, 2: 0 if attempt is first else 1})
        attempt.writes = True
        attempt.position = store.offset(store.commit(writes))
    check_serial(store, [first])
    with pytest.raises(AssertionError):
        check_serial(store, [first, second])
