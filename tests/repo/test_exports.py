"""What `import viewkeeper` gives, and what it costs."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import viewkeeper
from viewkeeper.errors import ViewkeeperError


def test_every_exported_name_is_there() -> None:
    missing = [name for name in viewkeeper.__all__ if not hasattr(viewkeeper, name)]
    assert missing == []


def test_exported_names_are_sorted_and_listed_once() -> None:
    assert viewkeeper.__all__ == sorted(set(viewkeeper.__all__))


def test_every_public_name_is_exported() -> None:
    public = {
        name for name, value in vars(viewkeeper).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public == set(viewkeeper.__all__)


def _errors(kind: type[ViewkeeperError]) -> list[type[ViewkeeperError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _errors(child))]


def test_every_error_is_in_the_one_tree_and_exported() -> None:
    # Only what has been imported is among the subclasses.
    for module in pkgutil.walk_packages(viewkeeper.__path__, "viewkeeper."):
        importlib.import_module(module.name)
    ours = [kind for kind in _errors(ViewkeeperError) if kind.__module__.startswith("viewkeeper.")]
    assert [kind.__qualname__ for kind in ours if kind.__module__ != "viewkeeper.errors"] == []
    assert {kind.__name__ for kind in ours} <= set(viewkeeper.__all__)


@pytest.mark.parametrize("package", ["pyarrow", "pyspark", "sqlglot", "typer", "rich"])
def test_import_does_not_load_a_heavy_package(package: str) -> None:
    program = f"import sys, viewkeeper; sys.exit({package!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
