"""What the writers of the kill test do until they are killed.

Each thread runs random operations and, once one has returned, notes its position and what it made of which rows. Rows
carry the token of their transaction and how many rows have it, so that a torn one shows. Transfers keep the sum of
all balances.
"""

from __future__ import annotations

import json
import os
import random
import threading
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import viewkeeper as vk
from viewkeeper.write.statements import Outcome

ACCOUNTS = 60
BALANCE = 1000
ENTRIES = 12
"""Entries that an account may have; CARDINALITY holds the writers to it."""
NOTES = 400
BULK = 2000
COLUMNS = 24
"""Columns of notes from which no more are added."""
THREADS = 3
SCHEMA = f"""
CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT, token STRING, parts INT);
CREATE TABLE entries (account BIGINT, number BIGINT, amount BIGINT, token STRING, parts INT,
  PRIMARY KEY (account, number)) WITH CARDINALITY (number, {ENTRIES});
CREATE TABLE notes (name STRING PRIMARY KEY, text STRING, token STRING, parts INT);
CREATE TABLE bulk (id BIGINT PRIMARY KEY, price DECIMAL(10,2), label STRING, token STRING, parts INT)
  PARTITIONED BY HASH (id) INTO 4
"""

Seen = list[tuple[str, list[Any], Any]]
"""Tables and keys with the columns that a row must have there, or None where there must be none."""


def prepare(path: Path, durability: Any) -> None:
    """Make the database that the writers share."""
    with vk.open(path, durability=durability) as db:
        db.execute(SCHEMA)
        db.configure(log_retention="100d")
        db.load("accounts", [_row("start", ACCOUNTS, id=number, balance=BALANCE) for number in range(ACCOUNTS)])


def write_until_killed(path: str, notes: str, seed: int) -> None:
    """Write from several threads and note what was acknowledged; never returns."""
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(**fields: Any) -> None:
        # One write a line: a thread that is killed leaves whole lines, or none.
        os.write(file, json.dumps(fields).encode() + b"\n")

    db = vk.open(path)
    note(ready=True)
    writers = [_Writer(db, f"{seed}.{number}", note) for number in range(THREADS)]
    threads = [threading.Thread(target=writer.run) for writer in writers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _row(token: str, parts: int, **columns: Any) -> dict[str, Any]:
    return {**columns, "token": token, "parts": parts}


class _Writer:
    def __init__(self, db: vk.Database, name: str, note: Callable[..., None]) -> None:
        self.db = db
        self.name = name
        self.note = note
        self.random = random.Random(name)
        self.numbers = count(self.random.randrange(1 << 40))

    def run(self) -> None:
        operations = [self.transfer] * 6 + [self.put] * 5 + [self.insert] * 2 + [self.delete] * 2
        operations += [self.load, self.delete_range, self.add_column, self.scratch]
        while True:
            try:
                self.random.choice(operations)()
            except vk.Conflict:
                continue
            except BaseException:
                self.note(error=traceback.format_exc())
                raise

    def token(self) -> str:
        return f"{self.name}.{next(self.numbers)}"

    def acknowledged(self, position: vk.Position, rows: Seen) -> None:
        self.note(position=str(position), rows=rows)

    def transfer(self) -> None:
        """Move an amount between two accounts and enter it for both: several rows of two tables."""
        source, target = self.random.sample(range(ACCOUNTS), 2)
        amount = self.random.randrange(1, 50)
        token = self.token()
        number = next(self.numbers)
        rows: Seen = []
        with self.db.transaction() as tx:
            for account, by in ((source, -amount), (target, amount)):
                found = tx.get("accounts", account)
                assert found is not None
                changed = _row(token, 4, id=account, balance=found["balance"] + by)
                entry = _row(token, 4, account=account, number=number, amount=by)
                tx.put("accounts", changed)
                oldest = list(tx.scan("entries", prefix=account))
                for old in oldest[: max(0, len(oldest) + 1 - ENTRIES)]:
                    tx.delete("entries", account, old["number"])
                    rows.append(("entries", [account, old["number"]], None))
                tx.insert("entries", entry)
                rows += [("accounts", [account], changed), ("entries", [account, number], entry)]
        self.acknowledged(tx.position, rows)

    def put(self) -> None:
        row = _row(self.token(), 1, name=self._note_name(), text="x" * self.random.choice((1, 80, 5000)))
        self.acknowledged(self.db.put("notes", row), [("notes", [row["name"]], row)])

    def insert(self) -> None:
        row = _row(self.token(), 1, name=self._note_name(), text="new")
        try:
            position = self.db.insert("notes", row)
        except vk.KeyExists:
            return
        self.acknowledged(position, [("notes", [row["name"]], row)])

    def delete(self) -> None:
        name = self._note_name()
        self.acknowledged(self.db.delete("notes", name), [("notes", [name], None)])

    def load(self) -> None:
        """Two batches, each a transaction: rows that are new, and rows that are there."""
        first, size, token = self.random.randrange(BULK), self.random.choice((20, 90)), self.token()
        rows = [
            _row(f"{token}.{at // size}", size, id=first + at, price=Decimal(at) / 4, label=f"row {at}")
            for at in range(2 * size)
        ]
        position = self.db.load("bulk", rows, batch_rows=size)
        # Another writer may have changed the first batch before the second one was committed.
        seen = [{name: row[name] for name in ("label", "token", "parts")} for row in rows]
        self.acknowledged(
            position, [("bulk", [row["id"]], cells) for row, cells in zip(rows, seen, strict=True)][size:]
        )

    def delete_range(self) -> None:
        first = self.random.randrange(BULK)
        done = self.db.execute("DELETE FROM bulk WHERE id >= ? AND id < ?", [first, first + 100])
        assert isinstance(done, Outcome)
        self.acknowledged(done.position, [("bulk", [key], None) for key in range(first, first + 100)])

    def add_column(self) -> None:
        if self.random.random() > 0.2 or len(self._notes_columns()) >= COLUMNS:
            return
        name = f"c{next(self.numbers)}"
        self.db.execute(f"ALTER TABLE notes ADD COLUMN {name} INT")
        self.note(column=name)
        row = _row(self.token(), 1, name=self._note_name(), **{name: 7})
        self.acknowledged(self.db.put("notes", row), [("notes", [row["name"]], row)])

    def scratch(self) -> None:
        """A table that comes and goes."""
        if self.random.random() > 0.3:
            return
        name = f"s{next(self.numbers)}"
        self.db.execute(f"CREATE TABLE {name} (id BIGINT PRIMARY KEY, token STRING, parts INT)")
        self.note(created=name)
        rows = [_row(name, 10, id=number) for number in range(10)]
        self.acknowledged(self.db.load(name, rows), [(name, [row["id"]], row) for row in rows])
        self.db.execute(f"DROP TABLE {name}")
        self.note(dropped=name)

    def _note_name(self) -> str:
        number = self.random.randrange(NOTES)
        # Some keys are longer than LMDB takes, and share their beginning.
        return f"{'long' * 150}{number}" if number % 10 == 0 else f"note {number}"

    def _notes_columns(self) -> tuple[str, ...]:
        return next(table.column_names for table in self.db.tables() if table.name == "notes")


def read_notes(path: Path) -> Iterator[dict[str, Any]]:
    """What a writer noted; a last line that was cut off counts as not written."""
    if path.exists():
        for line in path.read_bytes().split(b"\n")[:-1]:
            yield json.loads(line)
