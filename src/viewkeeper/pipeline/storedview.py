"""All that is stored of a view at one moment, in whichever environment it is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from viewkeeper.errors import Outrun
from viewkeeper.model.view import View
from viewkeeper.store import insync
from viewkeeper.store.applying import Counted
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.store.viewreading import ViewReading


@dataclass(frozen=True, slots=True)
class StoredView:
    """Its objects, where it stands, and what is counted of each of its tables.

    A view that is kept beside the tables stands at the head, as the group that it does not have would.
    """

    reading: ViewReading
    state: GroupState
    counters: Mapping[int, Counted]


@contextmanager
def stored_view(store: EmbeddedStore, view: View) -> Iterator[StoredView]:
    """Read a view by one transaction; ViewNotReady if it is not whole, Outrun if it is no longer kept where it was."""
    if not view.in_base:
        with store.view_tables.reading(view.objects) as reading:
            places = {number: reading.object(number) for number in view.tables}
            counters = {number: Counted(place.errors, place.late, place.extra) for number, place in places.items()}
            yield StoredView(reading, reading.group(view.id), counters)
        return
    txn, catalog = store.begin_read()
    with txn:
        now = catalog.views.get(view.id)
        if now is None or not now.in_base:
            raise Outrun(f'{view.kind} "{view.name}" is no longer kept beside the tables', hint="Begin again.")
        head, transaction, committed_at = insync.log_end(txn, catalog)
        counters = {number: insync.counters(txn, catalog, number) for number in view.tables}
        state = GroupState(0, head, transaction, view.objects, committed_at)
        yield StoredView(insync.reading(txn, catalog, view.objects), state, counters)
