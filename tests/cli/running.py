"""Runs the program in this process, and small databases for it."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from viewkeeper.cli import app

PROGRAM = [sys.executable, "-c", "from viewkeeper.cli import main; main()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONUNBUFFERED": ""}
"""What runs the program in a process of its own, with output buffered as it is for most people."""

TABLES = """
CREATE TABLE Items (
  ItemID BIGINT PRIMARY KEY, Name STRING, Price DECIMAL(10,2), Weight DOUBLE, Label BINARY, Day DATE, At TIMESTAMP,
  Sold BOOLEAN
);
CREATE TABLE Tags (docId BIGINT, tag STRING, PRIMARY KEY (docId, tag)) WITH CARDINALITY (tag, 2);
"""


@dataclass(frozen=True, slots=True)
class Done:
    """How a run ended: exit code, standard output and standard error."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


def run(*args: object, text: str | bytes | None = None, **environment: str) -> Done:
    # Wide, so that usage messages are not broken into lines.
    done = CliRunner().invoke(app, [str(arg) for arg in args], input=text, env={"COLUMNS": "200", **environment})
    return Done(done.exit_code, done.stdout, done.stderr)


def ok(*args: object, text: str | bytes | None = None) -> str:
    """The output of a run that went well and had nothing else to say."""
    done = run(*args, text=text)
    assert (done.code, done.err) == (0, "")
    return done.out


def make(path: Path, sql: str = TABLES) -> Path:
    """A database with the tables of a script."""
    done = run("sql", path, "-c", sql)
    assert done.code == 0, done.err
    return path
