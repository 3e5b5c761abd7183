"""Views in the catalog: made, dropped, and swapped for the ones that replace them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from viewkeeper.errors import Conflict, ViewsDepend
from viewkeeper.model.view import View, named_by_kind
from viewkeeper.store import catalog as catalogs
from viewkeeper.store import groups
from viewkeeper.store.catalog import Catalog
from viewkeeper.store.environment import Txn
from viewkeeper.store.modes import belongs_beside, tiers_of

if TYPE_CHECKING:
    from viewkeeper.store.embedded import EmbeddedStore


class ViewCatalog:
    """The views of a store's catalog."""

    def __init__(self, store: EmbeddedStore) -> None:
        self._store = store

    def new_ids(self, count: int) -> int:
        """The first of `count` object ids that nothing else will ever have."""
        # A base rolled back by a power cut gives ids again that objects of a lost view have.
        self.forget()
        return self._store.define(lambda txn, _: catalogs.take_ids(txn, self._store.catalog_db, count))

    def create(self, catalog: Catalog, views: Sequence[View], gone: Sequence[View] = ()) -> None:
        """Record views that were bound to this catalog, and forget others; Conflict if it is no longer the catalog."""

        def change(txn: Txn, current: Catalog) -> None:
            _check_version(catalog, current)
            if gone:
                catalogs.remove_views(txn, self._store.catalog_db, {view.id for view in gone})
            left = _without(current, {view.id for view in gone})
            catalogs.store_views(txn, self._store.catalog_db, left, views)

        self._store.define(change)
        if gone:
            self.forget()

    def alter(self, catalog: Catalog, views: Sequence[View]) -> None:
        """Record views anew; Conflict if this is no longer the catalog."""

        def change(txn: Txn, current: Catalog) -> None:
            _check_version(catalog, current)
            for view in views:
                catalogs.store_view(txn, self._store.catalog_db, view)

        self._store.define(change)

    def drop(self, catalog: Catalog, view: View, *, cascade: bool) -> list[View]:
        """Forget a view, with `cascade` also those above it; what was dropped, the lowest first.

        ViewsDepend if there are some above it and no `cascade`. What replaces any of them goes too. The hint is left to
        the caller, who knows how names are written.
        """

        def change(txn: Txn, current: Catalog) -> list[View]:
            _check_version(catalog, current)
            gone = _with_dependents(current, view, cascade)
            catalogs.remove_views(txn, self._store.catalog_db, {other.id for other in gone})
            return gone

        dropped = self._store.define(change)
        self.forget()
        return dropped

    def forget(self) -> list[int]:
        """Drop the objects of views that are no longer in the catalog, and what is noted of them; the objects' ids.

        A view is in the catalog before it has objects, so what is not there is gone for good.
        """
        _, found = self._store.view_tables.objects()
        catalog = self._store.catalog()
        # One that leaves the tables has a copy here before it is read here.
        kept = [view for view in catalog.views.values() if not (view.in_base and belongs_beside(catalog, view))]
        known = {number for view in kept for number in view.objects}
        gone = sorted(found.keys() - known)
        if gone:
            self._store.view_tables.drop_objects(gone)
        # Of one that was kept beside the tables there may be a note alone.
        noted = self._store.view_tables.notes().keys() - self._store.catalog().views.keys()
        if noted:
            self._store.view_tables.forget_notes(noted)
        return gone

    def swap(self, views: Sequence[View], bring: Callable[[], None] | None = None) -> bool:
        """Give views that replace others their names, all at once; False if one is not whole or stands before the old.

        No apply runs meanwhile, so readers of a name never go back.
        """
        # A look first: whoever waits for an apply to end in order to look again keeps all writers of tables waiting.
        with self._store.views.begin() as txn:
            if bring is None and not self._are_ready(txn, views):
                return False
        with ExitStack() as held:

            def change(txn: Txn, current: Catalog) -> bool:
                if bring is not None:
                    bring()
                return self._swap(txn, current, views, held)

            swapped = self._store.define(change)
        if swapped:
            self.forget()
        return swapped

    def _swap(self, txn: Txn, current: Catalog, views: Sequence[View], held: ExitStack) -> bool:
        if any(current.views.get(view.id) != view for view in views):
            return False
        # Held until the catalog is committed: an apply before that could still take the old view ahead.
        applying = self._store.views.begin(write=True)
        held.callback(applying.abort)
        if not self._are_ready(applying, views):
            return False
        old = {view.replaces for view in views if view.replaces is not None}
        catalogs.remove_views(txn, self._store.catalog_db, old)
        left = _without(current, old)
        named = [replace(view, replaces=None) for view in views]
        catalogs.store_views(txn, self._store.catalog_db, left, named)
        return True

    def _are_ready(self, txn: Txn, views: Sequence[View]) -> bool:
        """Whether views are whole, none is before the one that it replaces, and those that read others move with them.

        The ones that they replace did: readers who see two of them at one moment go on to do so.
        """
        catalog = self._store.catalog()
        tiers = tiers_of(catalog)
        for view in views:
            assert view.replaces is not None
            if belongs_beside(catalog, view):
                # It is always as far as the tables, once it is there.
                if not view.in_base:
                    return False
                continue
            reached = self._watermark(txn, view.id)
            old = catalog.views.get(view.replaces)
            before = self._watermark(txn, view.replaces)
            if old is not None and old.in_base:
                before = self._store.offset(self._store.head())
            if reached < 0 or reached < before:
                return False
            tier = tiers[view.id]
            together = [number for number in view.sources if tiers.get(number) == tier and tier[0] != "PERIODIC"]
            if any(self._group(txn, number) != self._group(txn, view.id) for number in together):
                return False
        return True

    def _group(self, txn: Txn, number: int) -> int | None:
        place = groups.get_object(txn, self._store.view_tables.objects_db, number)
        return None if place is None else place.group

    def _watermark(self, txn: Txn, number: int) -> int:
        """How far a view is; -1 if it is not whole."""
        place = groups.get_object(txn, self._store.view_tables.objects_db, number)
        state = None if place is None else groups.get_group(txn, self._store.groups_db, place.group)
        return -1 if state is None or state.filled is not None else state.watermark


def _without(catalog: Catalog, numbers: set[int]) -> Catalog:
    return replace(
        catalog,
        views={number: view for number, view in catalog.views.items() if number not in numbers},
        view_names={name: view for name, view in catalog.view_names.items() if view.id not in numbers},
    )


def _with_dependents(catalog: Catalog, view: View, cascade: bool) -> list[View]:
    """A view, those above it, what replaces any of these, and what stands on that."""
    gone = [view, *catalog.dependents([view.id])]
    numbers = {other.id for other in gone}
    replacing = [other for other in catalog.views.values() if other.replaces in numbers]
    above = catalog.dependents(other.id for other in replacing)
    gone += {other.id: other for other in (*replacing, *above) if other.id not in numbers}.values()
    shown = [other for other in gone[1:] if other.replaces is None]
    if shown and not cascade:
        raise ViewsDepend(f'{view.kind} "{view.name}" is read by {named_by_kind(shown)}')
    return gone


def _check_version(bound: Catalog, current: Catalog) -> None:
    if bound.version != current.version:
        raise Conflict("the catalog has changed meanwhile", hint="Run the statement again.")
