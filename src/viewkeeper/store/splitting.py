"""A group taken apart: each part goes on by itself from the watermark where all of them stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from viewkeeper.store import groups
from viewkeeper.store.environment import Txn, explained
from viewkeeper.store.groups import GroupState, ObjectState
from viewkeeper.store.viewstore import view_database

if TYPE_CHECKING:
    from viewkeeper.store.embedded import EmbeddedStore

ROWS = 4096


@explained
def split_group(store: EmbeddedStore, group: int, state: GroupState, parts: Sequence[Sequence[int]]) -> bool:
    """Make a group of each part, named by its first object; False, with nothing done, if the group has moved.

    `parts` are all its objects. Rows that objects of several parts share are copied.
    """
    views = store.view_tables
    with views.opening() as txn:
        if groups.get_group(txn, views.groups_db, group) != state:
            return False
        places = {number: groups.get_object(txn, views.objects_db, number) for number in state.objects}
        groups.remove_group(txn, views.groups_db, group)
        taken: set[int] = set()
        for part in parts:
            copies: dict[int, int] = {}
            for number in part:
                place = places[number]
                assert place is not None
                slot = place.slot
                if slot in taken:
                    slot = copies[slot] if slot in copies else copies.setdefault(slot, _copy(store, txn, place))
                groups.set_object(txn, views.objects_db, number, replace(place, group=part[0], slot=slot))
            taken |= {place.slot for number in part if (place := places[number]) is not None}
            new = replace(state, generation=state.generation + 1, objects=tuple(part), holder="", deadline=0)
            groups.set_group(txn, views.groups_db, part[0], new)
    return True


def _copy(store: EmbeddedStore, txn: Txn, place: ObjectState) -> int:
    """A new slot with the same rows."""
    views = store.view_tables
    slot = groups.take_slot(txn, views.slots_db)
    old = store.views.database(view_database(place.slot), txn)
    new = store.views.database(view_database(slot), txn)
    rows = txn.cursor(db=old).iternext()
    target = txn.cursor(db=new)
    while part := list(islice(rows, ROWS)):
        target.putmulti(part)
    return slot
