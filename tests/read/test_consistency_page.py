"""docs/consistency.md says what is so: its programs print what stands below them, its lists name every mode and way."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.repo.tree import ROOT, fences, section
from viewkeeper.errors import Unsupported
from viewkeeper.read import serving
from viewkeeper.sql.maintain import Mode

PAGE = ROOT / "docs" / "consistency.md"
SELECT = "SELECT shop, COUNT(*) AS n FROM orders GROUP BY shop"


def test_programs_print_what_the_page_says(tmp_path: Path) -> None:
    blocks = fences(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 18
    # Each goes on with the database of the one before.
    for program, output in zip(blocks[::2], blocks[1::2], strict=True):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr, done.stdout) == (0, "", output)


def _rows(heading: str) -> list[list[str]]:
    """The rows of the table below a heading, each as its cells."""
    lines = re.findall(r"^\|(.+)\|$", section(PAGE, heading), re.MULTILINE)
    return [[cell.strip() for cell in line.split(" | ")] for line in lines[2:]]


@pytest.mark.parametrize("heading", ["What a mode promises", "What a mode costs"])
def test_every_mode_is_told(heading: str) -> None:
    assert {re.findall("[A-Z]+", row[0])[0] for row in _rows(heading)} == set(map(str, Mode))


def test_every_way_to_answer_is_told() -> None:
    ways = set(re.findall(r"^([a-z]+) {2,}", serving.__doc__ or "", re.MULTILINE))
    assert {row[0].strip("`") for row in _rows("How a read is answered")} == ways


def test_plain_reads_are_as_fresh_as_the_page_says(tmp_path: Path) -> None:
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, shop STRING)")
        for mode in Mode:
            interval = " 1 HOUR" if mode in (Mode.EVERY, Mode.PERIODIC) else ""
            db.execute(f"CREATE VIEW of_{mode} MAINTAIN {mode}{interval} AS {SELECT}")
        db.put("orders", {"id": 1, "shop": "north"})
        told = {row[0].strip("`"): row[-1] for row in _rows("What a mode promises")}
        for mode in Mode:
            text = next(text for name, text in told.items() if name.startswith(str(mode)))
            assert (db.get(f"of_{mode}", "north") is not None) == text.startswith("the head"), mode


def test_views_stand_on_those_that_the_page_says(tmp_path: Path) -> None:
    head, *rows = [
        line.split("|") for line in section(PAGE, "Views on views of other modes").splitlines() if line.startswith("|")
    ]
    uppers = [re.findall("[A-Z]{4,}", cell) for cell in head]
    allowed = {
        (upper, lower): cell.strip().startswith("yes")
        for row in rows[1:]
        for names, cell in zip(uppers, row, strict=True)
        for upper in names
        for lower in re.findall("[A-Z]{4,}", row[1])
    }
    assert len(allowed) == len(Mode) ** 2
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute("CREATE TABLE orders (id BIGINT PRIMARY KEY, shop STRING)")
        for (upper, lower), yes in allowed.items():
            below, above = (f"{mode} 1 HOUR" if mode in ("EVERY", "PERIODIC") else mode for mode in (lower, upper))
            db.execute(f"CREATE VIEW below MAINTAIN {below} AS {SELECT}")
            try:
                db.execute(f"CREATE VIEW above MAINTAIN {above} AS SELECT shop FROM below WHERE n > 1")
                assert yes, (upper, lower)
            except Unsupported:
                assert not yes, (upper, lower)
            db.execute("DROP VIEW below CASCADE")
