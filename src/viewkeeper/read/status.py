"""How each view is: what `db.status()` tells."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from viewkeeper.errors import ViewNotReady
from viewkeeper.model.position import Position
from viewkeeper.model.values import EPOCH
from viewkeeper.model.view import View
from viewkeeper.store.groups import GroupState, ObjectState
from viewkeeper.store.interface import Store
from viewkeeper.store.notes import Note

NO_LEVEL = "-"
"""The level of a view that has not been analysed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewStatus:
    """How one view is.

    `level` is "-" until views are analysed. `state`:

        waiting    it has not been begun; a maintainer will
        filling    it is being filled for the first time and cannot be read yet
        live       it can be read
        replacing  it can be read, and what CREATE OR REPLACE puts in its place is being filled beside it
        failing    the last attempt to bring it on failed; `error` says why, and it is tried again

    `watermark` is None for a view that is waiting, which lags behind by all that there ever was. `lag_changes` counts
    the changes of all tables behind the watermark; `lag_ms` is the age of the first transaction among them, 0 if there
    is none. `rows` counts a row as often as the view holds it; `errors` rows on which an expression fails now; `late`
    changes to epochs that had left the view. `batch_*` tell of its last batch, `batch_seconds` by phase; `verified_*`
    of the last comparison with its definition, None if there was none yet.
    """

    view: str
    mode: str
    level: str
    state: str
    watermark: Position | None
    lag_changes: int
    lag_ms: float
    rows: int
    errors: int
    late: int = 0
    kind: str = "view"
    error: str = ""
    failures: int = 0
    retry_at: datetime | None = None
    batch_at: datetime | None = None
    batch_changes: int = 0
    batch_engine: str = ""
    batch_joins: str = ""
    batch_seconds: Mapping[str, float] = field(default_factory=dict)
    verified_at: datetime | None = None
    verified_position: Position | None = None
    verified_differences: int | None = None


def view_statuses(store: Store) -> list[ViewStatus]:
    """The status of every view, by name."""
    catalog = store.catalog()
    if not catalog.views:
        return []
    # The views first, so that no lag is negative.
    states, objects = store.view_tables.objects()
    notes = store.view_tables.notes()
    head = store.offset(store.head())
    now = time.time_ns() // 1000
    replacements = {view.replaces: view for view in catalog.views.values() if view.replaces is not None}
    lags: dict[int, float] = {}

    def status(view: View) -> ViewStatus:
        place = objects.get(view.id)
        group = None if place is None else states[place.group]
        watermark = 0 if group is None else group.watermark
        if watermark not in lags:
            lags[watermark] = _lag_ms(store, watermark, head, now)
        replacement = replacements.get(view.id)
        note = notes.get(view.id, Note())
        error = note.error or ("" if replacement is None else notes.get(replacement.id, Note()).error)
        return ViewStatus(
            view=view.name,
            mode=view.mode,
            level=NO_LEVEL,
            state=_state(group, note, replacement),
            watermark=None if group is None else store.position(watermark),
            lag_changes=max(0, head - watermark),
            lag_ms=lags[watermark],
            rows=_rows(store, view, place),
            errors=0 if place is None else place.errors,
            late=0 if place is None else place.late,
            kind=view.kind,
            error=error,
            failures=note.failures,
            retry_at=_moment(note.retry_at),
            batch_at=_moment(note.batch_at),
            batch_changes=note.batch_changes,
            batch_engine=note.batch_engine,
            batch_joins=note.batch_joins,
            batch_seconds=note.batch_seconds,
            verified_at=_moment(note.verified_at),
            verified_position=store.position(note.verified_position) if note.verified_at else None,
            verified_differences=note.verified_differences if note.verified_at else None,
        )

    shown = [view for view in catalog.views.values() if view.replaces is None]
    return [status(view) for view in sorted(shown, key=lambda view: view.name.lower())]


def _state(group: GroupState | None, note: Note, replacement: View | None) -> str:
    if note.error:
        return "failing"
    if group is None:
        return "waiting"
    if group.filled is not None:
        return "filling"
    return "live" if replacement is None else "replacing"


def _lag_ms(store: Store, watermark: int, head: int, now: int) -> float:
    """How long ago the first transaction behind a watermark was committed."""
    committed_at = store.committed_behind(watermark) if watermark < head else None
    return 0.0 if committed_at is None else max(0, now - committed_at) / 1000


def _rows(store: Store, view: View, place: ObjectState | None) -> int:
    if place is None:
        return 0
    try:
        with store.view_tables.reading([view.id], filling=True) as reading:
            return reading.rows(view.id)
    except ViewNotReady:
        # Dropped since.
        return 0


def _moment(microseconds: int) -> datetime | None:
    return EPOCH + timedelta(microseconds=microseconds) if microseconds else None
