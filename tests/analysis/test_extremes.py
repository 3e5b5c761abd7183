"""MIN and MAX without groups: the first row in the order of a key or index has them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

TABLES = """
CREATE TABLE messages (channel BIGINT, id BIGINT, PRIMARY KEY (channel, id));
CREATE TABLE posts (id INT PRIMARY KEY, author INT, at INT, likes INT);
CREATE INDEX by_author_at ON posts (author, at) MAINTAIN SYNC;
CREATE INDEX by_author_likes ON posts (author, likes DESC) MAINTAIN SYNC;
CREATE TABLE measured (place INT, id INT, number DOUBLE, text STRING, PRIMARY KEY (place, id));
CREATE INDEX by_number ON measured (place, number) MAINTAIN SYNC;
CREATE INDEX by_text ON measured (place, text DESC) MAINTAIN SYNC;
"""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    """Author 1 has posts with and without a time, author 2 has only such without one, author 3 has none."""
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        db.load("messages", [{"channel": c, "id": n} for c in (1, 2) for n in range(10 * c, 10 * c + 5)])
        times = {1: [None, 7, 3, 9, None], 2: [None, None]}
        rows = [(author, at) for author, all_of in times.items() for at in all_of]
        db.load("posts", [{"id": n, "author": a, "at": at, "likes": at} for n, (a, at) in enumerate(rows)])
        yield db


def _asked(db: vk.Database, sql: str, **params: Any) -> tuple[str, list[tuple[Any, ...]]]:
    """The level, and the answer, which takes one operation and finds at most one row."""
    verdict, rows = db.explain(sql), db.query(sql, **params)
    found = [tuple(row.values()) for row in rows]
    assert (verdict.operations_max, verdict.rows_max, verdict.needs) == (1, 1, ())
    assert rows.meta.operations == 1
    assert rows.meta.rows <= 1
    return verdict.level, found


@pytest.mark.parametrize(
    ("sql", "answer"),
    [
        ("SELECT MAX(id) AS last FROM messages WHERE channel = 1", 14),
        ("SELECT MIN(id) AS first FROM messages WHERE channel = 1", 10),
        ("SELECT MIN(id) AS next FROM messages WHERE channel = 1 AND id > 12", 13),
        ("SELECT MAX(id) AS previous FROM messages WHERE channel = 1 AND id < 12", 11),
        ("SELECT MIN(id) + 1 AS n FROM messages WHERE channel = 2", 21),
        ("SELECT MAX(m.channel) AS n FROM messages m", 2),
        ("SELECT MAX(id) AS last FROM messages WHERE channel = 3", None),
        ("SELECT MIN(id) AS next FROM messages WHERE channel = 1 AND id > 14", None),
    ],
)
def test_a_primary_key_in_that_order_is_read_at_one_end(db: vk.Database, sql: str, answer: int | None) -> None:
    assert _asked(db, sql) == ("SI-0", [(answer,)])


@pytest.mark.parametrize("column", ["at", "likes"])
@pytest.mark.parametrize(("call", "first"), [("MAX", 9), ("MIN", 3)])
def test_null_is_neither_the_least_nor_the_greatest(db: vk.Database, call: str, column: str, first: int) -> None:
    sql = f"SELECT {call}({column}) AS n FROM posts WHERE author = :a"
    for author, answer in ((1, first), (2, None), (3, None)):
        assert _asked(db, sql, a=author)[1] == [(answer,)]


def test_an_index_is_advised_and_not_a_view(db: vk.Database) -> None:
    verdict = db.explain("SELECT MAX(number) AS n FROM measured WHERE text = :t")
    assert verdict.level == "SI-1"
    assert [ddl.split(" ON ")[1] for ddl in verdict.needs] == ['measured ("text", "number" DESC)']


def test_an_answer_without_rows_is_one_row_that_having_may_drop(db: vk.Database) -> None:
    sql = "SELECT MAX(id) AS last FROM messages WHERE channel = :c HAVING MAX(id) > :n"
    assert _asked(db, sql, c=1, n=13)[1] == [(14,)]
    assert _asked(db, sql, c=1, n=14)[1] == []
    assert _asked(db, sql, c=3, n=0)[1] == []


def test_both_ends_at_once_are_a_view_as_before(db: vk.Database) -> None:
    assert db.explain("SELECT MAX(id) AS b, MIN(id) AS a FROM messages WHERE channel = :c").level == "SI-2"


def test_a_view_that_has_it_is_not_replaced_by_what_would_have_to_be_made(db: vk.Database) -> None:
    db.execute("CREATE MATERIALIZED VIEW m MAINTAIN SYNC AS SELECT id, MAX(text) AS t FROM measured GROUP BY id")
    verdict = db.explain("SELECT MAX(text) AS t FROM measured WHERE id = :id")
    assert (verdict.level, verdict.uses, verdict.needs) == ("SI-2", ("m",), ())


def test_few_rows_of_a_join_decide_by_their_order(db: vk.Database) -> None:
    sql = "SELECT MAX(m.id) AS last FROM messages m JOIN posts p ON p.id = m.channel WHERE m.channel = :c"
    verdict, rows = db.explain(sql), db.query(sql, c=1)
    assert [row["last"] for row in rows] == [14]
    assert verdict.level == "SI-0"
    assert verdict.operations_max == rows.meta.operations == 2


@pytest.mark.parametrize(
    "numbers",
    [
        [math.nan, 1.0, math.inf],
        [math.nan],
        [-math.inf, -0.0, 0.0],
        [0.0, -0.0, None],
        [-0.0],
        [None, -0.0],
    ],
)
def test_doubles_and_texts_have_one_order_in_keys_and_in_min_and_max(
    db: vk.Database, numbers: list[float | None]
) -> None:
    texts = ["", "a\0", "a", "é", "z", "\U0001f600", "\uffff"]
    db.load("measured", [{"place": 1, "id": n, "number": number} for n, number in enumerate(numbers)])
    db.load("measured", [{"place": 2, "id": n, "text": text} for n, text in enumerate(texts)])
    for call in ("MIN", "MAX"):
        for column, place in (("number", 1), ("text", 2)):
            sql = f"SELECT {call}({column}) AS n FROM measured WHERE place = :p"
            whole = f"SELECT {call}({column}) AS n, COUNT(*) AS c FROM measured WHERE place = :p"
            (row,) = db.query(whole, p=place, allow_scan=True)
            assert repr(_asked(db, sql, p=place)[1]) == repr([(row["n"],)])
