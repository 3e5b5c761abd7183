"""Put a view right: only the rows that differ from its definition are written, in one transaction.

How that is done while others work: repairgroup.py for a view that maintenance keeps, repairbeside.py for one that is
kept beside the tables. What then reads wrong rows, because it stands elsewhere, is repaired after it.
"""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from viewkeeper.errors import NotRetained, Outrun, StoreDamaged, ViewkeeperError
from viewkeeper.model.position import Position
from viewkeeper.model.view import View
from viewkeeper.pipeline.bringing import bring_above
from viewkeeper.pipeline.claiming import claimed
from viewkeeper.pipeline.comparing import Compared, Comparing, Filler, Progress, find_bound
from viewkeeper.pipeline.holding import hold
from viewkeeper.pipeline.repairbeside import Mended, MendingBeside, Step, Written, as_if_apart
from viewkeeper.pipeline.repairgroup import MendingGroup
from viewkeeper.pipeline.report import VerifyReport, report
from viewkeeper.pipeline.scratch import scratch_folder, scratch_store
from viewkeeper.pipeline.verify import cannot_compare, is_elsewhere, note, standing
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import BoundView, BoundViews

ATTEMPTS = 5
LEASE = 30.0
"""Seconds for which a group stays claimed when the process that repairs it is killed."""
WAIT = 120.0
"""Seconds that a repair waits for another's claim."""

Done = tuple["RepairReport", list[View], int | None]
"""What was done; the views above it that stand elsewhere; and the position up to which these are not told of it."""


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
    made, others, upto = _repeated(store, view, options)
    above = [_repair_above(store, other, upto, options) for other in others if _is_whole(store, other)]
    return replace(made, above=(*made.above, *(one for one in above if one is not None)))


def _repair_above(store: EmbeddedStore, view: View, upto: int | None, options: _Options) -> RepairReport | None:
    """Repair a view that reads what was repaired; None if it has to be filled anew.

    Up to where that was, it has to follow what the log told; only from there on its input is what was repaired.
    """
    if upto is not None:
        try:
            bring_above(store, view, upto, options.wait)
        except StoreDamaged:
            # It was damaged, too: it fits the log only once it is what it was by the log.
            repair_view(store, view, options)
            try:
                bring_above(store, view, upto, options.wait)
            except StoreDamaged:
                # What the log told was wrong from one change to the next: nothing can follow that.
                store.view_tables.drop_objects(view.objects)
                return None
    return repair_view(store, view, options)


def _repeated(store: EmbeddedStore, view: View, options: _Options) -> Done:
    attempts = ATTEMPTS
    while True:
        attempts -= 1
        bound, one = find_bound(store, view)
        try:
            if one.whole.in_base:
                return _repair_beside(store, one, options)
            return _attempt(store, bound, one, options)
        except ViewkeeperError as error:
            is_outrun = isinstance(error, Outrun) and not one.whole.in_base
            if attempts == 0 or not (is_outrun or is_elsewhere(store, one)):
                raise


def _is_whole(store: EmbeddedStore, view: View) -> bool:
    """Whether a view above, of another group, is whole; one that is being filled begins anew."""
    if view.in_base:
        return True
    found = store.view_tables.standing(view.id)
    if found is not None and found[1].filled is not None:
        store.view_tables.drop_objects(view.objects)
    return found is not None and found[1].filled is None


def _repair_beside(store: EmbeddedStore, one: BoundView, options: _Options) -> Done:
    """Repair a view that is kept beside the tables, and those above it there, until nothing is wrong."""
    began = time.monotonic()
    found: dict[int, tuple[Compared, Written]] = {}
    others: list[View] = []
    position: int | None = None
    for attempt in range(2 * ATTEMPTS):
        try:
            mended = _mended_beside(store, one.whole, options, again=bool(found))
        except Outrun:
            if attempt + 1 == 2 * ATTEMPTS or is_elsewhere(store, one):
                raise
            continue
        for compared, written in mended.found:
            first, before = found.get(compared.one.whole.id, (compared, Written()))
            found[compared.one.whole.id] = (first, before + written)
        if mended.position is not None:
            position, others = mended.position, mended.others
        if mended.is_over:
            break
    made = _all_reported(store, list(found.values()), time.monotonic() - began, position)
    return made, others, position


def _mended_beside(store: EmbeddedStore, view: View, options: _Options, *, again: bool) -> Mended:
    bound, one = find_bound(store, view)
    bound, state = as_if_apart(bound, one), standing(store, one.whole)
    try:
        with (
            hold(store, store.position(state.watermark), _holder()),
            scratch_folder(options.folder) as place,
            scratch_store(store, place) as scratch,
        ):
            comparing = Comparing(store, bound, scratch, place, options.filler, options.progress)
            return MendingBeside(store, bound, scratch, comparing, options.step).mend(one, again=again)
    except NotRetained as error:
        raise cannot_compare(store, one.whole, state.watermark, error) from error


def _holder() -> str:
    return f"repair {os.getpid()}-{secrets.token_hex(4)}"


def _attempt(store: EmbeddedStore, bound: BoundViews, one: BoundView, options: _Options) -> Done:
    """One repair of a view and of those above it in its group."""
    holder, view = _holder(), one.whole
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
                began = time.monotonic()
                found, others = MendingGroup(store, bound, comparing, place, options.step).mend(one, group, holder)
                return _all_reported(store, found, time.monotonic() - began), others, None
        except NotRetained as error:
            raise cannot_compare(store, view, state.watermark, error) from error


def _all_reported(
    store: EmbeddedStore, found: list[tuple[Compared, Written]], seconds: float, position: int | None = None
) -> RepairReport:
    """Of a view, the first, and of those above it."""
    first, *above = [_reported(store, *each, seconds, position) for each in found]
    return replace(first, above=tuple(above))


def _reported(
    store: EmbeddedStore, compared: Compared, written: Written, seconds: float, position: int | None = None
) -> RepairReport:
    """What was found and done, noted; `position` where it was done, if that is not where it was compared."""
    before = report(store, compared, seconds)
    note(store, before, compared.one.whole, position=position, differences=0)
    place = before.position if position is None else store.position(position)
    return RepairReport(before.view, place, written.rewritten, written.removed, written.added, before)
