"""What README.md shows is what happens."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repo.tree import ROOT, fences, section

README = ROOT / "README.md"


def _run(arguments: list[str], folder: Path) -> str:
    done = subprocess.run(
        arguments,
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_quick_start_is_exactly_two_commands() -> None:
    commands = [line for block in fences(section(README, "Quick start")) for line in block.splitlines()]
    assert [command.split("#")[0].strip() for command in commands] == ["make demo", "make test"]


@pytest.mark.parametrize("heading", ["From Python", "A view"])
def test_python_example_prints_what_it_says(heading: str, tmp_path: Path) -> None:
    [program, output] = fences(section(README, heading))
    assert _run([sys.executable, "-W", "error", "-c", program], tmp_path) == output


def _session() -> list[tuple[str, str]]:
    """The commands of the tour, each with the output shown below it."""
    [block] = fences(section(README, "From the command line"))
    return re.findall(r"^\$ (.+)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)


def _normal(output: str) -> str:
    """Times and database ids differ from run to run; trailing blanks do not show."""
    output = re.sub(r"\b[0-9a-f]{12}@", "<database>@", output)
    output = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?", "<time>", output)
    return "\n".join(line.rstrip() for line in output.strip().splitlines())


def test_tour_of_the_command_line_prints_what_it_says(tmp_path: Path) -> None:
    shown = _session()
    assert len(shown) >= 4
    for command, output in shown:
        words = shlex.split(command)
        if words[0] != "viewkeeper":
            pytest.fail(f"the tour runs {words[0]!r}")
        program = ["-c", "import sys; from viewkeeper.cli import main; sys.argv[0] = 'viewkeeper'; main()"]
        seen = _run([sys.executable, *program, *words[1:]], tmp_path)
        assert _normal(seen) == _normal(output), command
