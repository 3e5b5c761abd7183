"""`viewkeeper query` and `viewkeeper changes` of views that are kept beside the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import make, ok, run

SQL = """
CREATE TABLE Items (ItemID BIGINT PRIMARY KEY, Shop STRING) PARTITIONED BY HASH (ItemID) INTO 3;
CREATE VIEW Whole MAINTAIN SYNC AS SELECT Shop, COUNT(*) AS n FROM Items GROUP BY Shop;
CREATE VIEW Parts MAINTAIN LOCAL AS SELECT Shop, COUNT(*) AS n FROM Items GROUP BY Shop;
INSERT INTO Items (ItemID, Shop) VALUES (1, 'a'), (2, 'a'), (3, 'b');
DELETE FROM Items WHERE ItemID = 3
"""


@pytest.fixture
def shops(tmp_path: Path) -> Path:
    return make(tmp_path / "shops", SQL)


@pytest.mark.parametrize("view", ["Whole", "Parts"])
def test_rows_are_those_of_now(shops: Path, view: str) -> None:
    assert run("query", shops, f"SELECT * FROM {view}", "-f", "json").rows == [{"Shop": "a", "n": 2}]
    ok("sql", shops, "-c", "DELETE FROM Items WHERE ItemID = 1")
    assert run("query", shops, f"SELECT n FROM {view} WHERE Shop = 'a'", "-f", "json").rows == [{"n": 1}]


def test_changes_of_a_sync_view_are_those_of_each_write(shops: Path) -> None:
    lines = [line.split("Z  ")[1] for line in ok("changes", shops, "Whole").splitlines()]
    assert lines == [
        'INSERT Whole ("a")  Shop: "a", n: 2',
        'INSERT Whole ("b")  Shop: "b", n: 1',
        'DELETE Whole ("b")  Shop: "b", n: 1',
    ]
    assert len(ok("changes", shops, "Whole", "--follow", "--limit", "3").splitlines()) == 3


def test_changes_of_a_local_view_in_parts_are_refused(shops: Path) -> None:
    done = run("changes", shops, "Parts")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith('error[sql.unsupported]: view "Parts" has no change feed')
