"""EXISTS that compares with columns outside by inequality: the first row of a range of each row is enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

TABLES = """
CREATE TABLE memberships (user_id BIGINT, channel_id BIGINT, last_read_id BIGINT, until INT,
  PRIMARY KEY (user_id, channel_id)) WITH CARDINALITY (channel_id, 300);
CREATE TABLE messages (channel_id BIGINT, id BIGINT, PRIMARY KEY (channel_id, id));
CREATE TABLE notes (id BIGINT PRIMARY KEY, channel INT, at INT);
CREATE TABLE reads (user_id INT, device INT, channel_id BIGINT, last INT, PRIMARY KEY (user_id, device, channel_id))
  WITH CARDINALITY (device, channel_id, 8);
"""
SIZE = 12
ALL = range(SIZE)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    """User 1 has read each channel up to id 10, the last up to NULL; channel n has the ids 2n to 2n + 2."""
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLES)
        read = [{"user_id": 1, "channel_id": c, "last_read_id": 10, "until": c + 6} for c in ALL]
        db.load("memberships", [*read[:-1], read[-1] | {"last_read_id": None}])
        ids = [(c, n) for c in ALL for n in range(2 * c, 2 * c + 3)]
        db.load("messages", [{"channel_id": c, "id": n} for c, n in ids])
        db.load("notes", [{"id": 100 * c + n, "channel": c, "at": n} for c, n in ids])
        yield db


def _asked(
    db: vk.Database, condition: str, asked: str = "EXISTS", table: str = "messages m", **params: Any
) -> list[int]:
    """The channels for which there is a row. Each membership with bounds is one operation and at most one row."""
    sql = f"""SELECT b.channel_id AS c FROM memberships b
    WHERE b.user_id = 1 AND {asked} (SELECT 1 FROM {table} WHERE {condition})"""
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    assert (prepared.verdict.operations_max, prepared.verdict.rows_max) == (301, 600)
    rows = prepared(**params)
    assert rows.meta.operations <= 1 + SIZE
    found = [row["c"] for row in rows]
    assert rows.meta.rows <= 2 * SIZE
    return sorted(found)


SAME = "m.channel_id = b.channel_id AND "


@pytest.mark.parametrize(
    ("condition", "test"),
    [
        ("m.id > b.last_read_id", lambda c, n: n > 10),
        ("b.last_read_id <= m.id", lambda c, n: n >= 10),
        ("m.id < b.last_read_id", lambda c, n: n < 10),
        ("m.id >= b.last_read_id AND m.id < b.until", lambda c, n: 10 <= n < c + 6),
        ("m.id > 8 AND m.id < b.last_read_id", lambda c, n: 8 < n < 10),
        ("m.id > b.last_read_id AND m.id <= :n", lambda c, n: 10 < n <= 13),
    ],
)
def test_the_first_row_behind_what_a_row_has_is_enough(db: vk.Database, condition: str, test: Any) -> None:
    params = {"n": 13} if ":n" in condition else {}
    wanted = [c for c in ALL[:-1] if any(test(c, n) for n in range(2 * c, 2 * c + 3))]
    assert _asked(db, SAME + condition, **params) == wanted
    assert 0 < len(wanted) < SIZE
    # NULL is compared with nothing, so there is no such row.
    assert _asked(db, SAME + condition, "NOT EXISTS", **params) == [c for c in ALL if c not in wanted]


@pytest.mark.parametrize("down", ["", " DESC"])
def test_an_index_in_either_direction_has_such_ranges(db: vk.Database, down: str) -> None:
    db.execute(f"CREATE INDEX by_at ON notes (channel, at{down}) MAINTAIN SYNC")
    condition = "m.channel = b.channel_id AND m.at > b.last_read_id AND m.at < b.until"
    assert _asked(db, condition, table="notes m") == []
    condition = "m.channel = b.channel_id AND m.at > b.last_read_id"
    assert _asked(db, condition, table="notes m") == [c for c in ALL[:-1] if 2 * c + 2 > 10]


def test_an_index_for_such_ranges_is_advised(db: vk.Database) -> None:
    condition = "m.channel = b.channel_id AND m.at > b.last_read_id"
    assert _asked(db, condition, table="notes m") == [c for c in ALL[:-1] if 2 * c + 2 > 10]
    assert [view.name for view in db.views()] == ["notes_by_channel_at"]


def test_ranges_of_one_key_that_overlap_find_each_row_for_each(db: vk.Database) -> None:
    """Two devices have read the same channel up to another message, each."""
    last = {(1, 3): 5, (2, 3): 7, (3, 3): 8, (1, 4): 0}
    db.load("reads", [{"user_id": 1, "device": d, "channel_id": c, "last": at} for (d, c), at in last.items()])
    for asked, wanted in (("EXISTS", [(1, 3), (1, 4), (2, 3)]), ("NOT EXISTS", [(3, 3)])):
        sql = f"""SELECT r.device AS d, r.channel_id AS c FROM reads r WHERE r.user_id = 1 AND {asked}
        (SELECT 1 FROM messages m WHERE m.channel_id = r.channel_id AND m.id > r.last)"""
        assert db.explain(sql).operations_max == 1 + 8
        rows = db.query(sql)
        assert sorted((row["d"], row["c"]) for row in rows) == wanted
        assert rows.meta.operations == 1 + len(last)


def test_bounds_and_keys_may_be_of_two_sources_that_are_joined(db: vk.Database) -> None:
    db.load("reads", [{"user_id": 1, "device": 1, "channel_id": c, "last": 2 * c + 1 + c % 2} for c in ALL[:8]])
    db.load("notes", [{"id": 10_000 + c, "channel": c + 6, "at": 2 * c + 2} for c in ALL])
    sql = """SELECT b.channel_id AS c FROM reads r
    JOIN memberships b ON b.user_id = r.user_id AND b.channel_id = r.channel_id
    WHERE r.user_id = 1 AND EXISTS (SELECT 1 FROM notes m WHERE m.channel = b.until AND m.at > r.last)"""
    prepared = db.prepare(sql, create=True, maintain="SYNC")
    rows = prepared()
    found = sorted(row["c"] for row in rows)
    brute = db.query(f"SELECT c FROM ({sql}) AS q", allow_scan=True)
    assert found == sorted(row["c"] for row in brute) != []
    assert prepared.verdict.operations_max == 1 + 8 + 8
    assert rows.meta.operations == 1 + 8 + 8


def test_what_is_no_range_has_a_reason_that_is_true(db: vk.Database) -> None:
    sql = """SELECT b.channel_id FROM memberships b WHERE b.user_id = 1 AND EXISTS
    (SELECT 1 FROM messages m WHERE m.channel_id = b.channel_id AND m.id > b.last_read_id AND m.id > :x)"""
    verdict = db.explain(sql)
    assert verdict.level == "unbounded"
    assert verdict.reason.endswith("What EXISTS asks of them is not one range of keys, of which the first would do.")
