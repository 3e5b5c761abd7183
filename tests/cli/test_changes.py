"""`viewkeeper changes`."""

from __future__ import annotations

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.cli.running import ENVIRONMENT, PROGRAM, ok, run
from tests.read.moving import move
from viewkeeper import database
from viewkeeper.cli.changes import following
from viewkeeper.model.change import Change
from viewkeeper.model.position import Position
from viewkeeper.read.rows import Rows


@pytest.fixture
def changed(shop: Path) -> Path:
    for sql in (
        "INSERT INTO Items (ItemID, Name, Price) VALUES (1, 'lamp', 30)",
        "INSERT INTO Tags (docId, tag) VALUES (1, 'x')",
        "UPDATE Items SET Price = 25 WHERE ItemID = 1",
        "DELETE FROM Items WHERE ItemID = 1",
    ):
        ok("sql", shop, "-c", sql)
    return shop


def test_each_change_is_a_line(changed: Path) -> None:
    moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"
    lines = ok("changes", changed, "Items").splitlines()
    assert len(lines) == 3
    assert re.fullmatch(rf'\w+@1  {moment}  INSERT Items \(1\)  ItemID: 1, Name: "lamp", Price: 30.00', lines[0])
    assert re.fullmatch(rf"\w+@3  {moment}  UPDATE Items \(1\)  Price: 30.00 → 25.00", lines[1])
    assert re.fullmatch(rf'\w+@4  {moment}  DELETE Items \(1\)  ItemID: 1, Name: "lamp", Price: 25.00', lines[2])


def test_json_has_every_field(changed: Path) -> None:
    first, second, third = run("changes", changed, "Items", "--format", "json").rows
    assert sorted(first) == ["after", "before", "committed_at", "key", "position", "table"]
    assert (first["table"], first["key"], first["before"], first["after"]["Price"]) == ("Items", [1], None, "30.00")
    assert (second["before"]["Price"], second["after"]["Price"]) == ("30.00", "25.00")
    assert (third["before"]["Price"], third["after"]) == ("25.00", None)


def test_it_starts_behind_a_position(changed: Path) -> None:
    rows = run("changes", changed, "Items", "-f", "json").rows
    later = run("changes", changed, "Items", "-f", "json", "--since", rows[0]["position"]).rows
    assert later == rows[1:]
    assert run("changes", changed, "Items", "-f", "json", "--since", "start").rows == rows
    assert ok("changes", changed, "Items", "--since", "now") == ""


def test_limit_ends_it(changed: Path) -> None:
    assert len(ok("changes", changed, "Items", "--limit", "2").splitlines()) == 2
    assert len(ok("changes", changed, "Items", "--limit", "2", "--follow").splitlines()) == 2
    assert ok("changes", changed, "Items", "--limit", "0") == ""


def test_nan_that_stays_is_no_change(shop: Path) -> None:
    with database.open(shop) as db:
        db.put("Items", {"ItemID": 1, "Weight": float("nan")})
        db.put("Items", {"ItemID": 1, "Name": "x"})
    assert ok("changes", shop, "Items").splitlines()[1].endswith('Name: NULL → "x"')


def test_a_view_has_changes_from_where_it_was_filled_on(changed: Path) -> None:
    ok("sql", changed, "-c", "CREATE MATERIALIZED VIEW Named AS SELECT Name, COUNT(*) AS n FROM Items GROUP BY Name")
    assert ok("changes", changed, "Named") == ""
    with database.open(changed) as db:
        db.put("Items", {"ItemID": 2, "Name": "desk"})
        move(db)
        db.put("Items", {"ItemID": 3, "Name": "desk"})
        move(db)
    lines = ok("changes", changed, "named").splitlines()
    assert [line.split("Z  ")[1] for line in lines] == [
        'INSERT Named ("desk")  Name: "desk", n: 1',
        'UPDATE Named ("desk")  n: 1 → 2',
    ]


def test_following_a_view_misses_nothing_while_it_lags(shop: Path) -> None:
    with database.open(shop) as db:
        db.execute("CREATE MATERIALIZED VIEW Named AS SELECT Name, COUNT(*) AS n FROM Items GROUP BY Name")
        feed = following(db, "Named", db.head())
        for number in (1, 2):
            db.put("Items", {"ItemID": number, "Name": "x"})
            later = threading.Timer(0.2, move, (db,))
            later.start()
            assert next(feed).after == {"Name": "x", "n": number}
            later.join()


def test_what_is_no_position_is_refused(shop: Path) -> None:
    done = run("changes", shop, "Items", "--since", "yesterday")
    assert (done.code, done.err[:22]) == (1, "error[position.bad]: '")


def test_follow_prints_changes_as_they_come_and_ctrl_c_ends_it_quietly(shop: Path) -> None:
    command = [*PROGRAM, "changes", str(shop), "Items", "--follow", "-f", "json"]
    with (
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
        ) as running,
        database.open(shop) as db,
    ):
        assert running.stdout is not None
        assert running.stderr is not None
        for number in (1, 2):
            db.put("Tags", {"docId": number, "tag": "other"})
            db.put("Items", {"ItemID": number})
            assert f'"key": [{number}]' in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=30) == 130
        assert (running.stdout.read(), running.stderr.read()) == ("", "")


def test_follow_ends_when_nobody_reads_any_more(changed: Path) -> None:
    command = [*PROGRAM, "changes", str(changed), "Items", "--follow"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        for _ in range(3):
            assert running.stdout.readline()
        running.stdout.close()
        assert running.wait(timeout=30) == 0
        assert running.stderr.read() == ""


def test_following_rests_while_only_other_tables_change(shop: Path) -> None:
    with database.open(shop) as db:
        db.put("Items", {"ItemID": 1})
        start = db.oldest()
        db.put("Tags", {"docId": 1, "tag": "x"})
        watched = Watched(db)
        feed = following(cast(Any, watched), "Items", start)
        assert next(feed).key == (1,)
        later = threading.Timer(0.3, db.put, ("Items", {"ItemID": 2}))
        later.start()
        assert next(feed).key == (2,)
        later.join()
    assert watched.reads <= 3


class Watched:
    """A database that counts how often its feed is read."""

    def __init__(self, db: database.Database) -> None:
        self._db = db
        self.reads = 0

    def scan(self, name: str, **options: Any) -> Rows:
        return self._db.scan(name, **options)

    def changes(self, name: str, *, since: Position) -> Iterator[Change]:
        self.reads += 1
        return self._db.changes(name, since=since)
