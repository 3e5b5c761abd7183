"""How each view is: what `db.status()` tells."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, cast

from viewkeeper.errors import ViewNotReady
from viewkeeper.model.position import Position
from viewkeeper.model.values import EPOCH
from viewkeeper.model.view import View
from viewkeeper.read.level import LEVEL, Level, level_of
from viewkeeper.sql.maintain import Maintain, Mode
from viewkeeper.store.groups import GroupState, ObjectState
from viewkeeper.store.insync import counters
from viewkeeper.store.interface import Store
from viewkeeper.store.notes import Note

if TYPE_CHECKING:
    from viewkeeper.store.embedded import EmbeddedStore


@dataclass(frozen=True, kw_only=True)
class ViewStatus:
    """How one view is.

    `level` is SI-1 to SI-3, or "unbounded" where its rows or its maintenance grow with the data; "-" if it cannot be
    bound any more. `state`:

        waiting    it has not been begun; a maintainer will
        filling    it is being filled for the first time and cannot be read yet
        live       it can be read
        replacing  it can be read, and what CREATE OR REPLACE puts in its place is being filled beside it
        failing    the last attempt to bring it on failed; `error` says why, and it is tried again

    `watermark` is None for a view that is waiting, which lags behind by all that there ever was. `lag_changes` counts
    the changes of all tables behind the watermark; `lag_ms` is the age of the first transaction among them, 0 if there
    is none. `rows` counts a row as often as the view holds it, and of
    a LOCAL view once for each partition that has it; `errors` rows on which an expression fails now; `late`
    changes to epochs that had left the view. `batch_*` tell of its last batch, `batch_seconds` by phase; `verified_*`
    of the last comparison with its definition, None if there was none yet.

    `mode` has its interval: "EVERY 5 SECONDS". Of a LAZY view `lag_ms` is the age of its pending task, and `read_at`,
    `read_interval_ms` tell when it was last read, and how often on average. `asked_*`: how far a reader that waits
    wants it to be, with which priority, and who it is. `folds` counts reads that added pending changes to what is
    stored.
    """

    view: str
    mode: str
    level: Level = LEVEL
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
    batch_rows: int = 0
    batch_seconds: Mapping[str, float] = field(default_factory=dict)
    verified_at: datetime | None = None
    verified_position: Position | None = None
    verified_differences: int | None = None
    read_at: datetime | None = None
    read_interval_ms: float = 0.0
    asked_upto: Position | None = None
    asked_priority: int | None = None
    asked_by: str = ""
    folds: int = 0
    folded_at: datetime | None = None
    fold_ms: float = 0.0


def view_statuses(store: Store) -> list[ViewStatus]:
    """The status of every view, by name."""
    catalog = store.catalog()
    if not catalog.views:
        return []
    # The views first, so that no lag is negative.
    states, objects = store.view_tables.objects()
    notes, asked = store.view_tables.notes(), store.view_tables.asked()
    head = store.offset(store.head())
    now = time.time_ns() // 1000
    replacements = {view.replaces: view for view in catalog.views.values() if view.replaces is not None}
    lags: dict[int, float] = {}

    def status(view: View) -> ViewStatus:
        place = _beside(store, view) if view.in_base else objects.get(view.id)
        group = states.get(place.group) if place is not None and not view.in_base else None
        watermark = head if view.in_base else 0 if group is None else group.watermark
        if watermark not in lags:
            lags[watermark] = _lag_ms(store, watermark, head, now)
        replacement = replacements.get(view.id)
        note = notes.get(view.id, Note())
        request = asked.get(view.id)
        error = note.error or ("" if replacement is None else notes.get(replacement.id, Note()).error)
        return ViewStatus(
            view=view.name,
            mode=str(Maintain(mode=Mode(view.mode), interval_ms=view.interval_ms)),
            level=partial(level_of, store, catalog, view.id),
            state=_state(group, note, replacement, view),
            watermark=None if group is None and not view.in_base else store.position(watermark),
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
            batch_rows=note.batch_rows,
            batch_seconds=note.batch_seconds,
            verified_at=_moment(note.verified_at),
            verified_position=store.position(note.verified_position) if note.verified_at else None,
            verified_differences=note.verified_differences if note.verified_at else None,
            read_at=_moment(note.read_at),
            read_interval_ms=note.read_interval / 1000,
            asked_upto=None if request is None else store.position(request.upto),
            asked_priority=None if request is None else request.priority,
            asked_by="" if request is None else request.requester,
            folds=note.folds,
            folded_at=_moment(note.folded_at),
            fold_ms=note.fold_ms,
        )

    shown = [view for view in catalog.views.values() if view.replaces is None]
    return [status(view) for view in sorted(shown, key=lambda view: view.name.lower())]


def _state(group: GroupState | None, note: Note, replacement: View | None, view: View) -> str:
    if note.error:
        return "failing"
    if group is None and not view.in_base:
        return "waiting"
    if group is not None and group.filled is not None:
        return "filling"
    return "live" if replacement is None else "replacing"


def _lag_ms(store: Store, watermark: int, head: int, now: int) -> float:
    """How long ago the first transaction behind a watermark was committed."""
    committed_at = store.committed_behind(watermark) if watermark < head else None
    return 0.0 if committed_at is None else max(0, now - committed_at) / 1000


def _beside(store: Store, view: View) -> ObjectState:
    """What is counted of a view that is kept beside the tables, in all its parts."""
    txn, catalog = cast("EmbeddedStore", store).begin_read()
    with txn:
        counted = [counters(txn, catalog, number) for number in view.tables]
    errors, late, extra = (sum(getattr(one, name) for one in counted) for name in ("errors", "late", "extra"))
    return ObjectState(0, 0, errors=errors, late=late, extra=extra)


def _rows(store: Store, view: View, place: ObjectState | None) -> int:
    if place is None:
        return 0
    if view.in_base:
        codecs = store.catalog().view_codecs
        return sum(store.row_count(codecs[number]) for number in view.tables) + place.extra
    try:
        with store.view_tables.reading([view.id], filling=True) as reading:
            return reading.rows(view.id)
    except ViewNotReady:
        # Dropped since.
        return 0


def _moment(microseconds: int) -> datetime | None:
    return EPOCH + timedelta(microseconds=microseconds) if microseconds else None
