"""`viewkeeper status`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import make, ok


def test_tables_sizes_and_the_log_are_shown(shop: Path) -> None:
    ok("sql", shop, "-c", "INSERT INTO Tags (docId, tag) VALUES (1, 'a'), (2, 'b')")
    out = ok("status", shop)
    for words in (
        ["durability", "sync"],
        ["path", str(shop)],
        ["Tags", "2", "2", "docId,", "tag", "1"],
        ["Items", "0", "8", "ItemID", "1"],
    ):
        assert words in [line.split() for line in out.splitlines()]
    assert "2 changes since" in out


def test_json_is_one_object(shop: Path) -> None:
    ok("sql", shop, "-c", "INSERT INTO Tags (docId, tag) VALUES (1, 'a')")
    info = json.loads(ok("status", shop, "--json"))
    assert info["durability"] == "sync"
    assert info["head"].endswith("@1")
    assert info["log_changes"] == 1
    assert info["tables"] == [
        {"name": "Items", "rows": 0, "columns": 8, "key": ["ItemID"], "partitions": 1},
        {"name": "Tags", "rows": 1, "columns": 2, "key": ["docId", "tag"], "partitions": 1},
    ]


def test_a_database_without_tables_says_so(tmp_path: Path) -> None:
    assert "no tables yet" in ok("status", make(tmp_path / "empty", ""))
