"""The files of this repository as the tests beside this one look at them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "viewkeeper"

_MADE = {".git", ".venv", "__pycache__", "build", "dist", "artifacts", "metastore_db", "spark-warehouse"}


def files() -> Iterator[Path]:
    """Every file that someone wrote; not what make, Spark or the tools left."""
    yield from _below(ROOT)


def _below(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            if (
                path.name not in _MADE
                and not path.name.endswith(("_cache", ".egg-info"))
                and path.name != ".hypothesis"
            ):
                yield from _below(path)
        else:
            yield path


def pages() -> list[Path]:
    return [path for path in files() if path.suffix == ".md"]


def section(page: Path, heading: str) -> str:
    """The text under a heading, up to the next one of its level or above."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^(#+) {re.escape(heading)}$\n", text, re.MULTILINE)
    assert found, f"{page.name} has no heading {heading!r}"
    rest = text[found.end() :]
    following = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: following.start()] if following else rest


def fences(text: str) -> list[str]:
    """The contents of the fenced blocks."""
    return re.findall(r"^```[a-z]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
