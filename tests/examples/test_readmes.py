"""What the pages of the examples say: commands that run, and what these print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.repo.tree import ROOT, fences

TPCW, PIQL = (ROOT / "examples" / name / "README.md" for name in ("tpcw", "piql"))


def advised(page: Path) -> list[str]:
    """The lines that the command of a page prints."""
    [command] = [block.split() for block in fences(page.read_text(encoding="utf-8")) if "advise" in block]
    done = run(*command[1:-2], *(ROOT / file for file in command[-2:]))
    assert done.code == 0, done.err
    return [line.rstrip() for line in done.out.splitlines()]


def test_advice_on_the_bookstore_is_as_shown() -> None:
    [shown] = [block for block in fences(TPCW.read_text(encoding="utf-8")) if block.startswith("query ")]
    assert set(shown.splitlines()) <= set(advised(TPCW))


def test_advice_on_documents_has_the_levels_of_the_page() -> None:
    levels = dict(re.findall(r"^\| `(\w+)` \| (SI-\d) \|", PIQL.read_text(encoding="utf-8"), re.MULTILINE))
    assert len(levels) == 6
    printed = [line.split()[:2] for line in advised(PIQL)]
    assert all([name, level] in printed for name, level in levels.items())


@pytest.mark.parametrize("page", [TPCW, PIQL], ids=["tpcw", "piql"])
def test_files_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(r"`(\w+\.(?:py|sql))`", page.read_text(encoding="utf-8"))
    assert named
    assert all((page.parent / name).exists() for name in named)
