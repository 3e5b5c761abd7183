"""What is said of queries without a bound, word for word: refusals.txt.

Written anew by `python -m tests.analysis.test_golden_refusals`, to be read before it is kept.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

import viewkeeper as vk
from viewkeeper.read.prepared import unbounded

GOLDEN = Path(__file__).parent / "refusals.txt"
SCHEMA, _rest = (Path(__file__).parent / "refused.sql").read_text(encoding="utf-8").split("\n\n")
QUERIES = [line.rstrip(";") for line in _rest.splitlines()]


def said(db: vk.Database, sql: str) -> str:
    """The refusal of a query, or of what it needs, while nothing is there that it needs."""
    verdict = db.explain(sql)
    return f"-- {sql}\n{unbounded(verdict)}\n"


def whole(path: Path) -> str:
    with vk.open(path) as db:
        db.execute(SCHEMA)
        return "\n".join(said(db, sql) for sql in QUERIES)


def test_refusals_are_those_of_the_golden_file(tmp_path: Path) -> None:
    assert whole(tmp_path / "db") == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("sql", QUERIES)
def test_what_a_refusal_suggests_was_tried(sql: str, tmp_path: Path) -> None:
    """No suggestion without a level; and where one needs nothing but another text, that text is bounded."""
    with vk.open(tmp_path / "db") as db:
        db.execute(SCHEMA)
        for one in db.explain(sql).suggestions:
            assert one.level.startswith("SI-")
            if one.text == "Write LIMIT 100.":
                assert db.explain(f"{sql} LIMIT 100").level == one.level
            elif one.text.startswith("Write LIMIT :n MAX"):
                assert db.explain(sql.replace("LIMIT :n", "LIMIT :n MAX 100")).level == one.level
            elif one.text.startswith("Write IN :ids MAX"):
                assert db.explain(sql.replace("IN :ids", "IN :ids MAX 20")).level == one.level
            elif "in place of FULL JOIN" in one.text:
                assert db.explain(sql.replace("FULL JOIN", "LEFT JOIN")).level == one.level
            elif one.text.startswith("Write LEFT JOIN"):
                assert db.explain(sql.replace(" JOIN ", " LEFT JOIN ")).level == one.level
            elif one.text == "Leave out ORDER BY.":
                assert db.explain(sql.replace(" ORDER BY name", "")).level == one.level


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        GOLDEN.write_text(whole(Path(folder) / "db"), encoding="utf-8")
