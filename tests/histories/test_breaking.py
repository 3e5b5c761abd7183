"""The system broken on purpose: the checker sees it, and sees nothing where nothing is broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.histories.breaking import BROKEN
from tests.histories.driven import Driven

SEEDS = (1, 2, 3, 4, 5, 6)


@pytest.fixture
def drive(tmp_path: Path) -> Callable[[int], Driven]:
    return lambda seed: Driven(tmp_path / f"database-{seed}", "DEFERRED", seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_whole_breaks_no_rule(seed: int, drive: Callable[[int], Driven]) -> None:
    driven = drive(seed)
    assert driven.run() == []
    assert len(driven.events) > 100


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_seen(name: str, drive: Callable[[int], Driven], capsys: pytest.CaptureFixture[str]) -> None:
    """By one seed at least: what one history lacks to show it, the next one has."""
    patch_in, rules = BROKEN[name]
    for seed in SEEDS:
        with pytest.MonkeyPatch.context() as patch:
            driven = drive(seed)
            patch_in(patch, driven)
            found = driven.run()
        named = [violation for violation in found if violation.rule in rules]
        if named:
            with capsys.disabled():
                print(f"\n{name}: {len(found)} violations, such as {named[0]}", end="", flush=True)
            return
    raise AssertionError(f"not seen: {name}")
