"""Queries with joins that cannot be answered, and their errors, word for word: golden/joins.txt.

The form is that of tests/sql/golden.py. `python -m tests.read.refusals` writes the errors anew; read the difference
before you keep it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import viewkeeper as vk
from tests.sql.golden import cases

FILE = Path(__file__).parent / "golden" / "joins.txt"
TABLES = """
CREATE TABLE Items (ItemID BIGINT PRIMARY KEY, Name STRING, Price DECIMAL(10,2));
CREATE TABLE Reviews (ReviewID BIGINT PRIMARY KEY, ItemID INT, Rating INT, Text STRING);
CREATE TABLE Links (source BIGINT, target BIGINT, weight DOUBLE, PRIMARY KEY (source, target));
CREATE TABLE "odd one" ("a b" BIGINT PRIMARY KEY, "table" STRING);
CREATE JOIN INDEX ItemsReviews ON Items (ItemID) INCLUDE (Name), Reviews (ItemID) INCLUDE (Rating);
CREATE JOIN INDEX Weighed ON Links (source, target), Reviews (ReviewID, ItemID);
"""


@contextmanager
def database() -> Iterator[vk.Database]:
    with tempfile.TemporaryDirectory() as folder, vk.open(Path(folder) / "db", durability="os") as db:
        db.execute(TABLES)
        yield db


def error_of(db: vk.Database, text: str) -> str:
    """The code and the error of a query; the parameter :p is 1, :list is a list."""
    given: dict[str, Any] = {"p": 1, "list": [1, 2], "text": "1", "odd": object}
    try:
        db.query(text, **{name: value for name, value in given.items() if f":{name}" in text}).all()
    except vk.ViewkeeperError as error:
        return f"{error.code}\n{error}"
    return "accepted"


if __name__ == "__main__":
    with database() as opened:
        written = (f"{text}\n=> {error_of(opened, text)}\n" for text, _ in cases(FILE))
        FILE.write_text("\n====\n".join(written), encoding="utf-8")
