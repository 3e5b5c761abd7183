"""What keeping a join reads: the log and the view's own tables, never a base table again once it is filled."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from viewkeeper.store.embedded import EmbeddedStore

VIEWS = {
    "Pairs": "SELECT b.g, COUNT(*) AS n FROM A a JOIN B b ON a.k = b.id GROUP BY b.g",
    "Guarded": "SELECT a.id, b.id AS other FROM A a FULL JOIN B b ON a.k = b.g AND a.id <> b.id",
    "Idle": "SELECT id FROM B WHERE NOT EXISTS (SELECT 1 FROM A WHERE A.k = B.id)",
    "Beside": "SELECT g, COUNT(*) AS n FROM (SELECT k AS g FROM A UNION ALL SELECT g FROM B) x GROUP BY g",
}


def test_a_filled_join_reads_no_base_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE A (id INT PRIMARY KEY, k INT)")
        db.execute("CREATE TABLE B (id INT PRIMARY KEY, g INT)")
        for number in range(20):
            db.put("A", {"id": number, "k": number % 7})
            db.put("B", {"id": number % 9, "g": number % 4})
        for name, query in VIEWS.items():
            db.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        for number in range(30):
            db.put("A", {"id": number, "k": number % 5})
            db.delete("B", number % 3)
            db.put("B", {"id": number % 11, "g": number % 3})

        def refused(*_: Any, **__: Any) -> Any:
            raise AssertionError("a base table was read")

        with monkeypatch.context() as patch:
            for method in ("snapshot", "get", "get_many", "scan"):
                if hasattr(EmbeddedStore, method):
                    patch.setattr(EmbeddedStore, method, refused)
            report = db.maintain()
        assert not report.failed
        assert report.changes > 0
        assert all(db.verify(name).ok for name in VIEWS)


@pytest.mark.parametrize(("column", "entries"), [("note", 1), ("k", 2)])
def test_a_change_writes_at_most_two_entries_of_a_join_index(tmp_path: Path, column: str, entries: int) -> None:
    """One if its join key stays, two if it moves; whatever stands on the other side."""
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE A (id INT PRIMARY KEY, k INT, note INT)")
        db.execute("CREATE TABLE B (id INT PRIMARY KEY, k INT)")
        db.put("A", {"id": 1, "k": 1, "note": 1})
        for number in range(50):
            db.put("B", {"id": number, "k": 1})
        db.execute("CREATE JOIN INDEX Both ON A (k), B (k)")
        db.maintain()
        since = db.head()
        db.put("A", {"id": 1, column: 2})
        db.maintain()
        # A change of the feed is one entry: before, after, or both.
        assert len(list(db.changes("Both", since=since))) == entries


def test_join_keys_may_be_longer_than_keys_of_the_store(tmp_path: Path) -> None:
    """Around the length from which keys are digested, and with the same beginning."""
    draw = random.Random(1)
    keys = [*("x" * 600 + end for end in "abc"), *("x" * 490 + end for end in "ab"), "y" * 494, "y" * 495, "y" * 496]
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE A (id INT PRIMARY KEY, k STRING)")
        db.execute("CREATE TABLE B (id STRING PRIMARY KEY, k STRING, n INT)")
        db.execute("CREATE VIEW V AS SELECT a.id, b.id AS other FROM A a LEFT JOIN B b ON a.k = b.k AND b.n <> a.id")
        db.execute("CREATE VIEW W AS SELECT b.n, COUNT(*) AS c FROM A a JOIN B b ON a.k = b.k GROUP BY b.n")
        db.execute("CREATE JOIN INDEX J ON A (k), B (k)")
        for _ in range(4):
            for _ in range(30):
                db.put("A", {"id": draw.randrange(30), "k": draw.choice(keys)})
                db.put(
                    "B", {"id": draw.choice(keys) + draw.choice("uv"), "k": draw.choice(keys), "n": draw.randrange(5)}
                )
                db.delete("A", draw.randrange(90))
            db.maintain()
            assert all(db.verify(name).ok for name in "VWJ")
        found = {key: [row["table"] for row in db.scan("J", prefix=(key,))] for key in keys}
        for table in "AB":
            for key in keys:
                rows = [row for row in db.scan(table) if row["k"] == key]
                assert found[key].count(table) == len(rows)
