"""A small database of orders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import viewkeeper as vk
from tests.read.moving import ORDERS


@pytest.fixture
def db(tmp_path: Path) -> Iterator[vk.Database]:
    with vk.open(tmp_path / "db", durability="os") as opened:
        opened.execute(ORDERS)
        yield opened


@pytest.fixture
def weighted_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """No view has a key: equal rows are stored once with a weight, as where nothing makes them unique."""
    monkeypatch.setattr("viewkeeper.delta.program.keyed", lambda relation, _: (relation, None))
