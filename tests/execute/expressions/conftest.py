"""Seeds: a new one each run, printed where a test fails, and repeated with VIEWKEEPER_SEED.

A batch of hundreds of expressions is too large for hypothesis to draw, and each needs a job of its own to shrink.
"""

from __future__ import annotations

import os
from random import SystemRandom

import pytest
from hypothesis import settings


@pytest.fixture
def seeds() -> list[int]:
    """One seed for each batch: one in the `ci` profile of hypothesis, twenty in the `thorough` one."""
    given = os.environ.get("VIEWKEEPER_SEED")
    count = max(1, settings().max_examples // 100)
    return [int(given)] if given else [SystemRandom().getrandbits(64) for _ in range(count)]
