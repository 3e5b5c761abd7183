"""scripts/setup does its work once: a stand-in Python notes what it is asked to install."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.repo.tree import ROOT

PYTHON = """#!/bin/sh
case "$*" in
    *_base_executable*) echo "$0" ;;
    --version) echo "Python 3.11.0" ;;
    "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *install*) echo "$*" >>installed; [ ! -f offline ] || { echo "no network"; exit 1; } ;;
esac
"""


class Checkout:
    """A folder with the scripts and a pyproject.toml, and a stand-in Python first on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / "scripts", folder / "scripts")
        (folder / "pyproject.toml").write_text("[project]\n")
        (folder / "bin").mkdir()
        (folder / "bin" / "python3").write_text(PYTHON)
        (folder / "bin" / "python3").chmod(0o755)

    def setup(self, what: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "scripts" / "setup"), what],
            env={"PATH": f"{self.folder / 'bin'}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def installed(self) -> list[str]:
        """What pip was asked for, one entry a call."""
        notes = self.folder / "installed"
        return [line.split()[-1] for line in notes.read_text().splitlines()] if notes.exists() else []


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    (tmp_path / "here").mkdir()
    return Checkout(tmp_path / "here")


def test_second_set_up_does_and_says_nothing(checkout: Checkout) -> None:
    first = checkout.setup("run")
    assert first.returncode == 0
    assert [line[0] for line in first.stdout.splitlines()] == ["·", "·"]
    again = checkout.setup("run")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert checkout.installed == ["."]


def test_set_up_for_the_tests_serves_the_demo_but_not_the_other_way_round(checkout: Checkout) -> None:
    for what in ("run", "dev", "run", "dev"):
        assert checkout.setup(what).returncode == 0
    assert checkout.installed == [".", ".[dev]"]


def test_changed_pyproject_installs_again_into_the_same_environment(checkout: Checkout) -> None:
    checkout.setup("run")
    (checkout.folder / ".venv" / "kept").touch()
    (checkout.folder / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    checkout.setup("run")
    assert checkout.installed == [".", "."]
    assert (checkout.folder / ".venv" / "kept").exists()


def test_failed_install_shows_its_log_and_is_tried_again(checkout: Checkout) -> None:
    (checkout.folder / "offline").touch()
    failed = checkout.setup("run")
    assert failed.returncode == 1
    assert "no network" in failed.stderr
    (checkout.folder / "offline").unlink()
    assert checkout.setup("run").returncode == 0
    assert checkout.installed == [".", "."]


def test_moved_folder_makes_its_environment_anew(checkout: Checkout, tmp_path: Path) -> None:
    checkout.setup("run")
    (checkout.folder / ".venv" / "stale").touch()
    checkout.folder = checkout.folder.rename(tmp_path / "there")
    assert checkout.setup("run").returncode == 0
    assert not (checkout.folder / ".venv" / "stale").exists()
