"""Views of all modes against the oracle, over and below one another, and as their modes change: each is its SELECT at
its watermark after every batch, and those beside the tables after every write.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.views import test_join_views, test_sql_views
from tests.views.texts import TABLE
from viewkeeper.errors import Unsupported
from viewkeeper.views import fill, homes
from viewkeeper.write import views as statements

MODES = ("DEFERRED", "SYNC", "SYNC", "SYNC", "LOCAL", "LAZY", "EVERY 1 SECOND")
NAMES = ("V1", "V2", "V3", "V4")


class Modes:
    """What worlds of one table and of several have in common: views are made in some mode, and get another one."""

    db: Any
    store: Any
    draw: Any
    check: Any

    def run(self, sql: str) -> bool:
        mode = self.draw(st.sampled_from(MODES))
        if "VIEW" in sql:
            sql = sql.replace(" AS SELECT", f" MAINTAIN {mode} AS SELECT", 1) if " AS SELECT" in sql else sql
        else:
            sql += f" MAINTAIN {mode}"
        note(sql)
        try:
            self.db.execute(sql)
        except Unsupported:
            return False
        self.check()
        return True

    def alter(self) -> None:
        name = self.draw(st.sampled_from(NAMES))
        found = self.store.catalog().view(name)
        if found is None:
            return
        mode = self.draw(st.sampled_from(MODES))
        sql = f"ALTER {'VIEW' if found.kind == 'view' else 'INDEX'} {name} SET MAINTAIN {mode}"
        note(sql)
        try:
            self.db.execute(sql)
        except Unsupported:
            return
        self.check()

    def write(self) -> None:
        super().write()  # type: ignore[misc]
        self.check()

    def clear(self) -> None:
        for name in NAMES:
            found = self.store.catalog().view(name)
            if found is not None:
                self.db.execute(f"DROP {'INDEX' if found.kind == 'index' else 'VIEW'} {name} CASCADE")
        assert self.store.view_tables.objects() == ({}, {})
        assert self.store.catalog().slots.keys() == self.store.catalog().tables.keys()

    def catch_up(self) -> None:
        self.db.maintain()
        head = self.store.offset(self.store.head())
        states, _ = self.store.view_tables.objects()
        assert all(state.watermark == head and state.filled is None for state in states.values())
        views = self.store.catalog().views.values()
        assert all(view.in_base == (view.mode == "SYNC") for view in views if view.mode != "LOCAL")
        assert self.check() == len(views)


class OneTable(Modes, test_sql_views.World):
    pass


class Tables(Modes, test_join_views.World):
    pass


ACTIONS = ("write", "write", "write", "create", "create", "alter", "maintain", "drop")


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data(), small=st.booleans(), partitions=st.sampled_from([1, 3]))
def test_views_of_all_modes_are_their_selects(data: st.DataObject, small: bool, partitions: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        table = TABLE if partitions == 1 else f"{TABLE.rstrip()} PARTITIONED BY HASH (id) INTO {partitions}"
        patch.setattr(test_sql_views, "TABLE", table)
        _run(OneTable, data, small, patch)


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data(), small=st.booleans())
def test_joins_of_all_modes_are_their_selects(data: st.DataObject, small: bool) -> None:
    with pytest.MonkeyPatch.context() as patch:
        _run(Tables, data, small, patch)


def _run(kind: Any, data: st.DataObject, small: bool, patch: pytest.MonkeyPatch) -> None:
    folder = Path(tempfile.mkdtemp())
    patch.setattr(fill, "STEP_ROWS", 2)
    patch.setattr(homes, "HELD", data.draw(st.sampled_from([0, 500])))
    patch.setattr(homes, "STEP", 2)
    if not small:
        patch.setattr(statements, "SMALL", -1)
    world = kind(folder / "db", data)
    try:
        for action in data.draw(st.lists(st.sampled_from(ACTIONS), min_size=3, max_size=14)):
            getattr(world, action)()
        world.catch_up()
        world.clear()
    finally:
        world.db.close()
        shutil.rmtree(folder)
