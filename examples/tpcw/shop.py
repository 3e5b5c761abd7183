"""The bookstore as its pages see it: prepared queries, transactions, the time, new keys."""

from __future__ import annotations

import itertools
import random
import re
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

import viewkeeper as vk
from examples.tpcw.clock import Clock

QUERIES = (Path(__file__).parent / "queries.sql").read_text(encoding="utf-8")
TUPLE_WINDOWS = frozenset({"best_sellers_last_orders", "bought_together_last_orders"})
"""These need views that are computed anew on Spark; the pages ask over an hour instead."""

Mode = Literal["SYNC", "DEFERRED"]
Row = dict[str, Any]
T = TypeVar("T")


def named_queries(text: str = QUERIES) -> dict[str, str]:
    """The statements of a text, each behind a line `-- name: …`.

    >>> named_queries("-- about all\\n-- name: one\\n-- about one\\nSELECT 1;\\n-- name: two\\nSELECT 2")
    {'one': '-- about one\\nSELECT 1', 'two': 'SELECT 2'}
    """
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return {name: body.strip().removesuffix(";") for name, body in zip(parts[::2], parts[1::2], strict=True)}


class Shop:
    """Thread-safe, as the database is."""

    def __init__(self, db: vk.Database, queries: Mapping[str, Callable[..., vk.Rows]], clock: Clock) -> None:
        self.db = db
        self.clock = clock
        self._queries = queries
        self._numbers = itertools.count(random.getrandbits(12))

    def ask(self, name: str, /, **params: Any) -> list[Row]:
        return self._queries[name](**params).all()

    def first(self, name: str, /, **params: Any) -> Row | None:
        return next(iter(self.ask(name, **params)), None)

    def new_key(self) -> int:
        """Grows with time; two processes would have to draw one number in one millisecond to get it twice."""
        return time.time_ns() // 1_000_000 << 12 | next(self._numbers) & 0xFFF

    def write(self, work: Callable[[vk.Transaction], T]) -> T:
        """What `work` gives in a transaction; again, if another one came in between."""
        while True:
            try:
                with self.db.transaction() as tx:
                    return work(tx)
            except vk.Conflict:
                continue


def open_shop(db: vk.Database, mode: Mode, *, only: Collection[str] | None = None, spark: Any = None) -> Shop:
    """Prepare the queries of the pages; what they need is made, and filled: on Spark, if there is much.

    Args:
        only: the names of the queries, if not all of them are wanted.
        spark: as for `db.maintain`.
    """
    chosen = {
        name: sql
        for name, sql in named_queries().items()
        if name not in TUPLE_WINDOWS and (only is None or name in only)
    }
    for name, sql in chosen.items():
        db.prepare(sql, create=True, maintain=mode, name=name)
    db.maintain(spark=spark)
    # Once more, now that everything is there: a query is analysed again behind whatever was made after it.
    return Shop(db, {name: db.prepare(sql) for name, sql in chosen.items()}, Clock())
