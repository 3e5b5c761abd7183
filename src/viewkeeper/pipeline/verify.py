"""Whether a view is what its definition says: exact, at its watermark, while writes and maintenance go on."""

from __future__ import annotations

import os
import secrets
import time
from dataclasses import dataclass
from pathlib import Path

from viewkeeper.errors import NotRetained, ViewkeeperError, ViewNotReady
from viewkeeper.model.position import Position
from viewkeeper.model.view import View
from viewkeeper.pipeline.changed import Part, part_since
from viewkeeper.pipeline.comparing import Compared, Comparing, Filler, Progress, dropped, find_bound
from viewkeeper.pipeline.holding import hold
from viewkeeper.pipeline.report import VerifyReport, report
from viewkeeper.pipeline.scratch import scratch_folder, scratch_store
from viewkeeper.pipeline.storedview import stored_view
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.views.bound import BoundView, BoundViews

__all__ = ["VerifyReport", "verify", "verify_view"]

ATTEMPTS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What fills the scratch store, whom to tell how far it is, where temporary files go; None: the usual."""

    filler: Filler | None = None
    progress: Progress | None = None
    folder: Path | None = None


def verify(
    store: EmbeddedStore,
    name: str,
    *,
    since: Position | None = None,
    filler: Filler | None = None,
    progress: Progress | None = None,
    folder: Path | None = None,
) -> VerifyReport:
    """Compare a view, its hidden columns and its auxiliary tables with its definition over its input at its watermark.

    A view over another view is compared with its definition over that one as it is stored.

    UnknownTable if there is no such view, or it was dropped meanwhile; ViewNotReady if it is not filled yet;
    NotRetained if the log no longer reaches back to its watermark.

    Args:
        since: compare only what changes of the input behind this position can have touched, where that can be told.
        filler: fills the scratch store; by default the row executor, in this process.
        folder: where temporary files go; by default the system's folder for these.
    """
    means = Means(filler=filler, progress=progress, folder=folder)
    return verify_view(store, store.catalog().known_view(name), means, since)


def verify_view(store: EmbeddedStore, view: View, means: Means, since: Position | None = None) -> VerifyReport:
    """As `verify`, also for a view that is still to take another's name."""
    began = time.monotonic()
    attempts = ATTEMPTS
    done = None
    while done is None:
        attempts -= 1
        done = _attempt(store, view, means, since, is_last=attempts == 0)
    compared, part, upto = done
    made = report(store, compared, time.monotonic() - began, None if part is None else part.size)
    note(store, made, view, position=upto)
    return made


def _attempt(
    store: EmbeddedStore, view: View, means: Means, since: Position | None, *, is_last: bool
) -> tuple[Compared, Part | None, int] | None:
    """A comparison, of which part, and up to where nothing was left out; None if it has to be made again."""
    bound, one = find_bound(store, view)
    below, state = _generations(store, one), standing(store, one.whole)
    try:
        part = None
        if since is not None:
            part = part_since(store, bound, one, store.offset(since), state.watermark)
        compared = _compare(store, bound, one, state, means, part)
    except ViewkeeperError as error:
        if view.id not in store.catalog().views:
            raise dropped(view) from error
        if not is_last and is_elsewhere(store, one):
            return None
        # Before it was held, the position that was to be compared may have been left behind and forgotten.
        if not is_last and isinstance(error, NotRetained) and standing(store, one.whole).watermark != state.watermark:
            return None
        raise
    # A view below that was repaired meanwhile has been read half before and half after.
    if not is_last and compared.count and below != _generations(store, one):
        return None
    return compared, part, compared.state.watermark if part is None else state.watermark


def _compare(
    store: EmbeddedStore, bound: BoundViews, one: BoundView, state: GroupState, means: Means, part: Part | None
) -> Compared:
    holding = hold(store, store.position(state.watermark), f"verify {os.getpid()}-{secrets.token_hex(4)}")
    try:
        with holding, scratch_folder(means.folder) as place, scratch_store(store, place) as scratch:
            comparing = Comparing(store, bound, scratch, place, means.filler, means.progress, part)
            copied = comparing.copy(one)
            comparing.recompute(one, copied.state)
            return comparing.compare(one, copied)
    except NotRetained as error:
        raise cannot_compare(store, one.view, state.watermark, error) from error


def cannot_compare(store: EmbeddedStore, view: View, watermark: int, error: NotRetained) -> NotRetained:
    return NotRetained(
        f'{view.kind} "{view.name}" cannot be compared as of {store.position(watermark)}',
        detail=f"{error.message}.",
        hint="Bring it up to date first: db.maintain() or viewkeeper maintain.",
    )


def standing(store: EmbeddedStore, view: View) -> GroupState:
    """Where a view stands; ViewNotReady if it is not whole. One that is kept beside the tables stands at the head."""
    if view.in_base:
        with stored_view(store, view) as stored:
            return stored.state
    found = store.view_tables.standing(view.id)
    if found is None or found[1].filled is not None:
        raise ViewNotReady(
            f'{view.kind} "{view.name}" has not been filled yet',
            hint="Run maintenance: db.maintain() or viewkeeper maintain.",
        )
    return found[1]


def note(
    store: EmbeddedStore,
    made: VerifyReport,
    view: View,
    *,
    position: int | None = None,
    differences: int | None = None,
) -> None:
    """Leave word of a verification, for status and for the next one; position and differences where they are other."""
    if view.id not in store.catalog().views:
        raise dropped(view)
    store.view_tables.note(
        view.id,
        verified_at=time.time_ns() // 1000,
        verified_position=store.offset(made.position) if position is None else position,
        verified_differences=made.differences if differences is None else differences,
    )


def _generations(store: EmbeddedStore, one: BoundView) -> list[int | None]:
    """Those of the groups of the views below; None of a table, or of what has gone.

    A repair of views beside the tables changes no group, but the version of the catalog.
    """
    found = [store.view_tables.standing(number) for number in sorted(one.sources)]
    catalog = store.catalog()
    is_beside = any(catalog.views[number].in_base for number in one.sources if number in catalog.views)
    version = int.from_bytes(catalog.version) if is_beside else None
    return [version, *(None if place is None else place[1].generation for place in found)]


def is_elsewhere(store: EmbeddedStore, one: BoundView) -> bool:
    """Whether a view has moved to, or from, the tables since it was bound."""
    view = store.catalog().views.get(one.whole.id)
    return view is not None and view.in_base != one.whole.in_base
