"""First rows of staging views: only they are read, and they are the ones that all rows would give."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.pipeline.shop import store_of
from tests.pipeline.staging import ORDERS, POPULAR, STAGING, TAGS, counted, everything_read, rows_of, some_tags, view_of
from viewkeeper.execute.rows.bucket import bucket_of
from viewkeeper.model.types import BIGINT, STRING
from viewkeeper.pipeline.periodic import refresh
from viewkeeper.plan.relation import Relation
from viewkeeper.plan.staging import MOST_PARTS, parts_of
from viewkeeper.views import bound
from viewkeeper.views.bound import bound_views

MODES = ["DEFERRED", "SYNC", "LAZY", "LOCAL", "EVERY 1 SECOND", "PERIODIC 1 HOUR"]


@pytest.fixture
def chance() -> random.Random:
    seed = random.SystemRandom().randrange(1 << 32)
    print("seed", seed)
    return random.Random(seed)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db") as opened:
        opened.execute(TAGS)
        yield opened


def _plan(db: vk.Database, name: str) -> Relation:
    one = bound_views(store_of(db)).get(view_of(db, name).id)
    assert one is not None
    return one.statement.plan


@pytest.mark.parametrize("mode", MODES)
def test_a_staging_view_has_each_row_in_the_part_of_its_hash_in_every_mode(
    db: vk.Database, chance: random.Random, mode: str
) -> None:
    db.load("Tags", some_tags(chance, 30))
    db.execute(STAGING.format(mode=mode, parts=16))
    db.load("Tags", some_tags(chance, 60))
    db.maintain()
    part = bucket_of([STRING, BIGINT], 16)
    expected = [(part((row["tag"], row["docId"])), row["ts"], row["docId"], row["tag"]) for row in db.scan("Tags")]
    found = [(row["part"], row["ts"], row["docId"], row["tag"]) for row in db.scan("Staging")]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert len({row[0] for row in found}) > 1
    assert parts_of(_plan(db, "Staging")) == 16


def test_hash_without_into_makes_sixteen_parts(db: vk.Database, chance: random.Random) -> None:
    db.load("Tags", some_tags(chance, 40))
    db.execute("CREATE VIEW V AS SELECT docId, tag, HASH(tag, x) AS a, BUCKET(tag, x, 16) AS b FROM Tags")
    assert all(row["a"] == row["b"] for row in db.scan("V"))
    assert parts_of(_plan(db, "V"), 2) == 16


@pytest.mark.parametrize(
    ("query", "column", "parts"),
    [
        ("SELECT HASH(tag) INTO 4 AS p, docId, tag FROM Tags WHERE ts > 3", 0, 4),
        ("SELECT docId, tag, HASH(tag) INTO 4 AS p FROM Tags", 0, None),
        ("SELECT docId, tag, HASH(tag) INTO 4 AS p FROM Tags", 2, 4),
        ("SELECT HASH(tag) INTO 4 + 1 AS p, docId, tag FROM Tags", 0, None),
        ("SELECT HASH(tag) INTO 4 AS p, COUNT(*) AS n FROM Tags GROUP BY HASH(tag) INTO 4", 0, 4),
        ("SELECT HASH(tag) INTO 4 AS p, COUNT(*) AS n FROM Tags GROUP BY HASH(tag) INTO 4", 1, None),
        ("SELECT HASH(tag) INTO 4 AS p, ts, COUNT(*) AS n FROM Tags GROUP BY CUBE (HASH(tag) INTO 4, ts)", 0, None),
        ("SELECT DISTINCT HASH(tag) INTO 4 AS p FROM Tags", 0, 4),
        ("SELECT HASH(tag) INTO 4 AS p FROM Tags UNION ALL SELECT HASH(docId) INTO 4 AS p FROM Tags", 0, 4),
        ("SELECT HASH(tag) INTO 4 AS p FROM Tags UNION ALL SELECT HASH(docId) INTO 5 AS p FROM Tags", 0, None),
        ("SELECT b.p, a.tag FROM Tags a JOIN (SELECT HASH(tag) INTO 4 AS p, docId FROM Tags) b USING (docId)", 0, 4),
        ("SELECT b.p, a.tag FROM Tags a LEFT JOIN (SELECT HASH(tag) INTO 4 AS p, ts FROM Tags) b USING (ts)", 0, None),
    ],
)
def test_parts_are_known_of_a_column_that_is_always_a_hash(
    db: vk.Database, query: str, column: int, parts: int | None
) -> None:
    db.execute(f"CREATE VIEW V AS {query}")
    assert parts_of(_plan(db, "V"), column) == parts


@pytest.mark.parametrize("mode", ["DEFERRED", "SYNC"])
def test_a_refresh_reads_no_more_rows_than_parts_times_limit_however_many_there_are(
    db: vk.Database, chance: random.Random, mode: str
) -> None:
    db.execute(STAGING.format(mode=mode, parts=4))
    db.execute(POPULAR.format(count=10))
    for count in (8, 100, 3000):
        db.load("Tags", some_tags(chance, count, moments=50))
        db.maintain(views=["Staging"])
        with counted() as found:
            made = refresh(store_of(db), None, view_of(db, "Popular"))
        assert found["Staging"] == made.read <= 4 * 10
        assert made.read == 4 * 10 or count == 8
        (status,) = (view for view in db.status() if view.view == "Popular")
        assert status.batch_rows == made.read
        assert f"{made.read:,} rows read" in str(made)
        assert sum(row["c"] for row in db.scan("Popular")) == min(10, count)


def test_explain_tells_what_a_refresh_reads(db: vk.Database) -> None:
    db.execute(STAGING.format(mode="SYNC", parts=16))
    db.execute(POPULAR.format(count=5000))
    explained = db.explain_view("Popular")
    assert explained.reads == ("Staging: the first 5,000 rows of each of 16 parts, 80,000 at most",)
    assert "a refresh reads\n  Staging: the first 5,000 rows" in str(explained)
    db.execute("CREATE VIEW V PERIODIC 1 MIN SELECT tag, ts, docId FROM Staging ORDER BY ts DESC LIMIT 1")
    equal = "Staging: the first row of each of 16 parts, 16 at most, and those that are equal in its order to the last"
    assert db.explain_view("V").reads == (equal,)
    assert db.explain_view("Staging").reads == ()


@pytest.mark.parametrize("kind", ORDERS)
def test_the_rows_are_those_that_all_rows_would_give(db: vk.Database, chance: random.Random, kind: str) -> None:
    shown, order = ORDERS[kind]
    db.execute(STAGING.format(mode=chance.choice(["SYNC", "DEFERRED"]), parts=chance.choice([1, 3, 16])))
    db.load("Tags", some_tags(chance, 120))
    db.maintain()
    for count, offset in ((0, 0), (1, 0), (7, 0), (5, 30), (40, 3), (500, 1)):
        text = f"SELECT {shown} FROM Staging ORDER BY {order} LIMIT {count} OFFSET {offset}"
        db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text}")
        with everything_read():
            db.execute(f"CREATE VIEW W PERIODIC 1 MIN {text}")
        assert rows_of(db, "V") == rows_of(db, "W"), text
        db.load("Tags", some_tags(chance, 30, moments=6))
        db.execute("DELETE FROM Tags WHERE docId = 1")
        db.maintain(views=["Staging"])
        refresh(store_of(db), None, view_of(db, "V"))
        with everything_read():
            refresh(store_of(db), None, view_of(db, "W"))
        assert rows_of(db, "V") == rows_of(db, "W"), text
        first, second = (view for view in db.status() if view.view in "VW")
        assert first.errors == second.errors
        assert (first.errors > 0) == (kind == "by what fails")
        db.execute("DROP VIEW V")
        db.execute("DROP VIEW W")


def test_rows_that_repeat_count_as_often_as_they_are_there(
    db: vk.Database, chance: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = bound.program
    # As over a source whose rows may repeat; no table's do.
    monkeypatch.setattr(bound, "program", lambda *args, **more: whole(*args, **{**more, "key_of": lambda _: None}))
    db.load("Tags", some_tags(chance, 100))
    db.execute("CREATE VIEW Twice KEY (part, ts DESC) AS SELECT HASH(tag) INTO 3 AS part, ts, tag FROM Tags")
    assert view_of(db, "Twice").repeats
    text = "SELECT tag, ts, COUNT(*) AS n FROM (SELECT * FROM Twice ORDER BY ts DESC LIMIT 9) GROUP BY tag, ts"
    with counted() as found:
        db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text}")
    assert 0 < found["Twice"] <= 3 * 9
    with everything_read():
        db.execute(f"CREATE VIEW W PERIODIC 1 MIN {text}")
    assert rows_of(db, "V") == rows_of(db, "W")
    assert sum(row["n"] for row in db.scan("V")) == 9


def test_doubles_are_cut_as_they_are_ordered(db: vk.Database, chance: random.Random) -> None:
    db.load("Tags", some_tags(chance, 60))
    db.execute(
        "CREATE VIEW S KEY (p, x DESC, docId, tag) AS SELECT HASH(tag, docId) INTO 3 AS p, x, docId, tag FROM Tags"
    )
    for number in range(1, 60, 7):
        for direction in ("DESC", ""):
            text = f"SELECT p, x, docId, tag FROM S ORDER BY x {direction} LIMIT {number}"
            db.execute(f"CREATE OR REPLACE VIEW V PERIODIC 1 MIN {text}")
            with everything_read():
                db.execute(f"CREATE OR REPLACE VIEW W PERIODIC 1 MIN {text}")
            assert rows_of(db, "V") == rows_of(db, "W"), text


def test_a_table_in_the_order_itself_is_one_part(db: vk.Database, chance: random.Random) -> None:
    db.load("Tags", some_tags(chance, 500))
    for order, most in (("docId", 9), ("docId DESC, tag DESC", 9), ("docId DESC", 12)):
        text = f"SELECT * FROM Tags ORDER BY {order} LIMIT 9"
        with counted() as found:
            db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text}")
        assert 9 <= found["Tags"] <= most
        with everything_read():
            db.execute(f"CREATE VIEW W PERIODIC 1 MIN {text}")
        assert rows_of(db, "V") == rows_of(db, "W")
        db.execute("DROP VIEW V")
        db.execute("DROP VIEW W")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM Staging ORDER BY docId LIMIT 3",
        "SELECT * FROM Staging ORDER BY ts DESC, tag LIMIT 3",
        "SELECT * FROM Staging WHERE tag = 'a' ORDER BY ts DESC LIMIT 3",
        "SELECT *, RANK() OVER (ORDER BY ts) AS r FROM Staging",
        "SELECT a.tag, b.docId FROM Staging AS a JOIN Staging AS b ON a.tag = b.tag ORDER BY a.ts DESC LIMIT 3",
    ],
)
def test_what_may_need_every_row_reads_every_row(db: vk.Database, text: str) -> None:
    db.execute(STAGING.format(mode="SYNC", parts=4))
    db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text}")
    assert db.explain_view("V").reads == ()


def test_very_many_parts_are_read_as_one(db: vk.Database) -> None:
    db.execute(STAGING.format(mode="SYNC", parts=MOST_PARTS + 1))
    db.execute(POPULAR.format(count=5))
    assert db.explain_view("Popular").reads == ()


def test_a_leaf_that_is_read_whole_beside_first_rows_is_read_whole(db: vk.Database, chance: random.Random) -> None:
    db.execute(STAGING.format(mode="SYNC", parts=4))
    db.load("Tags", some_tags(chance, 90))
    text = """
        WITH s AS (SELECT part, ts, docId, tag FROM Staging)
        SELECT t.tag, t.docId, u.n FROM (SELECT * FROM s ORDER BY ts DESC LIMIT 6) AS t
        JOIN (SELECT tag, COUNT(*) AS n FROM s GROUP BY tag) AS u ON t.tag = u.tag
    """
    db.execute(f"CREATE VIEW V PERIODIC 1 MIN {text}")
    with everything_read():
        db.execute(f"CREATE VIEW W PERIODIC 1 MIN {text}")
    assert len(db.explain_view("V").reads) == 1
    assert rows_of(db, "V") == rows_of(db, "W")
    assert rows_of(db, "V").total() == 6
