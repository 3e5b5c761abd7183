"""What becomes of groups that have come to stand at one watermark: merged, or swapped for those that they replace."""

from __future__ import annotations

from collections.abc import Iterator

from viewkeeper.delta.program import fingerprints
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store
from viewkeeper.views.bound import BoundViews, bound_views


def settle_views(store: Store) -> bool:
    """Merge what belongs together, swap what is ready; whether anything was done."""
    merged = merge_groups(store, bound_views(store))
    return swap_ready(store) or merged


def merge_groups(store: Store, bound: BoundViews) -> bool:
    """Make one group of those that read one another, or keep the same auxiliary table, and stand at one watermark."""
    states, objects = store.view_tables.objects()
    alike: dict[str, list[int]] = {}
    shared: dict[int, int] = {}
    links: list[tuple[int, int]] = []
    for number, one in bound.views.items():
        place = objects.get(number)
        if place is None or states[place.group].filled is not None:
            continue
        links += [(objects[source].group, place.group) for source in one.sources if source in objects]
        for text, auxiliary in fingerprints(one.program):
            if auxiliary in objects:
                alike.setdefault(text, []).append(auxiliary)
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


def swap_ready(store: Store) -> bool:
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
        done = store.view_catalog.swap(together) or done
    return done
