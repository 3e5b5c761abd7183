"""What reads take on this machine, measured once in each process: in a small store of their own, through the same code.

A store of its own and not the database: there, what would be measured is what happens to be in it, and an empty one
could not be asked at all. So the figures are those of data in memory. What the disk adds to a database that is larger
is not in them.

What else runs on the machine is not in them either: they are to say the same today and tomorrow. So the clock is the
processor time of the thread, which stands still while another one has the processor. And since a busy machine only ever
adds to that, each query is run in several short batches, spread over the time that there is, and the k-th fastest of a
batch counts as in the batch where it was fastest. What is slow in every batch, as a query is now and then, stays; what
a pause has added to one of them does not.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from viewkeeper.analysis.latency import Samples, latency_of
from viewkeeper.analysis.verdict import Verdict
from viewkeeper.errors import WrongType
from viewkeeper.model.duration import milliseconds
from viewkeeper.model.schema import Cardinality, Column, Table
from viewkeeper.model.types import BIGINT, STRING
from viewkeeper.read.consistency import ANY
from viewkeeper.read.handle import Handle

if TYPE_CHECKING:
    from viewkeeper.store.interface import Store

GROUPS, ROWS = 10, 50
"""Keys of the store that is measured in, and rows under each of them."""

BUDGET_MS = 40
"""How long batches are begun."""

BATCH = 16
"""Executions of one query in a batch."""

LEAST_BATCHES = 4
"""Batches of each query, however long they take."""

ONE = "SELECT b, text FROM t WHERE a = :a AND b = 1"
RANGE = "SELECT b, text FROM t WHERE a = :a"
LOOKUPS = "SELECT x.b, y.text FROM t x LEFT JOIN t y ON y.a = x.next AND y.b = x.b WHERE x.a = :a"
STARTS = f"SELECT b, text FROM t WHERE a IN ({', '.join(map(str, range(GROUPS)))}) AND b > {ROWS - 2}"

_lock = threading.Lock()
_known: list[Samples] = []


def predicted(handle: Handle, verdict: Verdict) -> tuple[float, float] | None:  # noqa: ARG001  all databases read alike
    """The median and the 99th percentile of an execution at its bounds, in ms; None if it has none."""
    if verdict.physical is None:
        return None
    return latency_of(verdict.physical, measured())


def goal_of(slo: str | float) -> float:
    """A latency that is asked for, in ms; a text has a unit. WrongType if it is none, or not above zero.

    >>> goal_of("10ms"), goal_of("0.5 ms"), goal_of(2)
    (10.0, 0.5, 2.0)
    """
    if isinstance(slo, str):
        milliseconds(slo)
        number, unit = re.fullmatch(r"\s*([0-9.]+)\s*([a-zA-Z]+)\s*", slo).groups()  # type: ignore[union-attr]
        goal = float(number) * milliseconds(f"1{unit}")
    else:
        goal = float(slo)
    if not goal > 0:
        raise WrongType(f"slo is {slo!r}", hint='It is above zero, such as "10ms".')
    return goal


def measured() -> Samples:
    """What reads take here; measured at the first call."""
    with _lock:
        if not _known:
            with TemporaryDirectory(prefix="viewkeeper-") as folder:
                _known.append(_measure(folder))
        return _known[0]


def _measure(folder: str) -> Samples:
    from viewkeeper.store.registry import close_store, open_store

    store = open_store(folder, durability="os")
    try:
        _fill(store)
        handle = Handle(store)
        one, many, lookups, starts = _timed([_runner(handle, sql) for sql in (ONE, RANGE, LOOKUPS, STARTS)])
    finally:
        close_store(store)
    return samples_of(one, many, lookups, starts)


def samples_of(one: list[float], many: list[float], lookups: list[float], starts: list[float]) -> Samples:
    """What single reads take, from how long the four queries took.

    A sample of a read is how much longer than the median of a query without it one took, for each read.
    """
    row = [max(0.0, took - median(one)) / ROWS for took in _steady(many)]
    get = [max(0.0, took - median(many)) / ROWS for took in _steady(lookups)]
    start = [max(0.0, took - median(one)) / (GROUPS - 1) for took in _steady(starts)]
    return Samples(query=[max(0.0, took - median(get)) for took in one], get=get, range=start, row=row)


def _steady(times: list[float]) -> list[float]:
    """All but the slowest tenth: the machine paused there, which happens to a query, not to each of its reads."""
    return sorted(times)[: max(1, len(times) * 9 // 10)]


def _fill(store: Store) -> None:
    columns = [Column(name=name, type=BIGINT) for name in ("a", "b", "next")]
    table = Table(
        name="t",
        columns=(*columns, Column(name="text", type=STRING)),
        primary_key=("a", "b"),
        cardinalities=(Cardinality(columns=("b",), limit=ROWS),),
    )
    number = store.create_table(table).id
    codec = store.catalog().codecs[number]
    work = store.transaction()
    for a in range(GROUPS):
        for b in range(ROWS):
            row = (a, b, (a + 1) % GROUPS, f"row {b} of {a}, as long as such a text is")
            work.put(codec, codec.key.encode(row), dict(enumerate(row)))
    work.commit()


def _runner(handle: Handle, sql: str) -> Callable[[int], Any]:
    from viewkeeper.read.prepared import prepare, run
    from viewkeeper.read.query import parse_query

    named = ":a" in sql

    def once(number: int) -> Any:
        params = {"a": number % GROUPS} if named else {}
        prepared = prepare(handle.store, handle.store.catalog(), parse_query(sql, params), sql)
        # As a plan, also where there is a shorter way.
        prepared.by_key = False
        return list(run(handle, prepared, params, ANY, allow_scan=False))

    return once


def _timed(queries: Sequence[Callable[[int], Any]]) -> list[list[float]]:
    """What the executions of each query take, in ms: batches of all queries in turn, until the time is over."""
    for query in queries:
        for number in range(3):
            query(number)
    batches: list[list[list[float]]] = [[] for _ in queries]
    begin = time.perf_counter()
    while len(batches[0]) < LEAST_BATCHES or (time.perf_counter() - begin) * 1e3 < BUDGET_MS:
        for query, found in zip(queries, batches, strict=True):
            found.append(_batch(query))
    return [quietest(found) for found in batches]


def _batch(query: Callable[[int], Any]) -> list[float]:
    found: list[float] = []
    # The first one finds the caches as the query before has left them.
    query(BATCH)
    for number in range(BATCH):
        begin = time.thread_time()
        query(number)
        found.append((time.thread_time() - begin) * 1e3)
    return found


def quietest(batches: Sequence[Sequence[float]]) -> list[float]:
    """The fastest over all batches, the second fastest, and so on, each as in the batch where it took the least.

    >>> quietest([[5, 1, 9], [2, 30, 1]])
    [1, 2, 9]
    """
    return [min(times) for times in zip(*map(sorted, batches), strict=True)]
