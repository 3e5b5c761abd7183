"""ARCHITECTURE.md, the import contract and the folder tell of the same parts."""

from __future__ import annotations

import re
import tomllib

from tests.repo.tree import PACKAGE, ROOT, fences, section

ARCHITECTURE = ROOT / "ARCHITECTURE.md"


def _contract() -> list[list[str]]:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [found for found in config["tool"]["importlinter"]["contracts"] if found["id"] == "layers"]
    return [re.findall(r"\w+", layer) for layer in contract["layers"]]


def _documented() -> list[list[str]]:
    """The parts by layer as ARCHITECTURE.md draws them; those still to come in parentheses."""
    [drawing] = fences(section(ARCHITECTURE, "Layers"))
    return [re.split(r" \| ", re.split(r"\s{2,}", line.strip())[0]) for line in drawing.splitlines()]


def _present() -> set[str]:
    folders = {path.parent.name for path in PACKAGE.glob("*/*.py")}
    return folders | {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}


def test_documented_layers_are_the_contract() -> None:
    assert [[name.strip("()") for name in layer] for layer in _documented()] == _contract()


def test_layers_in_parentheses_are_those_that_do_not_exist_yet() -> None:
    names = {name for layer in _documented() for name in layer}
    assert {name for name in names if not name.startswith("(")} == _present()


def test_code_map_names_every_part_and_only_modules_that_exist() -> None:
    """What a single module does is said at its top; the map says where to begin."""
    text = section(ARCHITECTURE, "Code map")
    listed = set(re.findall(r"^- `([\w/]+\.py)`", text, re.MULTILINE))
    modules = {str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py")}
    assert sorted(listed - modules) == []
    folders = {str(path.parent.relative_to(PACKAGE)) for path in PACKAGE.rglob("*/*.py")} - {"."}
    assert sorted(folder for folder in folders if f"`{folder}" not in text) == []
