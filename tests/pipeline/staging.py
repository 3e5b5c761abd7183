"""Staging views, views of their first rows, and a reader that counts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import viewkeeper as vk
from tests.pipeline.shop import store_of
from viewkeeper.model.view import View
from viewkeeper.plan.relation import scans
from viewkeeper.store import snapshot
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.views import firstrows

TAGS = "CREATE TABLE Tags (docId BIGINT, tag STRING, ts BIGINT, x DOUBLE, PRIMARY KEY (docId, tag))"
STAGING = """
CREATE VIEW Staging KEY (part, ts DESC, docId, tag) MAINTAIN {mode} AS
SELECT HASH(tag, docId) INTO {parts} AS part, ts, docId, tag FROM Tags
"""
POPULAR = """
CREATE VIEW Popular MAINTAIN PERIODIC 1 MINUTE AS
SELECT tag, COUNT(*) AS c FROM (SELECT * FROM Staging ORDER BY ts DESC LIMIT {count}) AS t GROUP BY tag
"""
ORDERS = {
    "as stored": ("part, ts, docId, tag", "ts DESC"),
    "in another order of columns": ("tag, ts, part, docId", "ts DESC"),
    "backwards": ("part, ts, docId, tag", "ts"),
    "all backwards": ("tag, docId, ts", "ts, docId DESC, tag DESC"),
    "by the part first": ("part, ts, docId, tag", "part DESC, ts DESC"),
    "by more of the key": ("ts, tag, docId", "ts DESC, docId"),
    "few columns": ("ts", "ts DESC"),
    "with what is computed": ("UPPER(tag) AS shown, ts, docId, 7 AS seven", "ts DESC"),
    "not as stored": ("part, ts, docId, tag", "docId"),
    "by what fails": ("100 / (ts - 3) AS quotient, ts, docId, tag", "ts DESC"),
}
"""What is shown of a staging view, and the order of which the first rows are taken."""


def some_tags(chance: random.Random, count: int, *, moments: int = 4) -> list[dict[str, Any]]:
    """Rows of Tags of which very many are of the same moment, or of none."""
    keys = [(doc, tag) for doc in range(count) for tag in "abc"]
    return [
        {
            "docId": doc,
            "tag": tag,
            "ts": None if chance.random() < 0.1 else chance.randrange(moments),
            "x": chance.choice([None, 0.0, -0.0, 1.5, float("nan"), float("-inf")]),
        }
        for doc, tag in chance.sample(keys, count)
    ]


def view_of(db: vk.Database, name: str) -> View:
    return store_of(db).catalog().known_view(name)


def rows_of(db: vk.Database, name: str) -> Counter[str]:
    return Counter(map(repr, db.scan(name)))


@contextmanager
def everything_read() -> Iterator[None]:
    """Inside, views that are computed whole read all rows of what they read."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(firstrows, "reads_of", lambda relation, _: [None for _ in scans(relation)])
        yield


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Inside, how many stored rows are read of each table and view by its name, in this process."""
    found: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patched:
        view_slice, table_slice = ViewReading.slice, snapshot.read_slice

        def of_view(self: Any, codec: Any, *args: Any, **options: Any) -> Any:
            items = view_slice(self, codec, *args, **options)
            found[codec.table.name] += len(items)
            return items

        def of_table(txn: Any, db: Any, codec: Any, *args: Any, **options: Any) -> Any:
            items = table_slice(txn, db, codec, *args, **options)
            found[codec.table.name] += len(items)
            return items

        patched.setattr(ViewReading, "slice", of_view)
        patched.setattr(snapshot, "read_slice", of_table)
        yield found
