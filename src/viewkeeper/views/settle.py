"""What becomes of groups that have come to stand at one watermark: merged, or swapped for those that they replace."""

from __future__ import annotations

from collections.abc import Iterator

from viewkeeper.delta.program import fingerprints
from viewkeeper.model.view import View
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.store.modes import Tier, tiers_of
from viewkeeper.views.bound import BoundViews, bound_views
from viewkeeper.views.homes import bring_to_head, lags_far, settle_homes
from viewkeeper.views.regroup import split_groups


def settle_views(store: EmbeddedStore) -> bool:
    """Put what belongs together, or apart, or elsewhere there, and swap what is ready; whether anything was done."""
    split = split_groups(store, bound_views(store))
    merged = merge_groups(store, bound_views(store))
    moved = settle_homes(store)
    return swap_ready(store) or merged or moved or split


def merge_groups(store: EmbeddedStore, bound: BoundViews) -> bool:
    """Make one group of those that belong together and stand at one watermark.

    They do if they follow the log in one mode, and read one another, or are read by one view, or keep the same
    auxiliary table. What is to move into the transactions of writes stays alone.
    """
    states, objects = store.view_tables.objects()
    tiers = tiers_of(bound.catalog)
    alike: dict[tuple[Tier, str], list[int]] = {}
    shared: dict[int, int] = {}
    links: list[tuple[int, int]] = []
    for number, one in bound.views.items():
        place = objects.get(number)
        if place is None or states[place.group].filled is not None:
            continue
        first = {tiers[number]: place.group} if number in tiers else {}
        links += [
            (first.setdefault(tiers[source], objects[source].group), objects[source].group)
            for source in one.sources
            if source in tiers and source in objects
        ]
        for text, auxiliary in fingerprints(one.program) if number in tiers else ():
            if auxiliary in objects:
                alike.setdefault((tiers[number], text), []).append(auxiliary)
    for *others, latest in alike.values():
        # The latest knows all columns that the views before it use of a join index.
        links += [(objects[other].group, objects[latest].group) for other in others]
        shared |= {other: latest for other in others if objects[other].slot != objects[latest].slot}
    done = False
    for group in _connected(links):
        known = {number: states[number] for number in group}
        here = {mine: other for mine, other in shared.items() if objects[mine].group in group}
        if (len(known) > 1 or here) and _stand_together(known):
            done = store.view_tables.merge(known, here) or done
    return done


def _stand_together(known: dict[int, GroupState]) -> bool:
    return len({state.watermark for state in known.values()}) == 1 and all(
        state.filled is None for state in known.values()
    )


def _connected(links: list[tuple[int, int]]) -> Iterator[set[int]]:
    """The groups that links connect, directly or through others, as sets."""
    reached: dict[int, set[int]] = {}
    for left, right in links:
        joined = reached.get(left, {left}) | reached.get(right, {right})
        for member in joined:
            reached[member] = joined
    seen: set[int] = set()
    for member, members in reached.items():
        if member not in seen:
            seen |= members
            yield members


def swap_ready(store: EmbeddedStore) -> bool:
    """Swap the replacements that are whole and not behind; a view and those above it go together or not at all."""
    catalog = store.catalog()
    pending = [view for _, view in sorted(catalog.views.items()) if view.replaces is not None]
    done = False
    taken: set[int] = set()
    for view in pending:
        if view.id in taken:
            continue
        together = [view, *(other for other in catalog.dependents([view.id]) if other.replaces is not None)]
        taken.update(other.id for other in together)
        done = _swap(store, together) or done
    return done


def _swap(store: EmbeddedStore, views: list[View]) -> bool:
    """Swap views; those that take the place of one beside the tables are first brought to where that is: the head."""
    catalog = store.catalog()
    replaced = [catalog.views.get(view.replaces) for view in views if view.replaces is not None]
    coming = [view for view in views if not view.in_base]
    if not coming or not any(old is not None and old.in_base for old in replaced):
        return store.view_catalog.swap(views)
    if any(lags_far(store, view) for view in coming):
        return False
    return store.view_catalog.swap(views, lambda: bring_to_head(store, coming))
