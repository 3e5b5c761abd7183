"""A few rounds of kill -9 under load; `python -m tests.faults.kill --rounds 200` runs many."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.kill import kill_rounds


@pytest.mark.parametrize(("durability", "rounds"), [("sync", 16), ("os", 6)])
def test_what_was_acknowledged_survives_kill_and_nothing_is_torn(tmp_path: Path, durability: str, rounds: int) -> None:
    seed = random.SystemRandom().getrandbits(32)
    print(f"seed {seed}")
    summary = kill_rounds(tmp_path, rounds, seed=seed, durability=durability)
    assert summary.rounds == rounds
    assert summary.acknowledged > 0, "the writers were killed before they wrote anything"
