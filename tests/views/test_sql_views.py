"""Views in SQL against the oracle: after every batch, however the log is split and whatever is created, replaced or
dropped meanwhile, each view is its SELECT at its watermark.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import viewkeeper as vk
from tests.oracle import Cells
from tests.views.kept import check_views, finish, maintainer
from tests.views.texts import CELLS, TABLE, Columns, Text, indexes, texts, with_condition
from viewkeeper.errors import BadDefinition, TableExists, ViewsDepend
from viewkeeper.model.view import View
from viewkeeper.store.interface import WriteSet
from viewkeeper.views import fill
from viewkeeper.write import views as statements

NAMES = ("V1", "V2", "V3", "V4")
rows = st.tuples(*CELLS.values())
transactions = st.lists(st.tuples(st.sampled_from(["put", "put", "delete"]), rows), min_size=1, max_size=5)


class Stopped(BaseException):
    """A maintainer that is no more."""


class World:
    """A database with one table, a model of its history, and what can be done to both."""

    def __init__(self, path: Path, data: st.DataObject) -> None:
        self.db = vk.open(path, durability="os")
        self.store = self.db._shared
        self.data = data
        self.db.execute(TABLE)
        self.codec = self.store.catalog().codec("Events")
        self.history: list[tuple[int, dict[int, Cells]]] = [(0, {})]
        self.texts: dict[int, Text] = {}
        self.created = 0

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        return self.data.draw(strategy)

    def base(self, position: int) -> list[Cells]:
        """The rows of the table at a position where it stood."""
        (found,) = (table for at, table in self.history if at == position)
        return list(found.values())

    def write(self) -> None:
        writes = WriteSet()
        table = dict(self.history[-1][1])
        for what, row in self.draw(transactions):
            key = self.codec.key.encode(row)
            if what == "put":
                writes.put(self.codec, key, dict(enumerate(row)))
                table[row[0]] = row
            else:
                writes.remove(self.codec, key)
                table.pop(row[0], None)
        head = self.store.offset(self.store.commit(writes))
        if head != self.history[-1][0]:
            self.history.append((head, table))

    def create(self) -> None:
        catalog = self.store.catalog()
        name = self.draw(st.sampled_from(NAMES))
        existing = catalog.view(name)
        source, columns = self._source()
        if existing is not None and existing.id in self.texts and self.draw(st.booleans()):
            text = self.draw(with_condition(self.texts[existing.id], self._columns_of(existing)))
            source = text.source
            sql = text.create(name, replacing=True)
        elif existing is None and self.draw(st.integers(0, 3)) == 0:
            text = None
            sql = f"CREATE INDEX {name} {self.draw(indexes(source, columns))}"
        else:
            text = self.draw(texts(source, columns))
            sql = text.create(name, replacing=existing is not None)
        try:
            if not self.run(sql):
                return
        except (ViewsDepend, BadDefinition):
            # It reads itself, or a view above would not hold.
            assert existing is not None
            return
        except TableExists:
            # A view does not take the place of an index.
            assert existing is not None
            assert existing.kind == "index"
            return
        except vk.ViewkeeperError:
            # The source is about to become another one, which lacks what this reads.
            assert any(view.replaces is not None and view.name == source for view in catalog.views.values())
            return
        self.created += 1
        newest = max(self.store.catalog().views.values(), key=lambda view: (view.name == name, view.id))
        if text is not None and text.source in ("Events", *NAMES):
            self.texts[newest.id] = text

    def run(self, sql: str) -> bool:
        """Run a statement that makes a view; whether it was one that can be."""
        self.db.execute(sql)
        return True

    def _source(self) -> tuple[str, Columns]:
        views = [view for view in self.store.catalog().view_names.values() if _columns(view)]
        chosen = self.draw(st.sampled_from(["Events", *sorted({view.name for view in views})]))
        return chosen, self._columns_named(chosen)

    def _columns_named(self, name: str) -> Columns:
        found = self.store.catalog().find(name)
        if isinstance(found, View):
            return _columns(found)
        return tuple((column.name, str(column.type.kind)) for column in found.columns)

    def _columns_of(self, view: View) -> Columns:
        return self._columns_named(self.texts[view.id].source)

    def drop(self) -> None:
        name = self.draw(st.sampled_from(NAMES))
        found = self.store.catalog().view(name)
        if found is not None:
            self.db.execute(f"DROP {'INDEX' if found.kind == 'index' else 'VIEW'} {name} CASCADE")

    def maintain(self) -> None:
        """To some position where the table stood, in batches of some size; perhaps killed in the middle of a fill."""
        until = self.draw(st.sampled_from([at for at, _ in self.history]))
        batch = self.draw(st.sampled_from([1, 3, 1000]))
        steps = self.draw(st.integers(1, 12))

        def killed(_: Any) -> None:
            nonlocal steps
            steps -= 1
            if steps == 0:
                raise Stopped

        def stepped(name: str) -> None:
            if name in ("applied", "settled"):
                self.check()

        views = list(self.store.catalog().views)
        some = self.draw(st.one_of(st.none(), st.sets(st.sampled_from(views)))) if views else None
        keeping = maintainer(self.store, batch_changes=batch, progress=killed, step=stepped, views=some)
        with suppress(Stopped):
            # With some of the views only, those that they read may never get there.
            keeping.round(until) if some is not None else finish(keeping, until)
        self.check()

    def check(self) -> int:
        return check_views(self.store, self.base)

    def catch_up(self) -> None:
        """All views are there, at the head, and are what they have to be."""
        self.db.maintain()
        head = self.store.offset(self.store.head())
        states, _ = self.store.view_tables.objects()
        assert all(state.watermark == head and state.filled is None for state in states.values())
        assert self.check() == len(self.store.catalog().views)

    def clear(self) -> None:
        """Without views nothing is left of them."""
        for name in NAMES:
            found = self.store.catalog().view(name)
            if found is not None:
                self.db.execute(f"DROP {'INDEX' if found.kind == 'index' else 'VIEW'} {name} CASCADE")
        assert self.store.view_tables.objects() == ({}, {})
        assert self.store.view_tables.notes() == {}


def _columns(view: View) -> Columns:
    """Columns that views above may read: no sums of DOUBLE."""
    return tuple(
        (column.name, str(column.type.kind))
        for place, column in enumerate(view.columns)
        if place not in view.approximate
    )


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data(), small=st.booleans())
def test_views_are_their_selects_after_every_batch(data: st.DataObject, small: bool) -> None:
    folder = Path(tempfile.mkdtemp())
    with pytest.MonkeyPatch.context() as patch:
        # Fills in several steps, and in one case of two only by maintainers.
        patch.setattr(fill, "STEP_ROWS", 2)
        if not small:
            patch.setattr(statements, "SMALL", -1)
        world = World(folder / "db", data)
        try:
            for action in data.draw(st.lists(st.sampled_from(ACTIONS), min_size=3, max_size=14)):
                getattr(world, action)()
            world.catch_up()
            world.clear()
        finally:
            world.db.close()
            shutil.rmtree(folder)


ACTIONS = ("write", "write", "write", "create", "create", "maintain", "maintain", "drop")
