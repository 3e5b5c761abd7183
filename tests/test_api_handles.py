"""Handles: read-only ones, closed ones, several at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import viewkeeper as vk

ITEMS = "CREATE TABLE Items (ItemID BIGINT PRIMARY KEY, Name STRING, Price DECIMAL(10,2), Stock INT)"
TAGS = "CREATE TABLE Tags (doc BIGINT, tag STRING, weight INT, PRIMARY KEY (doc, tag)) WITH CARDINALITY (tag, 3)"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute(f"{ITEMS}; {TAGS}")
        yield opened


class TestHandles:
    READS: tuple[Callable[[vk.Database], Any], ...] = (
        lambda db: db.get("Items", 1),
        lambda db: db.scan("Items"),
        lambda db: db.snapshot(),
        lambda db: db.query("SELECT * FROM Items WHERE ItemID = 1"),
        lambda db: db.execute("SELECT * FROM Items WHERE ItemID = 1"),
        lambda db: db.head(),
        lambda db: db.oldest(),
        lambda db: db.tables(),
        lambda db: db.info(),
        lambda db: db.configure(),
        lambda db: db.changes("Items", since=vk.Position.parse(f"{db.info().database}@0")),
    )
    WRITES: tuple[Callable[[vk.Database], Any], ...] = (
        lambda db: db.put("Items", {"ItemID": 2}),
        lambda db: db.insert("Items", {"ItemID": 2}),
        lambda db: db.delete("Items", 1),
        lambda db: db.load("Items", [{"ItemID": 2}]),
        lambda db: db.transaction(),
        lambda db: db.execute("INSERT INTO Items (ItemID) VALUES (2)"),
        lambda db: db.execute("UPDATE Items SET Stock = 1 WHERE ItemID = 1"),
        lambda db: db.execute("DELETE FROM Items WHERE ItemID = 1"),
        lambda db: db.execute("CREATE TABLE More (id INT PRIMARY KEY)"),
        lambda db: db.execute("ALTER TABLE Items ADD COLUMN more INT"),
        lambda db: db.execute("DROP TABLE Items"),
        lambda db: db.configure(statement_rows=5),
    )

    @pytest.mark.parametrize("use", WRITES, ids=range(len(WRITES)))
    def test_read_only_handle_refuses_every_write(
        self, db: vk.Database, tmp_path: Path, use: Callable[[vk.Database], Any]
    ) -> None:
        db.put("Items", {"ItemID": 1})
        head, tables = db.head(), db.tables()
        with vk.open(tmp_path / "db", read_only=True) as reader:
            with pytest.raises(vk.ReadOnly):
                use(reader)
            assert reader.get("Items", 1) is not None
        assert (db.head(), db.tables(), db.configure().statement_rows) == (head, tables, 10_000)

    def test_read_only_handle_reads_everything(self, db: vk.Database, tmp_path: Path) -> None:
        db.put("Items", {"ItemID": 1})
        with vk.open(tmp_path / "db", read_only=True) as reader:
            for use in self.READS:
                use(reader)
            db.put("Items", {"ItemID": 2})
            assert reader.get("Items", 2) is not None

    def test_read_only_needs_a_database(self, tmp_path: Path) -> None:
        with pytest.raises(vk.NotADatabase):
            vk.open(tmp_path / "nothing", read_only=True)
        assert not (tmp_path / "nothing").exists()

    @pytest.mark.parametrize("others", [0, 1], ids=["alone", "another handle open"])
    @pytest.mark.parametrize("use", [*READS, *WRITES], ids=range(len(READS) + len(WRITES)))
    def test_closed_handle_refuses_everything(
        self, db: vk.Database, tmp_path: Path, use: Callable[[vk.Database], Any], others: int
    ) -> None:
        if use is self.READS[-1]:
            oldest = db.oldest()
            use = lambda db: db.changes("Items", since=oldest)  # noqa: E731
        closed = vk.open(tmp_path / "db")
        closed.close()
        closed.close()
        if not others:
            db.close()
        with pytest.raises(vk.Closed):
            use(closed)

    def test_closing_one_handle_leaves_the_others_open(self, db: vk.Database, tmp_path: Path) -> None:
        with vk.open(tmp_path / "db") as second:
            second.put("Items", {"ItemID": 1})
        assert db.get("Items", 1) is not None
        db.put("Items", {"ItemID": 2})

    def test_close_while_others_read_ends_them_with_an_error_of_ours(self, tmp_path: Path) -> None:
        db = vk.open(tmp_path / "busy", durability="os")
        db.execute(ITEMS)
        db.load("Items", ({"ItemID": number} for number in range(2_000)))
        started = threading.Event()
        ends: list[vk.ViewkeeperError] = []

        def read() -> None:
            try:
                while True:
                    assert len(list(db.scan("Items"))) == 2_000
                    started.set()
            except vk.ViewkeeperError as error:
                ends.append(error)

        threads = [threading.Thread(target=read) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert started.wait(10)
        db.close()
        for thread in threads:
            thread.join(10)
        assert [type(error) for error in ends] == [vk.Closed] * 3
