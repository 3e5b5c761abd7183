"""Put views right that are kept beside the tables, while writes go on: what differs is written, in one transaction.

    compare    what is stored with what the definition gives, at a position p; views above it that are kept there, too,
               with theirs over the rows as they are to be
    follow     what the definition gives, from p on in small batches; which keys these touch is kept
    write      with all writes held: the last few changes; then, of each key that differed or was touched, what is
               stored beside what it has to be
    again      if anything was written meanwhile: from what was wrong at p, it may have made other rows wrong

Such a view stands wherever the log does, so there is nothing to claim and no position of the repair: the log, which is
its change feed, says nothing of it, and a view as of an earlier position has what was never told of repaired. Views
of other modes above it are brought to where it was repaired, by what the log told them, and then repaired themselves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from viewkeeper.errors import Outrun, ViewkeeperError
from viewkeeper.model.view import View
from viewkeeper.pipeline.comparing import Compared, Comparing, apart, compare_table
from viewkeeper.pipeline.differences import Found
from viewkeeper.pipeline.scratch import Scratch
from viewkeeper.pipeline.stored import StoredTable, stored_tables
from viewkeeper.store import catalog as catalogs
from viewkeeper.store import insync
from viewkeeper.store.applying import Counted
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.environment import Txn
from viewkeeper.store.interface import Catalog
from viewkeeper.store.keyspace import stored_view_key
from viewkeeper.store.scan import Item
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.views.batch import Timing, batch_by_rows
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.homes import HELD, MOST_HELD, STEP, STEPS

Step = Callable[[str], None]
"""Told of each step that is done, for tests that end the process there."""


@dataclass(slots=True)
class Written:
    """How many rows a repair wrote."""

    rewritten: int = 0
    removed: int = 0
    added: int = 0

    def __add__(self, other: Written) -> Written:
        return Written(self.rewritten + other.rewritten, self.removed + other.removed, self.added + other.added)

    def count(self, stored: bytes | None, expected: bytes | None) -> None:
        self.added += stored is None
        self.removed += expected is None
        self.rewritten += stored is not None and expected is not None


@dataclass(frozen=True, slots=True)
class Mended:
    """What was found and written of a view and of those above it beside the tables, and the other views above it.

    `position` is where it was written; None if nothing was wrong.
    """

    found: list[tuple[Compared, Written]]
    position: int | None
    others: list[View]

    @property
    def is_over(self) -> bool:
        """Whether nothing can have become wrong between the comparison and the writing."""
        return all(self.position in (None, compared.state.watermark) for compared, _ in self.found)


def above_beside(bound: BoundViews, one: BoundView) -> list[BoundView]:
    """The views above one that are kept beside the tables as it is, lower ones first."""
    above = bound.catalog.dependents([one.whole.id])
    return [bound.in_base[view.id] for view in above if view.id in bound.in_base]


def as_if_apart(bound: BoundViews, one: BoundView) -> BoundViews:
    """The views, with one and those above it as if they had feeds of their own: in a scratch store they have."""
    moved = {number for view in (one, *above_beside(bound, one)) for number in view.whole.tables}
    codecs = {number: codec for number, codec in bound.catalog.codecs.items() if number not in moved}
    return replace(bound, catalog=replace(bound.catalog, codecs=codecs), views={**bound.views, **bound.in_base})


class MendingBeside:
    """The repair of one view and of those above it that are kept beside the tables.

    `bound` is what `as_if_apart` gives. Outrun from everything here if the catalog has changed since.
    """

    def __init__(
        self, store: EmbeddedStore, bound: BoundViews, scratch: Scratch, comparing: Comparing, step: Step
    ) -> None:
        self._store = store
        self._bound = bound
        self._scratch = scratch
        self._comparing = comparing
        self._step = step
        self._views: list[BoundView] = []
        self._keys: dict[int, set[bytes]] = defaultdict(set)
        """By object, the stored keys under which something may be wrong."""

    def mend(self, one: BoundView, *, again: bool) -> Mended:
        """Compare and write, unless nothing is wrong; what is above the view is looked at if it is, or with `again`."""
        try:
            found = [self._compare(one)]
            if found[0].count or again:
                found += [self._compare(view) for view in above_beside(self._bound, one)]
            if not any(compared.count for compared in found):
                return Mended([(compared, Written()) for compared in found], None, [])
            self._step("compared")
            self._catch_up()
            written, position = self._store.define(self._write)
        except ViewkeeperError as error:
            if not isinstance(error, Outrun) and self._store.catalog().version != self._bound.catalog.version:
                raise Outrun("the catalog has changed while a view was repaired", hint="Begin again.") from error
            raise
        self._step("repaired")
        others = [view for view in self._bound.catalog.dependents([one.whole.id]) if not view.in_base]
        return Mended(list(zip(found, written, strict=True)), position, others)

    def _compare(self, one: BoundView) -> Compared:
        def found(table: StoredTable) -> Found:
            return lambda key, stored, expected: self._keys[table.number].add(key)

        copied = self._comparing.copy(one)
        # What it reads of the scratch store has to be there as of the same position.
        self._follow(copied.state.watermark)
        self._comparing.recompute(one, copied.state)
        self._views.append(one)
        return self._comparing.compare(one, copied, found)

    def _follow(self, upper: int) -> None:
        """Bring what was recomputed to a position, lower views first."""
        views = self._scratch.view_tables
        for one in self._views:
            state = views.groups()[one.whole.id]
            if state.watermark == upper:
                continue
            batch = batch_by_rows(self._scratch.store, self._bound, one.whole.id, state, upper, Timing())
            for number, changes in batch.objects.items():
                self._keys[number].update(map(stored_view_key, (*changes.changes, *changes.rows)))
            views.apply(batch)

    def _left(self) -> tuple[int, int]:
        """Where what was recomputed stands, and how many changes came since."""
        lower = self._scratch.view_tables.groups()[self._views[0].whole.id].watermark
        return lower, self._store.offset(self._store.head()) - lower

    def _catch_up(self) -> None:
        """Come near to the head. Outrun if writes come faster."""
        for _ in range(STEPS):
            lower, left = self._left()
            if left <= HELD:
                return
            self._follow(self._store.boundary(lower, STEP))
        if self._left()[1] > MOST_HELD:
            raise Outrun("more is written than a repair can follow", hint="Repair it when less is written.")

    def _write(self, txn: Txn, catalog: Catalog) -> tuple[list[Written], int]:
        if catalog.version != self._bound.catalog.version:
            raise Outrun("the catalog has changed while a view was repaired", hint="Begin again.")
        position = insync.log_end(txn, catalog)[0]
        self._follow(position)
        written = [self._mend(txn, catalog, one) for one in self._views]
        # Who reads these views just now has read some rows before, others after it: he sees it by the version.
        catalogs.touch(txn, self._store.catalog_db)
        self._step("writing")
        return written, position

    def _mend(self, txn: Txn, catalog: Catalog, one: BoundView) -> Written:
        written = Written()
        stored = insync.reading(txn, catalog, one.whole.objects)
        with self._scratch.view_tables.reading(one.whole.objects) as expected:
            for part in self._comparing.parts(one):
                tables = apart(stored_tables(part), stored)
                mine = self._chosen(stored, tables)
                theirs = self._chosen(expected, tables)
                rows: dict[int, list[insync.MendedRow]] = {table.number: [] for table in tables}

                def found(table: StoredTable, rows: dict[int, list[insync.MendedRow]] = rows) -> Found:
                    def tell(key: bytes, before: bytes | None, after: bytes | None) -> None:
                        rows[table.number].append((key, after))
                        written.count(before, after)

                    return tell

                for table in tables:
                    compare_table(part, table, mine, iter(theirs[table.number]), found)
                for table in tables:
                    insync.mend(txn, catalog, table.codec, rows[table.number], is_view=table.is_view)
                place, known = expected.object(part.view.id), insync.counters(txn, catalog, part.view.id)
                total = Counted(errors=place.errors, late=known.late, extra=place.extra)
                if total != known:
                    insync.set_counters(txn, catalog, part.view.id, total)
        return written

    def _chosen(self, reading: ViewReading, tables: list[StoredTable]) -> Mapping[int, list[Item]]:
        """The rows of tables under the keys where something may be wrong, in their order."""

        def rows(number: int) -> Iterator[Item]:
            for key in sorted(self._keys[number]):
                row = reading.stored_row(number, key)
                if row is not None:
                    yield key, row

        return {table.number: list(rows(table.number)) for table in tables}
