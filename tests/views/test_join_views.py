"""Joins, unions and views on views in SQL against the oracle: after every batch, however the log is split and whatever
is created, replaced or dropped meanwhile, each view is its SELECT at its watermark.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import viewkeeper as vk
from tests.oracle import Cells
from tests.views.joinschemas import Columns, JoinTable, Write, loads, schemas, transactions
from tests.views.jointexts import From, Query, Sources, views, views_over
from tests.views.kept import check_joins, finish, maintainer
from viewkeeper.errors import BadDefinition, ViewsDepend
from viewkeeper.model.view import View
from viewkeeper.pipeline.verify import verify
from viewkeeper.store.interface import WriteSet
from viewkeeper.views import fill
from viewkeeper.write import views as statements

NAMES = ("V1", "V2", "V3", "V4")
Tables = dict[int, dict[Cells, Cells]]
"""Rows by key, by the id of their table."""


class World:
    """A database with some tables, a model of their history, and what can be done to both."""

    def __init__(self, path: Path, data: st.DataObject) -> None:
        self.db = vk.open(path, durability="os")
        self.store = self.db._shared
        self.data = data
        self.tables: tuple[JoinTable, ...] = self.draw(schemas())
        for table in self.tables:
            note(table.create)
            self.db.execute(table.create)
        self.keys = {table.name: table.key for table in self.tables}
        ids = {table.name: number for number, table in self.store.catalog().tables.items()}
        self.ids = {table.name: ids[table.name] for table in self.tables}
        self.history: list[tuple[int, Tables]] = [(0, {number: {} for number in self.ids.values()})]
        self.reads: list[tuple[From, Sources]] = []
        self.commit(self.draw(loads(self.tables)))

    def draw(self, strategy: st.SearchStrategy[Any]) -> Any:
        return self.data.draw(strategy)

    def base(self, table: int, position: int) -> list[Cells]:
        """The rows of a table at a position where the tables stood."""
        (found,) = (tables for at, tables in self.history if at == position)
        return list(found[table].values())

    def write(self) -> None:
        self.commit(self.draw(transactions(self.tables)))

    def commit(self, transaction: list[Write]) -> None:
        note(f"commit {transaction}")
        writes = WriteSet()
        tables = {number: dict(rows) for number, rows in self.history[-1][1].items()}
        for what, name, row in transaction:
            codec = self.store.catalog().codec(name)
            key, rows = row[: self.keys[name]], tables[self.ids[name]]
            if what == "put":
                writes.put(codec, codec.key.encode(row), dict(enumerate(row)))
                rows[key] = row
            else:
                writes.remove(codec, codec.key.encode(row))
                rows.pop(key, None)
        head = self.store.offset(self.store.commit(writes))
        if head != self.history[-1][0]:
            self.history.append((head, tables))

    def create(self) -> None:
        """A view; or another one by the same name, unless it would read itself or break those above it."""
        name = self.draw(st.sampled_from(NAMES))
        existing = self.store.catalog().view(name)
        query = self.query()
        sql = f"CREATE {'' if existing is None else 'OR REPLACE '}VIEW {name} AS {query.text}"
        note(sql)
        try:
            self.run(sql)
        except (ViewsDepend, BadDefinition):
            assert existing is not None
        except vk.ViewkeeperError:
            # A view that it reads is about to become another one, which lacks a column.
            assert any(view.replaces is not None for view in self.store.catalog().views.values())

    def run(self, sql: str) -> bool:
        """Run a statement that makes a view; whether it was one that can be."""
        self.db.execute(sql)
        return True

    def query(self) -> Query:
        """Every third time of what another view reads, so that what is kept of it is shared."""
        sources = self.sources()
        known = [read for read, seen in self.reads if seen.items() <= sources.items()]
        if known and self.draw(st.integers(0, 2)) == 0:
            found: Query = self.draw(views_over(sources, self.draw(st.sampled_from(known))))
            return found
        found = self.draw(views(sources, failing=True))
        if found.read is not None:
            self.reads.append((found.read, {name: sources[name] for name in sources if name in found.read.text}))
        return found

    def sources(self) -> Sources:
        """Tables and views, as they are now."""
        found: dict[str, Columns] = {table.name: table.columns for table in self.tables}
        for view in self.store.catalog().view_names.values():
            found[view.name] = _columns(view)
        return found

    def drop(self) -> None:
        name = self.draw(st.sampled_from(NAMES))
        if self.store.catalog().view(name) is not None:
            note(f"drop {name}")
            self.db.execute(f"DROP VIEW {name} CASCADE")

    def maintain(self) -> None:
        """To some position where the tables stood, in batches of some size."""
        until = self.draw(st.sampled_from([at for at, _ in self.history]))
        size = self.draw(st.sampled_from([1, 3, 1000]))
        note(f"maintain until {until} by {size}")

        def stepped(name: str) -> None:
            if name in ("applied", "settled"):
                self.check()

        finish(maintainer(self.store, batch_changes=size, step=stepped), until)
        self.check()

    def check(self) -> int:
        return check_joins(self.store, self.base)

    def catch_up(self) -> int:
        """All views are there, at the head, and are what they have to be, also by their own account; how many."""
        self.db.maintain()
        head = self.store.offset(self.store.head())
        states, _ = self.store.view_tables.objects()
        assert all(state.watermark == head and state.filled is None for state in states.values())
        kept = list(self.store.catalog().views.values())
        assert self.check() == len(kept)
        for view in kept:
            assert verify(self.store, view.name).ok, view.text
        return len(kept)

    def clear(self) -> None:
        """Without views nothing is left of them, nor of what they kept beside."""
        for name in NAMES:
            self.db.execute(f"DROP VIEW IF EXISTS {name} CASCADE")
        assert self.store.view_tables.objects() == ({}, {})
        assert self.store.view_tables.notes() == {}


def _columns(view: View) -> Columns:
    return tuple((column.name, str(column.type)) for column in view.columns)


ACTIONS = ("write", "write", "write", "create", "create", "maintain", "maintain", "drop")


@settings(suppress_health_check=list(HealthCheck))
@given(data=st.data(), small=st.booleans())
def test_joins_are_their_selects_after_every_batch(data: st.DataObject, small: bool) -> None:
    folder = Path(tempfile.mkdtemp())
    with pytest.MonkeyPatch.context() as patch:
        # Fills in several steps, and in one case of two only by maintainers.
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
