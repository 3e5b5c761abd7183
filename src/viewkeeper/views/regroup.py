"""Groups of views whose modes have come to differ, taken apart: a group moves as one, so all of it has one mode."""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.modes import tiers_of
from viewkeeper.store.splitting import split_group
from viewkeeper.views.bound import BoundView, BoundViews


def split_groups(store: EmbeddedStore, bound: BoundViews) -> bool:
    """Take apart the groups that hold views of several modes; whether there were any."""
    done = False
    for group, state in store.view_tables.groups().items():
        views = bound.of(state.objects)
        known = {number for one in views for number in one.view.objects}
        # One that is filled has views of one statement; of a view that went meanwhile, the objects go, too.
        if state.filled is None and known == set(state.objects) and len(parts := _parts(bound, views)) > 1:
            done = split_group(store, group, state, parts) or done
    return done


def _parts(bound: BoundViews, views: Sequence[BoundView]) -> list[list[int]]:
    """The objects of views by mode and interval; those that go beside the tables share nothing, and are each alone."""
    found: dict[object, list[int]] = {}
    tiers = tiers_of(bound.catalog)
    for one in views:
        found.setdefault(tiers.get(one.whole.id, one.whole.id), []).extend(one.view.objects)
    return list(found.values())
