"""DEFERRED, EVERY and LAZY have one meaning, whichever views stand on each other, and whoever moves them."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import viewkeeper as vk
from tests.faults.maintaining import TABLE, VIEWS, check, store_of, write
from tests.oracle import Cells
from tests.pipeline.paced import Moment, by_mode
from tests.views import test_join_views
from tests.views.kept import NoSpark, bag, maintainer, shown
from viewkeeper.errors import BadDefinition, ViewsDepend
from viewkeeper.pipeline.lazy import LazySettings, LazyTurn
from viewkeeper.pipeline.load import Load
from viewkeeper.pipeline.schedule import work_due
from viewkeeper.views import fill
from viewkeeper.write import views as statements

MODES = ("DEFERRED", "LAZY", "EVERY 100 MILLISECONDS", "EVERY 1 HOUR")


class World(test_join_views.World):
    """Tables and random views of random modes, a clock that is moved by hand, and all that moves views."""

    def __init__(self, path: Path, data: st.DataObject) -> None:
        super().__init__(path, data)
        self.clock = Moment()

    def create(self) -> None:
        name = self.draw(st.sampled_from(test_join_views.NAMES))
        existing = self.store.catalog().view(name)
        mode = self.draw(st.sampled_from(MODES))
        begin = f"CREATE {'' if existing is None else 'OR REPLACE '}VIEW {name} MAINTAIN {mode}"
        sql = f"{begin} AS {self.query().text}"
        note(sql)
        try:
            self.db.execute(sql)
        except (ViewsDepend, BadDefinition):
            assert existing is not None
        except vk.ViewkeeperError:
            # A view that it reads is about to become another one, which lacks a column.
            assert any(view.replaces is not None for view in self.store.catalog().views.values())

    def round(self) -> None:
        """As a continuous maintainer does when its clock ticks; then the clock has nothing more to tell."""
        size = self.draw(st.sampled_from([1, 3, 1000]))
        self.clock.pass_ms(self.draw(st.sampled_from([1, 99, 100, 4_000_000])))
        note(f"round by {size}")
        keeping = by_mode(self.db, self.clock, batch_changes=size, step=self.stepped)
        rounds = 0
        while keeping.round().left:
            rounds += 1
            assert rounds < 200, "the maintainer does not come to an end"
        assert work_due(self.store, self.clock()) is None
        self.check()

    def stepped(self, name: str) -> None:
        if name in ("applied", "settled"):
            self.check()

    def turn(self) -> None:
        settings = LazySettings(job_changes=self.draw(st.sampled_from([1, 4, 1000])))
        note(f"turn {settings.job_changes}")
        turn = LazyTurn(self.store, NoSpark(), settings=settings, load=Load, clock=self.clock)  # type: ignore[arg-type]
        turn.turn()
        self.check()

    def ask(self) -> None:
        views = sorted(self.store.catalog().view_names.items())
        if not views:
            return
        name, view = self.draw(st.sampled_from(views))
        upto = self.draw(st.sampled_from([at for at, _ in self.history]))
        note(f"ask {name} {upto}")
        asked: dict[str, Any] = {"priority": self.draw(st.integers(0, 3)), "requester": "test", "seconds": 1e9}
        self.store.view_tables.ask(view.id, upto, **asked)
        self.round()
        found = self.store.view_tables.standing(view.id)
        # The request is met, unless the view has still to be filled, which is not what a round is asked to wait for.
        assert found is None or found[1].filled is not None or found[1].watermark >= upto
        assert found is None or found[1].filled is not None or view.id not in self.store.view_tables.asked()


ACTIONS = ("write", "write", "write", "create", "create", "round", "round", "turn", "turn", "ask", "maintain", "drop")


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data(), small=st.booleans())
def test_views_of_all_modes_are_their_selects_at_their_watermarks(data: st.DataObject, small: bool) -> None:
    folder = Path(tempfile.mkdtemp())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fill, "STEP_ROWS", 2)
        if not small:
            patch.setattr(statements, "SMALL", -1)
        world = World(folder / "db", data)
        try:
            world.create()
            for action in data.draw(st.lists(st.sampled_from(ACTIONS), min_size=3, max_size=14)):
                getattr(world, action)()
            world.catch_up()
            world.clear()
        finally:
            world.db.close()
            shutil.rmtree(folder)


def _in_mode(text: str, mode: str, suffix: str) -> str:
    """A statement of VIEWS for a view of another mode, over others of that mode, with a suffix to their names."""
    for name in ("Totals", "Ends", "Sizes", "ByN", "Kinds", "Pairs", "Alone"):
        text = text.replace(f" {name}", f" {name}{suffix}")
    if "INDEX" in text:
        return f"{text} MAINTAIN {mode}"
    return text.replace(" AS SELECT", f" MAINTAIN {mode} AS SELECT", 1)


def test_each_kind_of_view_is_the_same_in_every_mode(tmp_path: Path) -> None:
    suffixes = {"DEFERRED": "_d", "LAZY": "_l", "EVERY 1 SECOND": "_e"}
    with vk.open(tmp_path / "db", durability="os") as db:
        db.execute(TABLE)
        for mode, suffix in suffixes.items():
            for text in VIEWS:
                db.execute(_in_mode(text, mode, suffix))
        store, clock = store_of(db), Moment()
        keeping = by_mode(db, clock, batch_changes=7)
        turn = LazyTurn(
            store,
            NoSpark(),  # type: ignore[arg-type]
            settings=LazySettings(job_changes=11),
            load=Load,
            clock=clock,
        )
        for seed in range(6):
            write(db, seed, 6)
            clock.pass_ms(400)
            keeping.round()
            turn.turn()
            check(db, at_head=False)
        maintainer(store).round()
        check(db)
        views = {view.name: view for view in db.views()}
        assert len(views) == 3 * len(VIEWS)
        for text in VIEWS:
            name = text.split()[2]
            seen: list[Counter[Cells]] = [bag(shown(store, views[name + suffix])) for suffix in suffixes.values()]
            assert seen[0] == seen[1] == seen[2]
            assert seen[0]
