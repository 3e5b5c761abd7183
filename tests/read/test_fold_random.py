"""A fold is what the oracle says at that position: every kind of view, any part of it, forwards and backwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.read.folds import PATHS, Folds, Timeline, total
from tests.views import test_join_views as joins
from tests.views import test_sql_views as singles
from viewkeeper.views import fill

ACTIONS = ("write", "write", "write", "create", "create", "maintain")


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_folds_of_views_of_one_table_are_what_the_oracle_says(data: st.DataObject) -> None:
    folder = Path(tempfile.mkdtemp())
    world = singles.World(folder / "db", data)
    try:
        for action in data.draw(st.lists(st.sampled_from(ACTIONS), min_size=3, max_size=10)):
            getattr(world, action)()
        world.write()
        Folds(world.store, lambda _, at: world.base(at), [at for at, _ in world.history], data).check()
    finally:
        world.db.close()
        shutil.rmtree(folder)


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_folds_of_joins_are_what_the_oracle_says(data: st.DataObject) -> None:
    folder = Path(tempfile.mkdtemp())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fill, "STEP_ROWS", 2)
        world = joins.World(folder / "db", data)
        try:
            for action in data.draw(st.lists(st.sampled_from(ACTIONS), min_size=3, max_size=10)):
                getattr(world, action)()
            world.write()
            Folds(world.store, world.base, [at for at, _ in world.history], data).check()
        finally:
            world.db.close()
            shutil.rmtree(folder)


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data(), joined=st.booleans())
def test_reads_that_commit_their_folds_keep_views_and_timelines_true(data: st.DataObject, joined: bool) -> None:
    folder = Path(tempfile.mkdtemp())
    world: Any = (joins if joined else singles).World(folder / "db", data)
    try:
        base = world.base if joined else lambda _, at: world.base(at)
        timeline = Timeline(world.db._reads, base, [], data)
        world.create()
        world.write()
        actions = st.sampled_from((*ACTIONS, "write", "read", "read", "read", "read"))
        for action in data.draw(st.lists(actions, min_size=5, max_size=14)):
            timeline.positions = [at for at, _ in world.history]
            timeline.read() if action == "read" else getattr(world, action)()
        world.check()
        world.catch_up()
    finally:
        world.db.close()
        shutil.rmtree(folder)


@pytest.fixture(scope="module", autouse=True)
def every_way_was_taken() -> Iterator[None]:
    """How many reads were answered which way; of many, each way by some."""
    yield
    print(f"\nreads of views: {total(PATHS)}")
    assert sum(PATHS.values()) < 400 or min(PATHS["folded"], PATHS["unaffected"]) > 50
