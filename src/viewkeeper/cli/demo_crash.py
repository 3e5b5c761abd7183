"""The last scene: a writer is killed in the middle of its work, and nothing is torn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import viewkeeper as vk
from viewkeeper.cli.demo_stage import Stage
from viewkeeper.cli.demo_writer import FIRST

SECONDS = 1.0


def kill_a_writer(stage: Stage, path: Path) -> bool:
    """Kills a process that writes an item and its tag a transaction; whether everything is as promised afterwards."""
    stage.scene("kill -9 in the middle of writing")
    stage.say("   A process writes an item and its tag a transaction, and says when it is done.")
    with vk.open(path) as db:
        before = db.head()
        acknowledged = _killed(path)
        stage.say(f"   When it was killed, it had said so {acknowledged:,} times.")
        items = [row["ItemID"] for row in db.scan("Items", lower=FIRST)]
        tags = [row["docId"] for row in db.scan("Tags", lower=FIRST)]
        agrees = all(_replayed(db, name, before) == _rows(db, name) for name in ("Items", "Tags"))
    checks = {
        f"nothing acknowledged is lost: {len(items):,} new items are there": len(items) >= acknowledged,
        f"no transaction is torn: the same {len(tags):,} have their tag": items == tags,
        "log and tables agree: the past and the log give the tables of now": agrees,
    }
    for claim, is_true in checks.items():
        stage.say(f"   [{'yes' if is_true else 'NO'}] {claim}")
    return all(checks.values())


def _killed(path: Path) -> int:
    """How many transactions the writer reported before it was killed."""
    command = [sys.executable, "-m", "viewkeeper.cli.demo_writer", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        acknowledged = 0
        try:
            writer.stdout.readline()
            began = perf_counter()
            while perf_counter() - began < SECONDS:
                if not writer.stdout.readline():
                    raise RuntimeError("the writer of the demo ended by itself")
                acknowledged += 1
        finally:
            writer.kill()
        # What it said before it died is still in the pipe; a last line may be cut.
        return acknowledged + sum(line.endswith("\n") for line in writer.stdout)


Table = dict[tuple[Any, ...], dict[str, Any]]


def _rows(db: vk.Database, name: str, at: vk.Position | None = None) -> Table:
    key = next(table.primary_key for table in db.tables() if table.name == name)
    with db.snapshot(at) as moment:
        return {tuple(row[column] for column in key): row for row in moment.scan(name)}


def _replayed(db: vk.Database, name: str, since: vk.Position) -> Table:
    """The table as of a position, with every later change of the log applied."""
    rows = _rows(db, name, since)
    for change in db.changes(name, since=since):
        if change.after is None:
            del rows[change.key]
        else:
            rows[change.key] = change.after
    return rows
