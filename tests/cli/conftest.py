"""A database with two empty tables for each test that asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import make


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make(tmp_path / "shop")
