"""Waiting for a view to be there, or to come as far as a read asks for: looking again, in short transactions."""

from __future__ import annotations

import time
from typing import Any

from viewkeeper.errors import TableDropped, ViewBehind, ViewNotReady
from viewkeeper.model.view import View
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store
from viewkeeper.store.notes import Note

FIRST_POLL, LONGEST_POLL = 0.001, 0.02
"""Seconds between two looks at a view, at first and later; a look costs microseconds."""


class Pause:
    """Sleeps between two looks, longer from time to time, and never beyond a deadline."""

    def __init__(self, seconds: float | None) -> None:
        self._deadline = None if seconds is None else time.monotonic() + seconds
        self._next = FIRST_POLL

    @property
    def left(self) -> float:
        """The seconds until then, 0 if it has come; a whole poll if there is no deadline."""
        return LONGEST_POLL if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    def over(self) -> bool:
        """Whether the deadline has come; sleeps if it has not."""
        left = self.left
        if left <= 0:
            return True
        time.sleep(min(left, self._next))
        self._next = min(LONGEST_POLL, self._next * 1.5)
        return False


def changes(count: int) -> str:
    return "1 change" if count == 1 else f"{count:,} changes"


def is_filled(store: Store, view: View) -> bool:
    """Whether a view can be read now."""
    found = store.view_tables.standing(view.id)
    return found is not None and found[1].filled is None


def whole(store: Store, view: View, wait: bool | float = False) -> GroupState:
    """The group of a view that is filled, once it is.

    ViewNotReady when the wait for it is over, TableDropped if the view goes meanwhile.
    """
    found = store.view_tables.standing(view.id)
    if found is not None and found[1].filled is None:
        return found[1]
    pause = Pause(None if wait is True else float(wait))
    while True:
        found = store.view_tables.standing(view.id)
        if found is not None and found[1].filled is None:
            return found[1]
        current = store.catalog().views.get(view.id)
        if current is None or current.in_base != view.in_base:
            raise dropped(view)
        if pause.over():
            raise not_ready(store, view)


def behind(store: Store, view: View, wanted: int, timeout: float, first: int, reached: int) -> ViewBehind:
    """Why a read that waited has no answer."""
    moved = reached - first
    if moved:
        hint = 'Give it more time with timeout=…, or take the view as it is with consistency="any".'
    else:
        hint = "The maintainer may be busy with other views: give it more time with timeout=…."
    return ViewBehind(
        f'view "{view.name}" did not reach position {store.position(wanted)} within {timeout:g} s',
        detail=f"It stands at {store.position(reached)}, {changes(wanted - reached)} before that, and has "
        + (f"moved on by {moved:,} changes meanwhile." if moved else "not moved meanwhile."),
        hint=hint,
    )


def alone(store: Store, view: View, wanted: int, reached: int) -> ViewBehind:
    """Why a read has no answer, and need not wait for one."""
    why = "A PERIODIC view is computed anew as a whole" if view.mode == "PERIODIC" else "That is too much to be added"
    return ViewBehind(
        f'view "{view.name}" is {changes(wanted - reached)} behind position {store.position(wanted)}, '
        "and no maintainer runs",
        detail=f"It stands at {store.position(reached)}. {why}, which no read does on its own.",
        hint="Call db.maintain(), start one with viewkeeper maintain, or read with bring_up=True.",
    )


def failed(store: Store, view: View, wanted: int, reached: int) -> ViewBehind:
    """Why a view has not come as far though it was brought up."""
    error = store.view_tables.notes().get(view.id, Note()).error
    return ViewBehind(
        f'view "{view.name}" could not be brought up to position {store.position(wanted)}',
        detail=f"It stands at {store.position(reached)}. {error}".rstrip(),
        hint="See db.status() for what failed.",
    )


def not_ready(store: Store, view: View) -> ViewNotReady:
    """Why a view cannot be read yet, and how far its fill is."""
    found = store.view_tables.standing(view.id)
    if found is None:
        detail = "It waits for a maintainer to begin."
    else:
        detail = f"It is being filled as of position {store.position(found[1].watermark)}{_so_far(store, view)}."
    return ViewNotReady(
        f'view "{view.name}" has not been filled yet',
        detail=detail,
        hint="Run maintenance (db.maintain() or viewkeeper maintain), or read with wait=True.",
    )


def _so_far(store: Store, view: View) -> str:
    try:
        with store.view_tables.reading([view.id], filling=True) as reading:
            rows: Any = reading.rows(view.id)
    except ViewNotReady:
        return ""
    return f"; it has {rows:,} rows so far"


def dropped(view: View) -> TableDropped:
    return TableDropped(f'view "{view.name}" was dropped, replaced or moved while it was read', hint="Read it again.")
