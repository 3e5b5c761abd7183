"""Where a group that reads views of other groups can come to stand: only where all of these have stood.

A view's feed has one block for an apply. Inside of it the view never stood, so nobody can know what it was there.
"""

from __future__ import annotations

from collections.abc import Collection

from viewkeeper.store.interface import Store


def reach(store: Store, below: Collection[int], lower: int, upper: int, limit: int) -> int:
    """How far a batch from `lower` can go, about to `upper`; `lower` if it cannot go on.

    That is the first place at or behind `upper`, else the last one before it, where all the views `below` have stood;
    never behind `limit`, the least of their watermarks.
    """
    wanted = min(upper, limit)
    place = _settled(store, below, wanted, up=True)
    if place <= limit:
        return place
    return max(lower, _settled(store, below, wanted, up=False))


def common_place(store: Store, below: Collection[int]) -> int | None:
    """The last position, still in the log, at which all these views have stood; None if there is none.

    None also if one of them is not there, or not whole.
    """
    found = [store.view_tables.standing(number) for number in below]
    states = [state for state in found if state is not None and state[1].filled is None]
    if len(states) < len(found):
        return None
    place = _settled(store, below, min(state.watermark for _, state in states), up=False)
    oldest = max(store.offset(store.oldest()), *(item.born for item, _ in states))
    return place if place >= oldest else None


def _settled(store: Store, below: Collection[int], place: int, *, up: bool) -> int:
    """The nearest place at, or before or behind, another that is inside no block of these views' feeds."""
    while True:
        before = place
        for number in below:
            block = store.view_tables.block_around(number, place)
            if block is not None:
                place = block[1] if up else block[0]
        if place == before:
            return place
