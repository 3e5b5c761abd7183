"""Put a view right: only the rows that differ from its definition are written, in one transaction.

The group is claimed, so its watermark stands still; what is stored is compared with what the definition gives; the
differences are written if the group is still as it was compared. Views above it in the group are computed from the
rows as they are to be, and written in the same transaction. A killed repair has done everything or nothing, and its
claim runs out by itself.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from viewkeeper.errors import NotRetained, Outrun
from viewkeeper.model.position import Position
from viewkeeper.model.view import View
from viewkeeper.pipeline.claiming import claimed
from viewkeeper.pipeline.comparing import Compared, Comparing, Filler, Progress, find_bound
from viewkeeper.pipeline.differences import Found
from viewkeeper.pipeline.holding import hold
from viewkeeper.pipeline.report import VerifyReport, report
from viewkeeper.pipeline.scratch import scratch_folder, scratch_store
from viewkeeper.pipeline.spool import Spool
from viewkeeper.pipeline.stored import StoredTable
from viewkeeper.pipeline.verify import cannot_compare, note, standing
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.viewrepair import Repair, StoredRow, last_told
from viewkeeper.store.viewstore import Counted
from viewkeeper.views.bound import BoundView, BoundViews

ATTEMPTS = 5
LEASE = 30.0
"""Seconds for which a group stays claimed when the process that repairs it is killed."""
WAIT = 120.0
"""Seconds that a repair waits for another's claim."""

Step = Callable[[str], None]
"""Told of each step that is done, for tests that end the process there."""


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What was written to a view and to its auxiliary tables, at a position. `before`: how it was.

    `above`: the same for the views above it, whose input changed.
    """

    view: str
    position: Position
    rewritten: int
    removed: int
    added: int
    before: VerifyReport
    above: tuple[RepairReport, ...] = field(default=(), kw_only=True)

    @property
    def written(self) -> int:
        return self.rewritten + self.removed + self.added

    def __str__(self) -> str:
        if self.before.ok:
            head = f"{self.view}: nothing to repair at {self.position}"
        else:
            head = (
                f"{self.view}: repaired at {self.position}: "
                f"{self.rewritten:,} rows rewritten, {self.removed:,} removed, {self.added:,} added"
            )
        return "\n".join([head, *(f"  {line}" for one in self.above for line in str(one).splitlines())])


@dataclass(slots=True)
class _Written:
    rewritten: int = 0
    removed: int = 0
    added: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    filler: Filler | None
    progress: Progress | None
    folder: Path | None
    lease: float
    wait: float
    step: Step


def repair(
    store: EmbeddedStore,
    name: str,
    *,
    filler: Filler | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
    lease: float = LEASE,
    wait: float = WAIT,
    step: Step = lambda name: None,
) -> RepairReport:
    """Compare a view with its definition and write the rows that differ; with nothing wrong, nothing is written.

    Errors as those of `verify`; Outrun if another process holds the view for longer than `wait` seconds.
    """
    options = _Options(filler=filler, progress=progress, folder=folder, lease=lease, wait=wait, step=step)
    return repair_view(store, store.catalog().known_view(name), options)


def repair_view(store: EmbeddedStore, view: View, options: _Options) -> RepairReport:
    made, others = _repeated(store, view, options)
    above = [repair_view(store, other, options) for other in others if _is_whole(store, other)]
    return replace(made, above=(*made.above, *above))


def _repeated(store: EmbeddedStore, view: View, options: _Options) -> tuple[RepairReport, list[View]]:
    for _ in range(1, ATTEMPTS):
        try:
            return _attempt(store, view, options)
        except Outrun:
            continue
    return _attempt(store, view, options)


def _is_whole(store: EmbeddedStore, view: View) -> bool:
    """Whether a view above, of another group, is whole; one that is being filled begins anew."""
    found = store.view_tables.standing(view.id)
    if found is not None and found[1].filled is not None:
        store.view_tables.drop_objects(view.objects)
    return found is not None and found[1].filled is None


def _attempt(store: EmbeddedStore, view: View, options: _Options) -> tuple[RepairReport, list[View]]:
    """One repair of a view and of those above it in its group; and the views above it in other groups."""
    bound, one = find_bound(store, view)
    holder = f"repair {os.getpid()}-{secrets.token_hex(4)}"
    views = store.view_tables
    with claimed(views, view, holder, seconds=options.lease, wait=options.wait) as group:
        state = standing(store, view)
        options.step("claimed")
        try:
            with (
                hold(store, store.position(state.watermark), holder),
                scratch_folder(options.folder) as place,
                scratch_store(store, place) as scratch,
            ):
                comparing = Comparing(store, bound, scratch, place, options.filler, options.progress)
                return _Mending(store, bound, comparing, place, options.step).mend(one, group, holder)
        except NotRetained as error:
            raise cannot_compare(store, view, state.watermark, error) from error


class _Mending:
    """The repair of one claimed group."""

    def __init__(self, store: EmbeddedStore, bound: BoundViews, comparing: Comparing, folder: Path, step: Step) -> None:
        self._store = store
        self._bound = bound
        self._comparing = comparing
        self._rows = Spool(folder / "repair.rows")
        self._step = step

    def mend(self, one: BoundView, group: int, holder: str) -> tuple[RepairReport, list[View]]:
        began = time.monotonic()
        compared, written = self._compare(one)
        state = compared.state
        found = [(compared, written)]
        others: list[View] = []
        if compared.count:
            for view in self._bound.catalog.dependents([one.view.id]):
                if view.id not in state.objects:
                    others.append(view)
                elif view.id in self._bound.views:
                    found.append(self._compare(self._bound.views[view.id]))
            if any(_place(other) != _place(compared) for other, _ in found):
                raise Outrun("the group has moved since it was claimed", hint="Compare it again.")
            self._step("compared")
            self._write(found, group, holder)
            self._step("repaired")
        self._rows.close()
        first, *above = [self._report(*each, time.monotonic() - began) for each in found]
        return replace(first, above=tuple(above)), others

    def _compare(self, one: BoundView) -> tuple[Compared, _Written]:
        written = _Written()

        def found(table: StoredTable) -> Found:
            def tell(key: bytes, stored: bytes | None, expected: bytes | None) -> None:
                self._rows.append((table.number, key, expected))
                written.added += stored is None
                written.removed += expected is None
                written.rewritten += stored is not None and expected is not None

            return tell

        copied = self._comparing.copy(one)
        self._comparing.recompute(one, copied.state)
        return self._comparing.compare(one, copied, found), written

    def _write(self, found: list[tuple[Compared, _Written]], group: int, holder: str) -> None:
        state = found[0][0].state
        told = {
            compared.one.view.id: (compared.tables[0].table.codec, changes)
            for compared, _ in found
            if compared.tables[0].count and (changes := self._told(compared.tables[0].table))
        }
        self._store.view_tables.repair(
            Repair(
                group=group,
                generation=state.generation,
                watermark=state.watermark,
                holder=holder,
                rows=self._written(),
                told=told,
                counted={compared.one.view.id: compared.off for compared, _ in found if compared.off != Counted()},
            )
        )

    def _written(self) -> Iterator[StoredRow]:
        """The rows to be written; the step is between the first of them and the commit."""
        yield from self._rows
        self._step("writing")

    def _told(self, table: StoredTable) -> list[RawChange]:
        """What the feed has to say, where it has told of a key something else than what it becomes."""
        rows = {key: row for number, key, row in self._rows if number == table.number}
        told = last_told(self._store.view_tables, table.number, table.codec, rows)
        return [(told[key], row) for key, row in rows.items() if key in told and told[key] != row]

    def _report(self, compared: Compared, written: _Written, seconds: float) -> RepairReport:
        before = report(self._store, compared, seconds)
        note(self._store, before, compared.one.view, differences=0)
        return RepairReport(before.view, before.position, written.rewritten, written.removed, written.added, before)


def _place(compared: Compared) -> tuple[int, int]:
    return compared.state.generation, compared.state.watermark
