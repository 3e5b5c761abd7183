"""`viewkeeper status`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import make, ok
from tests.read.moving import move, store_of
from viewkeeper import database


def test_tables_sizes_and_the_log_are_shown(shop: Path) -> None:
    ok("sql", shop, "-c", "INSERT INTO Tags (docId, tag) VALUES (1, 'a'), (2, 'b')")
    out = ok("status", shop)
    for words in (
        ["durability", "sync"],
        ["path", str(shop)],
        ["Tags", "2", "2", "docId,", "tag", "1", "0", "reads,", "0", "writes"],
        ["Items", "0", "8", "ItemID", "1", "0", "reads,", "0", "writes"],
    ):
        assert words in [line.split() for line in out.splitlines()]
    assert "2 changes since" in out


FREE = {"reads": 0, "writes": 0}


def test_a_table_shows_what_a_change_costs_over_all_of_its_views(shop: Path) -> None:
    ok("sql", shop, "-c", f"{VIEW}; CREATE INDEX ByTag ON Tags (tag)")
    (line,) = [line for line in ok("status", shop).splitlines() if line.startswith("Tags")]
    assert line.endswith("4 reads, 4 writes")
    with database.open(shop) as db:
        db.execute("CREATE VIEW Pairs AS SELECT a.docId, b.docId AS other FROM Tags a JOIN Tags b ON a.tag = b.tag")
    tables = {table["name"]: table["change"] for table in json.loads(ok("status", shop, "--json"))["tables"]}
    assert tables == {"Items": FREE, "Tags": None}


def test_json_is_one_object(shop: Path) -> None:
    ok("sql", shop, "-c", "INSERT INTO Tags (docId, tag) VALUES (1, 'a')")
    info = json.loads(ok("status", shop, "--json"))
    assert info["durability"] == "sync"
    assert info["head"].endswith("@1")
    assert info["log_changes"] == 1
    assert info["tables"] == [
        {
            "name": "Items",
            "rows": 0,
            "columns": 8,
            "key": ["ItemID"],
            "partitions": 1,
            "change": {"reads": 0, "writes": 0},
        },
        {
            "name": "Tags",
            "rows": 1,
            "columns": 2,
            "key": ["docId", "tag"],
            "partitions": 1,
            "change": {"reads": 0, "writes": 0},
        },
    ]


def test_a_database_without_tables_says_so(tmp_path: Path) -> None:
    assert "no tables yet" in ok("status", make(tmp_path / "empty", ""))


VIEW = "CREATE MATERIALIZED VIEW Counts AS SELECT tag, COUNT(*) AS n FROM Tags GROUP BY tag"


def test_views_are_shown_with_their_lag_and_last_batch(shop: Path) -> None:
    ok("sql", shop, "-c", VIEW)
    with database.open(shop) as db:
        db.put("Tags", {"docId": 1, "tag": "a"})
        move(db)
        (view,) = db.views()
        noted = {"batch_at": 5_000_000, "batch_changes": 1000, "batch_engine": "spark", "verified_at": 9_000_000}
        store_of(db).view_tables.note(view.id, batch_seconds={"read": 0.05, "compute": 0.2}, **noted)
        db.put("Tags", {"docId": 2, "tag": "b"})
    (line,) = [line for line in ok("status", shop).splitlines() if line.startswith("Counts")]
    assert line.split()[:6] == ["Counts", "DEFERRED", "SI-2", "live", "1", "changes"]
    assert "1,000 changes on spark in 0.25 s: read 0.05, compute 0.2" in line
    assert line.split("  ")[-1].strip() == "ok, 1970-01-01T00:00:09Z"


def test_a_failing_view_says_why(shop: Path) -> None:
    ok("sql", shop, "-c", VIEW)
    with database.open(shop) as db:
        store_of(db).view_tables.note(db.views()[0].id, error="the disk is full")
    out = ok("status", shop)
    assert "failing" in out
    assert "Counts: the disk is full" in out.splitlines()


def test_json_has_every_field_of_a_view(shop: Path) -> None:
    ok("sql", shop, "-c", VIEW)
    (view,) = json.loads(ok("status", shop, "--json"))["views"]
    assert list(view)[:9] == [
        *("view", "mode", "level", "state", "watermark", "lag_changes", "lag_ms", "rows", "errors"),
    ]
    assert view["watermark"].endswith("@0")
    assert (view["view"], view["state"], view["lag_changes"], view["batch_seconds"]) == ("Counts", "live", 0, {})


def test_a_lazy_view_says_what_is_pending_and_who_waits_and_how_it_was_read(shop: Path) -> None:
    ok("sql", shop, "-c", VIEW.replace(" AS ", " MAINTAIN LAZY AS ", 1))
    assert "Counts: nothing pending, not read yet" in ok("status", shop).splitlines()
    with database.open(shop) as db:
        db.put("Tags", {"docId": 1, "tag": "a"})
        views, number = store_of(db).view_tables, db.views()[0].id
        for moment in (9_000_000, 10_000_000):
            views.note_reads({number: moment})
        views.note(number, folds=2, folded_at=10_000_000, fold_ms=1.5)
        views.ask(number, 1, priority=4, requester="web-1", seconds=60)
        head = str(db.head())
    lines = ok("status", shop).splitlines()
    assert f"Counts: asked for up to {head} by web-1, priority 4" in lines
    assert "Counts: 2 reads added what was pending, the last one at 1970-01-01T00:00:10Z in 1.5 ms" in lines
    (line,) = [line for line in lines if line.startswith("Counts: pending for ")]
    assert line.endswith(" ms, last read at 1970-01-01T00:00:10Z, every 1000 ms")


def test_maintainers_that_are_alive_are_shown(shop: Path) -> None:
    assert "maintained  by nobody now" in ok("status", shop).splitlines()
    assert json.loads(ok("status", shop, "--json"))["maintainers"] == []
    with database.open(shop) as db:
        store_of(db).view_tables.beat("17-abc", 60)
        store_of(db).view_tables.beat("18-def", 60)
    assert "maintained  by 17-abc, 18-def" in ok("status", shop).splitlines()
    assert json.loads(ok("status", shop, "--json"))["maintainers"] == ["17-abc", "18-def"]
