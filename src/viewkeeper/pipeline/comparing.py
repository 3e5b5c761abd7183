"""Views beside what their definitions give at the same position, while writes and maintenance go on.

    copy       what is stored, by one read transaction: a position w, and all rows at it
    recompute  the definition over the input as of w, into a scratch store
    compare    both, table by table, in the order of their keys

Only the copy needs the view to stand still, and a transaction sees to that. Memory stays bounded; the disk takes about
what the view takes, twice. A view that is kept once for each partition is compared partition by partition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from viewkeeper.errors import StoreDamaged, UnknownTable
from viewkeeper.model.view import View
from viewkeeper.pipeline.changed import Part
from viewkeeper.pipeline.differences import Differences, Found, added, compare
from viewkeeper.pipeline.doubts import Doubt, states_of, unsettled
from viewkeeper.pipeline.scratch import Scratch
from viewkeeper.pipeline.spool import Spool
from viewkeeper.pipeline.stored import StoredTable, stored_tables
from viewkeeper.pipeline.storedview import stored_view
from viewkeeper.store.applying import Counted
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.store.scan import Item
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.views.bound import BoundView, BoundViews, bound_views
from viewkeeper.views.fill import STEP_ROWS, Filling, fill_step, input_rows

Filler = Callable[[EmbeddedStore, BoundViews, BoundView], object]
"""Fills a view of a scratch store to its end; its group and its objects are there, its source is the real store's."""
Progress = Callable[[str, int, int], None]
"""Told of the phase, and of how many rows of how many it is through; the total is as good as it is known."""


@dataclass(frozen=True, slots=True)
class Copy:
    """What was stored of a view at one moment: tables by the view, or its part, that they are of; rows by table."""

    state: GroupState
    counters: Mapping[int, Counted]
    tables: Mapping[int, list[StoredTable]]
    rows: Mapping[int, Spool]


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison of one view found, table by table, the view itself first.

    `errors` are those that were counted of it; `lacking` is what its counters lack, by the view or its part.
    """

    one: BoundView
    state: GroupState
    tables: list[Differences]
    errors: int
    lacking: Mapping[int, Counted]

    @property
    def off(self) -> Counted:
        """What the counters lack in all."""
        lacking = self.lacking.values()
        return Counted(errors=sum(part.errors for part in lacking), extra=sum(part.extra for part in lacking))

    @property
    def count(self) -> int:
        return sum(table.count for table in self.tables) + sum(part != Counted() for part in self.lacking.values())


class Comparing:
    """Compares views of one store, each with what its definition gives over its input as stored.

    A view that reads one that was computed here before reads that. With `part`, only that of a view is compared, in
    this process.
    """

    def __init__(
        self,
        store: EmbeddedStore,
        bound: BoundViews,
        scratch: Scratch,
        folder: Path,
        filler: Filler | None = None,
        progress: Progress | None = None,
        part: Part | None = None,
    ) -> None:
        self._store = store
        self._bound = replace(bound, views={**bound.views, **bound.in_base})
        self._scratch = scratch
        self._folder = folder
        self._filler = filler if part is None else None
        self._part = part
        self._progress: Progress = progress or (lambda phase, done, total: None)

    def copy(self, one: BoundView) -> Copy:
        """The rows as they are stored now; ViewNotReady if the view is not whole."""
        rows: dict[int, Spool] = {}
        with stored_view(self._store, one.whole) as stored:
            tables = {part.view.id: apart(stored_tables(part), stored.reading) for part in self.parts(one)}
            for table in (table for kept in tables.values() for table in kept):
                rows[table.number] = Spool(self._folder / f"{table.number}.rows")
                try:
                    rows[table.number].extend(self._items(stored.reading, table))
                finally:
                    rows[table.number].close()
            copied = Copy(stored.state, stored.counters, tables, rows)
        total = sum(spool.count for spool in rows.values())
        self._progress("copied", total, total)
        return copied

    def parts(self, one: BoundView) -> list[BoundView]:
        """A view; of one that is kept once for each partition, these."""
        return self._bound.of(one.whole.tables)

    def _items(self, reading: ViewReading, table: StoredTable) -> Iterator[Item]:
        return reading.stored(table.number) if self._part is None else self._part.items(reading, table)

    def recompute(self, one: BoundView, state: GroupState) -> None:
        """The definition over its input as of where the copy stands; NotRetained if that is gone."""
        views = self._scratch.view_tables
        views.begin(one, state)
        # What one computes in bulk is not told apart by partitions.
        if self._filler is not None and one.partition is None and not any(map(views.has, one.sources)):
            self._filler(self._scratch.store, self._bound, one)
        else:
            self._fill(one, state.watermark)

    def _fill(self, one: BoundView, position: int) -> None:
        scratch = self._scratch.store
        total = input_rows(scratch, self._bound, one)
        filling = Filling(scratch, self._bound, one, position)
        if self._part is not None:
            filling.opened[0] = self._part.input(scratch, self._bound, one, position)
        state, done = scratch.view_tables.groups()[one.view.id], 0
        while state.filled is not None:
            state = fill_step(filling, state)
            done += STEP_ROWS
            if one.is_whole:
                total = sum(filling.read.values())
            self._progress("recomputed", total if state.filled is None else min(done, total), total)

    def compare(self, one: BoundView, copied: Copy, found: Telling | None = None) -> Compared:
        """A copy beside what was recomputed; `found` gives, for each table, whom to tell of differences."""
        made: list[Compared] = []
        done, total = 0, sum(spool.count for spool in copied.rows.values())
        with self._scratch.view_tables.reading(one.whole.objects) as expected:
            for part in self.parts(one):
                tables: list[Differences] = []
                for table in copied.tables[part.view.id]:
                    theirs = self._items(expected, table)
                    tables.append(compare_table(part, table, copied.rows, theirs, found))
                    done += copied.rows[table.number].count
                    self._progress("compared", done, total)
                place, counters = expected.object(part.view.id), copied.counters[part.view.id]
                off = Counted(errors=place.errors - counters.errors, extra=place.extra - counters.extra)
                # Of a part of its rows, the counters say nothing.
                off = off if self._part is None else Counted()
                made.append(Compared(part, copied.state, tables, counters.errors, {part.view.id: off}))
        return made[0] if len(made) == 1 else _together(one, made)


Telling = Callable[[StoredTable], Found]


def compare_table(
    one: BoundView,
    table: StoredTable,
    stored: Mapping[int, Iterable[Item]],
    expected: Iterator[Item],
    found: Telling | None,
) -> Differences:
    """What is stored of one table of a view, beside what is expected; `stored` has all tables of the view."""
    tell = None if found is None else found(table)
    states = states_of(one.program) if table.is_view and table.near else None
    doubts: list[Doubt] | None = None if states is None else []
    made = compare(table, iter(stored[table.number]), expected, tell, doubts)
    if states is not None and doubts:
        for key, mine, theirs in unsettled(one.program, doubts, stored[states]):
            made.add(mine, theirs)
            if tell is not None:
                tell(key, mine, theirs)
    return made


def _together(one: BoundView, parts: list[Compared]) -> Compared:
    """What was found in all parts of a view, as if it were kept once."""
    tables = [added(kept) for kept in zip(*(part.tables for part in parts), strict=True)]
    lacking = {number: off for part in parts for number, off in part.lacking.items()}
    return Compared(one, parts[0].state, tables, sum(part.errors for part in parts), lacking)


def apart(tables: list[StoredTable], reading: ViewReading) -> list[StoredTable]:
    """Tables of a view, each slot once: a self-join keeps one index for both of its sides."""
    found: dict[int, StoredTable] = {}
    for table in tables:
        slot = reading.object(table.number).slot
        known = found.get(slot)
        if known is not None and known.compared is not None and table.compared is not None:
            table = replace(known, compared=known.compared | table.compared)  # noqa: PLW2901
        found[slot] = table
    return list(found.values())


def find_bound(store: EmbeddedStore, view: View) -> tuple[BoundViews, BoundView]:
    """A view with its program; UnknownTable if it was dropped, StoreDamaged if it cannot be bound any more."""
    bound = bound_views(store)
    one = bound.get(view.id)
    if one is not None:
        return bound, one
    if view.id in bound.failed:
        raise StoreDamaged(
            f'view "{view.name}" cannot be bound any more',
            detail=f"{bound.failed[view.id].message}.",
            hint="Drop it and create it again.",
        )
    raise dropped(view)


def dropped(view: View) -> UnknownTable:
    return UnknownTable(f'{view.kind} "{view.name}" was dropped, or replaced, meanwhile', hint="Begin again.")
