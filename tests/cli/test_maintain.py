"""`viewkeeper maintain`: what it does without Spark, and what it refuses before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import make, ok, run

VIEW = (
    "CREATE TABLE t (id BIGINT PRIMARY KEY, g INT); CREATE VIEW v AS SELECT g, COUNT(*) AS n FROM t GROUP BY g;"
    "INSERT INTO t VALUES (1, 7)"
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return make(tmp_path / "db", VIEW)


def test_once_brings_views_up_to_date_and_says_so(path: Path) -> None:
    assert ok("maintain", path, "--once").startswith("1 change in ")
    assert ok("query", path, "SELECT n FROM v WHERE g = 7", "-f", "csv").split() == ["n", "1"]


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--trigger", "nonsense"], 1, "'nonsense' is not a duration"),
        (["--verify-every", "nonsense"], 1, "'nonsense' is not a duration"),
        (["--verify-every", "0s"], 1, "verify_every is 0 seconds"),
        (["--repair"], 2, "--verify-every"),
        (["--view", "v"], 2, "--once"),
        (["--batch", "0"], 2, "--batch"),
        (["--once", "--view", "w"], 1, 'view "w" does not exist'),
    ],
)
def test_what_cannot_be_meant_is_refused(path: Path, options: list[str], code: int, said: str) -> None:
    done = run("maintain", path, *options)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert "internal" not in done.err


def test_a_folder_that_is_no_database_is_refused_and_not_made(tmp_path: Path) -> None:
    done = run("maintain", tmp_path / "none", "--once")
    assert done.code == 1
    assert "store.not_a_database" in done.err
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("statement", ["DROP VIEW t", "DROP INDEX T"])
def test_dropping_a_table_as_a_view_says_that_it_is_a_table(path: Path, statement: str) -> None:
    done = run("sql", path, "-c", statement)
    assert done.code == 1
    assert '"t" is a table, not a' in done.err
    assert "DROP TABLE t" in done.err
