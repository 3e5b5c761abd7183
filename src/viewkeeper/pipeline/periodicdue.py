"""Which PERIODIC views are to be computed anew now."""

from __future__ import annotations

import time

from viewkeeper.model.view import View
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.views.bound import bound_views

MODE = "PERIODIC"


def due(store: EmbeddedStore, *, now: int | None = None) -> list[View]:
    """The PERIODIC views that are to be refreshed, lower ones first, one for each group.

    Those whose interval has passed since the last refresh, and those that a reader waits for, also through a view above
    them; not one that is not filled yet, or that failed and is to be tried later. `now` is in µs.
    """
    moment = time.time_ns() // 1000 if now is None else now
    states, objects = store.view_tables.objects()
    notes, asked = store.view_tables.notes(), _asked(store, moment)
    found: dict[int, View] = {}
    for number, view in sorted(store.catalog().views.items()):
        place = objects.get(number)
        if view.mode != MODE or place is None or states[place.group].filled is not None:
            continue
        note = notes.get(number)
        is_asked = asked.get(number, 0) > states[place.group].watermark
        is_over = note is None or note.batch_at + (view.interval_ms or 0) * 1000 <= moment
        if (is_over or is_asked) and (note is None or note.retry_at <= moment):
            found.setdefault(place.group, view)
    return list(found.values())


def _asked(store: EmbeddedStore, moment: int) -> dict[int, int]:
    """By view, up to where somebody who waits wants it: those that are asked for, and all that they read."""
    views = store.catalog().views
    found: dict[int, int] = {}
    pending = [(number, request.upto) for number, request in store.view_tables.asked(moment).items()]
    while pending:
        number, upto = pending.pop()
        if number in views and found.get(number, 0) < upto:
            found[number] = upto
            pending += [(source, upto) for source in views[number].sources]
    return found


def periodic_views(store: EmbeddedStore) -> list[View]:
    """All PERIODIC views that are filled, lower ones first, one for each group."""
    states, objects = store.view_tables.objects()
    found: dict[int, View] = {}
    for number, one in bound_views(store).views.items():
        place = objects.get(number)
        if one.view.mode == MODE and place is not None and states[place.group].filled is None:
            found.setdefault(place.group, one.view)
    return list(found.values())
