"""Statements through the API: what they do to rows, and how they behave beside others."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk
from viewkeeper.write.statements import Outcome


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute("CREATE TABLE Tags (doc BIGINT, tag STRING, weight INT, PRIMARY KEY (doc, tag))")
        opened.execute("INSERT INTO Tags VALUES (1, 'a', 1), (1, 'b', 2), (2, 'a', 3), (3, 'c', 4)")
        yield opened


def did(result: Any) -> int:
    assert isinstance(result, Outcome)
    return result.rows


def shown(db: vk.Database) -> str:
    return " ".join(f"{row['doc']}{row['tag']}{row['weight']}" for row in db.scan("Tags"))


def test_outcome_counts_rows_and_has_the_position_behind_them(db: vk.Database) -> None:
    result = db.execute("INSERT INTO Tags (doc, tag) VALUES (9, 'x'), (9, 'y')")
    assert isinstance(result, Outcome)
    assert (result.rows, result.position) == (2, db.head())
    assert did(db.execute("UPDATE Tags SET weight = 7 WHERE doc = 1")) == 2
    assert did(db.execute("DELETE FROM Tags WHERE doc = 99")) == 0
    assert shown(db) == "1a7 1b7 2a3 3c4 9xNone 9yNone"


@pytest.mark.parametrize(
    ("where", "left"),
    [
        ("doc = 1 AND tag = 'b'", "1a1 2a3 3c4"),
        ("doc = 1", "2a3 3c4"),
        ("doc > 1", "1a1 1b2"),
        ("doc BETWEEN 2 AND 3", "1a1 1b2"),
        ("doc >= 1 AND doc < 3", "3c4"),
        ("doc = 1 AND tag > 'a'", "1a1 2a3 3c4"),
        ("doc IN (1, 3, 3, 77)", "2a3"),
        ("doc = 1 AND tag IN ('a', 'b', 'z')", "2a3 3c4"),
        ("doc = 50", "1a1 1b2 2a3 3c4"),
    ],
)
def test_delete_takes_the_rows_of_a_key_range(db: vk.Database, where: str, left: str) -> None:
    selected = len(list(db.query(f"SELECT * FROM Tags WHERE {where}", allow_scan=True)))
    assert did(db.execute(f"DELETE FROM Tags WHERE {where}")) == selected
    assert shown(db) == left


def test_update_leaves_the_other_columns_and_is_one_transaction(db: vk.Database) -> None:
    db.execute("ALTER TABLE Tags ADD COLUMN note STRING")
    db.execute("UPDATE Tags SET note = 'n' WHERE doc = 1")
    head = db.head()
    db.execute("UPDATE Tags SET weight = 0 WHERE doc IN (1, 2)")
    blocks = db._store.blocks(head)
    assert [block.changes for block in blocks] == [3]
    assert [(row["weight"], row["note"]) for row in db.scan("Tags")] == [(0, "n"), (0, "n"), (0, None), (4, None)]


def test_insert_of_several_rows_is_all_or_nothing(db: vk.Database) -> None:
    head = db.head()
    with pytest.raises(vk.KeyExists):
        db.execute("INSERT INTO Tags VALUES (7, 'new', 1), (1, 'a', 1)")
    with pytest.raises(vk.KeyExists):
        db.execute("INSERT INTO Tags VALUES (7, 'new', 1), (7, 'new', 2)")
    assert db.head() == head


def test_statement_that_touches_too_many_rows_is_refused_whole(db: vk.Database) -> None:
    db.configure(statement_rows=3)
    head = db.head()
    for statement in ("UPDATE Tags SET weight = 0 WHERE doc > 0", "DELETE FROM Tags WHERE doc IN (1, 2, 3)"):
        with pytest.raises(vk.TooManyRows, match="more than 3 rows"):
            db.execute(statement)
    assert db.head() == head
    assert did(db.execute("DELETE FROM Tags WHERE doc < 3")) == 3


def test_several_statements_each_see_the_one_before(db: vk.Database) -> None:
    result = db.execute(
        """CREATE TABLE More (id INT PRIMARY KEY, n INT);
           INSERT INTO More VALUES (1, 1), (2, 2);
           ALTER TABLE More ADD COLUMN s STRING;
           UPDATE More SET s = 'x' WHERE id = 2;
           SELECT s, id FROM More WHERE id >= 1"""
    )
    assert isinstance(result, vk.Rows)
    assert list(result) == [{"s": None, "id": 1}, {"s": "x", "id": 2}]


def test_failing_statement_keeps_those_before_it(db: vk.Database) -> None:
    with pytest.raises(vk.KeyExists):
        db.execute("INSERT INTO Tags VALUES (8, 'x', 1); INSERT INTO Tags VALUES (8, 'x', 1); DROP TABLE Tags")
    assert db.get("Tags", 8, "x") is not None


def test_syntax_error_anywhere_in_a_text_runs_nothing(db: vk.Database) -> None:
    head = db.head()
    with pytest.raises(vk.SqlError):
        db.execute("INSERT INTO Tags VALUES (8, 'x', 1); INSERT INTO")
    assert db.head() == head


def test_query_takes_parameters_and_is_of_one_moment(db: vk.Database) -> None:
    rows = db.query("SELECT tag AS t FROM Tags WHERE doc = :doc ORDER BY doc DESC, tag DESC LIMIT 1", doc=1)
    db.execute("DELETE FROM Tags WHERE doc = 1")
    assert rows.columns == ("t",)
    assert list(rows) == [{"t": "b"}]
    assert rows.meta.operations == 1
    evil = "x'; DROP TABLE Tags; --"
    db.execute("INSERT INTO Tags VALUES (?, ?, ?)", [5, evil, 0])
    assert [row["tag"] for row in db.query("SELECT * FROM Tags WHERE doc = 5 AND tag = :t", t=evil)] == [evil]


def test_query_refuses_what_is_no_select(db: vk.Database) -> None:
    for text in (
        "DELETE FROM Tags WHERE doc = 1",
        "SELECT * FROM Tags WHERE doc = 1; SELECT * FROM Tags WHERE doc = 2",
    ):
        with pytest.raises(vk.Unsupported):
            db.query(text)
    assert shown(db) == "1a1 1b2 2a3 3c4"


def test_create_and_drop_may_ask_first(db: vk.Database) -> None:
    with pytest.raises(vk.TableExists):
        db.execute("CREATE TABLE tags (id INT PRIMARY KEY)")
    db.execute("CREATE TABLE IF NOT EXISTS tags (id INT PRIMARY KEY)")
    assert shown(db) == "1a1 1b2 2a3 3c4"
    db.execute("DROP TABLE IF EXISTS nothing; DROP TABLE IF EXISTS Tags")
    assert db.tables() == []


def test_updates_of_many_threads_lose_nothing(db: vk.Database) -> None:
    """Each statement is retried when another one got between its read and its commit."""
    for number in range(20):
        db.put("Tags", {"doc": 100, "tag": f"{number:02d}", "weight": 0})

    def work(thread: int) -> int:
        done = 0
        for number in range(15):
            done += did(db.execute("UPDATE Tags SET weight = ? WHERE doc = 100", [thread]))
            done += did(db.execute("INSERT INTO Tags VALUES (?, 't', 0)", [1_000 + thread * 100 + number]))
        return done

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(6))) == [15 * 21] * 6
    weights = {row["weight"] for row in db.scan("Tags", prefix=100)}
    assert len(weights) == 1


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO Tags VALUES (1, 'z', 5)",
        "UPDATE Tags SET weight = 5 WHERE doc = 1",
        "DELETE FROM Tags WHERE doc = 1",
    ],
)
def test_statement_bound_to_a_table_is_not_run_on_another_of_its_name(
    db: vk.Database, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """The table is dropped and made again, with other types, between the binding of a statement and its run."""
    store = db._store
    catalog = store.catalog
    calls: list[None] = []

    def catalog_then_ddl() -> Any:
        found = catalog()
        calls.append(None)
        if len(calls) == 1:
            store.drop_table("Tags")
            db.execute("CREATE TABLE Tags (doc BIGINT, tag STRING, weight STRING, PRIMARY KEY (doc, tag))")
            db.put("Tags", {"doc": 1, "tag": "a", "weight": "heavy"})
        return found

    monkeypatch.setattr(store, "catalog", catalog_then_ddl)
    with suppress(vk.ViewkeeperError):
        db.execute(text)
    monkeypatch.undo()
    for row in db.scan("Tags"):
        assert row == {"doc": 1, "tag": "a", "weight": "heavy"}


def test_insert_goes_through_when_a_column_is_added_meanwhile(db: vk.Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """As put and UPDATE do: a column more does not change what the statement says."""
    store = db._store
    commit = store.commit

    def commit_after_ddl(writes: Any) -> vk.Position:
        monkeypatch.undo()
        db.execute("ALTER TABLE Tags ADD COLUMN extra INT")
        return commit(writes)

    monkeypatch.setattr(store, "commit", commit_after_ddl)
    assert did(db.execute("INSERT INTO Tags (doc, tag) VALUES (9, 'x')")) == 1
    assert db.get("Tags", 9, "x") == {"doc": 9, "tag": "x", "weight": None, "extra": None}


def test_an_option_that_is_set_is_there_for_every_handle_and_stays(tmp_path: Path) -> None:
    with vk.open(tmp_path / "db", durability="os") as one, vk.open(tmp_path / "db") as other:
        position = one.head()
        assert one.execute("SET scale_independence = strict") == Outcome(rows=0, position=position)
        assert other._store.catalog().options == {"scale_independence": "strict"}
        other.execute("set Scale_Independence = 'WARN'")
        with pytest.raises(vk.Unsupported, match='the option "x" is not supported'):
            one.execute("SET x = y")
    with vk.open(tmp_path / "db") as db:
        assert db._store.catalog().options == {"scale_independence": "warn"}


def test_statements_keep_to_the_number_of_words(db: vk.Database) -> None:
    db.execute("CREATE TABLE Notes (id INT PRIMARY KEY, text STRING, n INT) WITH CARDINALITY (TOKENS(text), 2)")
    assert did(db.execute("INSERT INTO Notes VALUES (1, 'Two words', 1), (2, NULL, 2)")) == 2
    for text in (
        "INSERT INTO Notes VALUES (3, 'x', 1), (4, 'a b c', 1)",
        "UPDATE Notes SET text = 'a b c' WHERE id = 2",
    ):
        with pytest.raises(vk.CardinalityExceeded):
            db.execute(text)
    assert did(db.execute("UPDATE Notes SET n = 5 WHERE id = 1")) == 1
    with pytest.raises(vk.CardinalityExceeded), db.transaction() as tx:
        tx.put("Notes", {"id": 9, "text": "fine"})
        tx.put("Notes", {"id": 1, "text": "a b c"})
    with pytest.raises(vk.BadRow, match="would hold 3 words for id=7, more than 2"):
        db.load("Notes", [{"id": 7, "text": "a b c"}])
    assert [row["id"] for row in db.scan("Notes")] == [1, 2]
    assert "CARDINALITY (TOKENS(text), 2)" in str(next(table for table in db.tables() if table.name == "Notes"))
