"""The examples in docstrings say what happens."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import viewkeeper

MODULES = [module.name for module in pkgutil.walk_packages(viewkeeper.__path__, "viewkeeper.")]


def _examples(name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(name)
    return [test for test in doctest.DocTestFinder().find(module) if test.examples]


def test_there_are_docstrings_with_examples() -> None:
    assert sum(len(_examples(name)) for name in MODULES) >= 2


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module_are_true(name: str) -> None:
    runner = doctest.DocTestRunner()
    for test in _examples(name):
        runner.run(test)
    assert runner.summarize(verbose=False).failed == 0
