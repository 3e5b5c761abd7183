"""docs/views.md says what is so: its programs print what stands below them, and its lists are complete."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import viewkeeper as vk
from tests.repo.tree import ROOT, fences, section

PAGE = ROOT / "docs" / "views.md"


def test_programs_print_what_the_page_says(tmp_path: Path) -> None:
    *blocks, statements = fences(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) == 12
    # Each goes on with the database of the one before.
    for program, output in zip(blocks[::2], blocks[1::2], strict=True):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr, done.stdout) == (0, "", output)
    with vk.open(tmp_path / "shop") as db:
        db.execute(statements)
        assert {status.level for status in db.status() if status.view == "dear_shops"} == {"SI-3"}


def test_every_field_and_state_of_a_status_is_told() -> None:
    told = section(PAGE, "How a view is")
    named = set(re.findall(r"`([a-z_]+)`", told))
    assert {field.name for field in fields(vk.ViewStatus)} <= named
    states = set(re.findall(r"^        ([a-z]+)  ", vk.ViewStatus.__doc__ or "", re.MULTILINE))
    assert states == {"waiting", "filling", "live", "replacing", "failing"}
    assert states <= named
