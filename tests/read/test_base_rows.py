"""Rows found through an index: as they were where the index stands, so that each meets what its entry was found by."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from viewkeeper.errors import Unsupported


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(
            "CREATE TABLE Items (a BIGINT, b STRING, price BIGINT, words STRING, note STRING, PRIMARY KEY (a, b))"
        )
        for number in range(30):
            row = {"a": number, "b": f"b{number}", "price": number % 7, "words": "red fish", "note": f"n{number}"}
            db.put("Items", row)
        yield db


@pytest.mark.parametrize("mode", ["DEFERRED", "SYNC", "LAZY", "LOCAL"])
def test_five_are_five_and_each_is_where_its_entry_is(db: vk.Database, mode: str) -> None:
    db.execute(f"CREATE INDEX ByPrice ON Items (price DESC) MAINTAIN {mode}")
    chance = random.Random(5)
    for _ in range(40):
        for _ in range(chance.randrange(4)):
            key = chance.randrange(30)
            if chance.random() < 0.3:
                db.delete("Items", key, f"b{key}")
            else:
                db.put("Items", {"a": key, "b": f"b{key}", "price": chance.randrange(7), "note": "new"})
        for level in ("any", "latest"):
            wanted = chance.randrange(7)
            rows = db.scan("ByPrice", prefix=(wanted,), base_rows=True, consistency=level)
            found = list(rows)
            assert [row["price"] for row in found] == [wanted] * len(found)
            with db.snapshot(rows.meta.position) as past:
                assert {row["a"] for row in found} == {row["a"] for row in past.scan("Items") if row["price"] == wanted}
                assert all(past.get("Items", row["a"], row["b"]) == row for row in found)
            assert rows.meta.operations == 1 + len(found)
        assert len(list(db.scan("ByPrice", limit=5, base_rows=True))) == 5
    db.maintain()


def test_a_row_that_moved_since_is_read_as_its_entry_says(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByPrice ON Items (price)")
    with db.snapshot() as before:
        db.put("Items", {"a": 3, "b": "b3", "price": 100, "note": "dear"})
        db.delete("Items", 10, "b10")
        found = list(before.scan("ByPrice", prefix=(3,), base_rows=True))
        assert [(row["a"], row["note"]) for row in found] == [(3, "n3"), (10, "n10"), (17, "n17"), (24, "n24")]
    assert [row["a"] for row in db.scan("ByPrice", prefix=(3,), base_rows=True)] == [3, 10, 17, 24]
    latest = db.scan("ByPrice", prefix=(3,), base_rows=True, consistency="latest")
    assert [row["a"] for row in latest] == [17, 24]
    with db.session() as session:
        session.put("Items", {"a": 50, "b": "x", "price": 3})
        assert [row["a"] for row in session.scan("ByPrice", prefix=(3,), base_rows=True)] == [17, 24, 50]


def test_words_have_their_rows(db: vk.Database) -> None:
    db.execute("CREATE INDEX ByWord ON Items (TOKENS(words), price)")
    assert len(list(db.scan("ByWord", prefix=("fish",), base_rows=True))) == 30
    assert next(iter(db.scan("ByWord", prefix=("red", 6), base_rows=True)))["words"] == "red fish"


def test_only_an_index_of_a_table_has_base_rows(db: vk.Database) -> None:
    db.execute("CREATE VIEW V AS SELECT price, COUNT(*) AS n FROM Items GROUP BY price")
    db.execute("CREATE INDEX OnView ON V (n)")
    for name in ("V", "OnView"):
        with pytest.raises(Unsupported, match="not of one table"):
            db.scan(name, base_rows=True)
