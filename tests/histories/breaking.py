"""Ways to break the promises of reads in the system itself, each by one patch, for the checker to see.

A patch is given the running history, so that it can look at the shop while something is half done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.histories.driven import Driven
from viewkeeper.errors import Outrun
from viewkeeper.read import consistency, serving, snapshot
from viewkeeper.read.handle import Handle
from viewkeeper.read.pending import Pending
from viewkeeper.read.rows import ReadMeta
from viewkeeper.store.applying import Apply
from viewkeeper.store.groups import GroupState
from viewkeeper.store.viewcatalog import ViewCatalog
from viewkeeper.store.viewstore import ViewStore
from viewkeeper.write.session import Session
from viewkeeper.write.transaction import Transaction

Patch = Callable[[pytest.MonkeyPatch, Driven], None]


def fold_without_the_last_change(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    really = Pending.of_table
    patch.setattr(Pending, "of_table", lambda self, number, since: really(self, number, since)[:-1])


def at_least_answered_as_any(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    patch.setattr(consistency, "covered", lambda store, asked: 0)


def latest_answered_as_any(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    patch.setattr(serving, "needed", lambda store, view, asked: consistency.covered(store, asked))


def max_lag_answered_as_any(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    patch.setattr(serving, "lagging", lambda store, view, asked, state: 0)


def apply_in_two_transactions(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    """Half of the rows of a batch are there before its other half and its watermark."""
    really = ViewStore._apply

    def apply_all(store: ViewStore, batches: Sequence[Apply]) -> list[GroupState | Outrun]:
        with store._env.begin(write=True) as txn:
            for batch in batches:
                for number, changes in batch.objects.items():
                    half = dict(list(changes.changes.items())[::2])
                    store._write(txn, number, replace(changes, changes=half, rows={}, has_feed=False), batch)
        driven.meanwhile()
        done: list[GroupState | Outrun] = []
        for batch in batches:
            try:
                with store._env.begin(write=True) as txn:
                    done.append(really(store, txn, batch))
            except Outrun as outrun:
                done.append(outrun)
        return done

    patch.setattr(ViewStore, "apply_all", apply_all)


def apply_one_view_of_a_group_later(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    """The watermark of the group moves, and the rows of its last view do not."""
    really = ViewStore._apply

    def apply(store: ViewStore, txn: Any, batch: Apply) -> GroupState:
        if batch.fill is None:
            batch = replace(batch, objects=dict(list(batch.objects.items())[:-1]))
        return really(store, txn, batch)

    patch.setattr(ViewStore, "_apply", apply)


def apply_whatever_was_computed(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    """Without its compare-and-set, what two maintainers have computed counts twice."""

    def checked(store: ViewStore, state: GroupState | None, batch: Apply) -> GroupState:
        if state is None:
            raise Outrun("the group is gone")
        return state

    patch.setattr(ViewStore, "_checked", checked)


def floor_forgotten(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    patch.setattr(Handle, "served", lambda self, view, offset: None)
    # So that a fold is not what everybody sees from then on.
    patch.setattr(serving, "free_ride", lambda *_: ())


def swap_to_an_older_view(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    patch.setattr(ViewCatalog, "_are_ready", lambda self, txn, views: True)


def snapshot_of_views_as_they_are_now(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    """Every read of a snapshot takes the view where it stands when it is read."""

    def offset_of(self: snapshot.SnapshotReader, view: Any, state: GroupState) -> int:
        self._views.clear()
        for shopper in driven.shoppers:
            shopper.write(shopper.client)
        with suppress(Outrun):
            driven.maintain()
        found = self._store.view_tables.standing(view.id)
        assert found is not None
        return found[1].watermark

    patch.setattr(snapshot.SnapshotReader, "_offset_of", offset_of)


def position_of_the_head(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    """Every answer says that it is of now."""
    really = ReadMeta.__init__

    def init(self: ReadMeta, **given: Any) -> None:
        really(self, **{**given, "position": driven.db.head()})

    patch.setattr(ReadMeta, "__init__", init)


def session_without_memory(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    patch.setattr(Session, "_saw", lambda self, position: position)


def transaction_row_by_row(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    def put(self: Transaction, table: str, row: Any) -> None:
        self._store.put_row(table, row, insert=False)

    patch.setattr(Transaction, "put", put)


def acknowledged_and_lost(patch: pytest.MonkeyPatch, driven: Driven) -> None:
    """One put in ten is not written."""
    really, count = type(driven.db).put, iter(range(1_000_000))

    def put(self: Any, table: str, row: Any) -> Any:
        return self.head() if next(count) % 10 == 9 else really(self, table, row)

    patch.setattr(type(driven.db), "put", put)


BROKEN: dict[str, tuple[Patch, frozenset[str]]] = {
    "a fold without the last change": (fold_without_the_last_change, frozenset({"moment", "level", "position"})),
    "at_least answered as any": (at_least_answered_as_any, frozenset({"level"})),
    "latest answered as any": (latest_answered_as_any, frozenset({"level"})),
    "max_lag answered as any": (max_lag_answered_as_any, frozenset({"level"})),
    "an apply in two transactions": (apply_in_two_transactions, frozenset({"moment", "position"})),
    "one view of a group is left behind": (apply_one_view_of_a_group_later, frozenset({"moment", "position"})),
    "an apply without compare-and-set": (apply_whatever_was_computed, frozenset({"moment", "position"})),
    "a floor that is forgotten": (floor_forgotten, frozenset({"timeline"})),
    "a swap to an older view": (swap_to_an_older_view, frozenset({"timeline"})),
    "a snapshot of views as they are now": (snapshot_of_views_as_they_are_now, frozenset({"level", "snapshot"})),
    "a position that is always the head": (position_of_the_head, frozenset({"position"})),
    "a session that does not remember": (session_without_memory, frozenset({"timeline"})),
    "a transaction row by row": (transaction_row_by_row, frozenset({"commit"})),
    "acknowledged and lost": (acknowledged_and_lost, frozenset({"commit"})),
}
"""What is broken, and the rules of which the checker has to name one."""
