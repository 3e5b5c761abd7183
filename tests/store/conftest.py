"""A store in a fresh folder for each test; `harness` comes from the module that runs the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.store.harness import Harness
    from viewkeeper.store.interface import Store

# The contract is imported, not collected, and its assertions should explain themselves all the same.
pytest.register_assert_rewrite(*(f"tests.store.{file.stem}" for file in Path(__file__).parent.glob("contract*.py")))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "db"


@pytest.fixture
def store(harness: Harness, folder: Path) -> Iterator[Store]:
    opened = harness.open(folder)
    yield opened
    harness.close(opened)
