"""docs/cli.md tells of every command and every option, and of none that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from tests.repo.tree import ROOT
from viewkeeper.cli import app


def _page() -> str:
    return (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Each command that a user can call, with its words behind "viewkeeper"."""
    yield " ".join(path), command
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from _commands(below, (*path, name))


COMMANDS = dict(_commands(typer.main.get_command(app), ()))
OPTIONS = sorted(
    {
        (name, option)
        for name, command in COMMANDS.items()
        for parameter in command.params
        if parameter.param_type_name == "option" and not getattr(parameter, "hidden", False)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
)


def _part(command: str) -> str:
    """What the page says under the heading of a command; the whole page for the program itself."""
    page = _page()
    if not command:
        return page
    found = re.search(rf"^#+ `?(?:viewkeeper )?{re.escape(command)}\b.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, f"docs/cli.md has no heading for {command!r}"
    return found[0]


@pytest.mark.parametrize("command", [name for name in COMMANDS if name])
def test_command_has_its_heading(command: str) -> None:
    assert _part(command)


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_option_is_told_of_under_its_command(command: str, option: str) -> None:
    assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", _part(command))


def test_page_names_no_command_that_is_not_there() -> None:
    named = set(re.findall(r"^\s*\$? ?viewkeeper ([a-z][a-z-]*)", _page(), re.MULTILINE))
    assert named <= {name.split(" ")[0] for name in COMMANDS}
