"""The pages: links lead somewhere, and nothing names the machine it was written on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.repo.tree import ROOT, files, pages


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def _dead_links(page: Path) -> list[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        target, _, anchor = link.partition("#")
        found = page.parent / target if target else page
        if not found.exists() or (anchor and anchor not in _anchors(found)):
            dead.append(link)
    return dead


@pytest.mark.parametrize("page", pages(), ids=_name)
def test_relative_links_lead_somewhere(page: Path) -> None:
    assert _dead_links(page) == []


def test_a_dead_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One two\n[a](gone.md) [b](#one-two) [c](#three) [d](page.md) [e](https://example.org/x)\n")
    assert _dead_links(page) == ["gone.md", "#three"]


# Written in pieces, so that this file does not hold what it looks for.
_FOLDERS = "|".join(
    ["wor" + "k", "roo" + "t", "hom" + "e/[a-z]+", "User" + "s/[a-z]+", "tm" + "p/vk", "tm" + "p/bash_[a-z]+"]
)
_HOSTS = ["python" + "hosted", "py" + r"pi\.org", "ana" + r"conda\.org", "repo1" + r"\.maven", "jf" + r"rog\.io"]
_MACHINE = re.compile(rf"(?<![\w.)}}/-])/(?:{_FOLDERS})(?![a-z])|{'|'.join(_HOSTS)}")


def _machine_names(text: str) -> list[str]:
    return _MACHINE.findall(text)


@pytest.mark.parametrize("path", list(files()), ids=_name)
def test_no_machine_path_and_no_registry_host(path: Path) -> None:
    assert _machine_names(path.read_bytes().decode("utf-8", "replace")) == []


def test_machine_paths_and_registry_hosts_are_found() -> None:
    bad = ["open('/wor" + "k/main')", "/hom" + "e/ann/x", "https://files.python" + "hosted.org/x", "(/roo" + "t/x)"]
    assert [bool(_machine_names(text)) for text in bad] == [True] * 4
    good = ["docs/work/x", "the /data/shop folder", "src/home/x", "a root/x", "/workers/x"]
    assert [bool(_machine_names(text)) for text in good] == [False] * 5
