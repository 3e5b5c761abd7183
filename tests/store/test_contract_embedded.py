"""The embedded store keeps the contract."""

from __future__ import annotations

import pytest

from tests.store.contract import *  # noqa: F403 - pytest collects what it finds in this module
from tests.store.harness import EMBEDDED, Harness


@pytest.fixture
def harness() -> Harness:
    return EMBEDDED
