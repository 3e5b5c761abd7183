"""Which groups are to be moved now, and how far: what their modes say, what readers ask for.

    DEFERRED   whenever it is behind
    EVERY n    when n has passed since it was last moved
    LAZY       when it is asked for; beyond that, see lazy.py
    PERIODIC   never from the log; see refreshing.py

A maintainer and the clock that wakes it look here, so neither waits for work that the other does not see.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from viewkeeper.model.view import View
from viewkeeper.store import modes
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState, ObjectState
from viewkeeper.store.interface import Catalog
from viewkeeper.store.notes import Note
from viewkeeper.views.reach import common_place, reach

Pace = tuple[int, int]
"""How soon a group follows the log; the smaller, the sooner."""
_RANK = {"DEFERRED": 0, "EVERY": 1, "LAZY": 2, "PERIODIC": 3}
LAZY: Pace = (_RANK["LAZY"], 0)


def pace_of(catalog: Catalog, view: View) -> Pace:
    """A view that is to be kept in writes, and is not yet, is brought on as a DEFERRED one."""
    mode, interval_ms = modes.pace_of(catalog, view)
    return _RANK.get(mode, 0), interval_ms or 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """How far somebody who waits wants a group to be, and how soon: the greater the priority, the sooner."""

    upto: int
    priority: int


@dataclass(frozen=True)
class Schedule:
    """All groups at one moment, `now` (µs); `moved`: when some were last moved, if that is not noted yet."""

    store: EmbeddedStore
    catalog: Catalog
    states: Mapping[int, GroupState]
    objects: Mapping[int, ObjectState]
    notes: Mapping[int, Note]
    head: int
    now: int
    stuck: Collection[int] = ()
    moved: Mapping[int, int] | None = None

    def views(self, state: GroupState) -> list[View]:
        return [self.catalog.views[number] for number in state.objects if number in self.catalog.views]

    def pace(self, state: GroupState) -> Pace:
        return min((pace_of(self.catalog, view) for view in self.views(state)), default=(0, 0))

    def below(self, state: GroupState) -> set[int]:
        """The views of other groups that a group reads."""
        read = {source for view in self.views(state) for source in view.sources}
        return (read & self.objects.keys()).difference(state.objects)

    @cached_property
    def aside(self) -> set[int]:
        """Views whose last attempt failed, or that cannot be bound: they are to be left alone for now."""
        return {number for number, note in self.notes.items() if note.retry_at > self.now}.union(self.stuck)

    def is_movable(self, state: GroupState) -> bool:
        is_periodic = self.pace(state)[0] == _RANK["PERIODIC"]
        return state.filled is None and not is_periodic and self.aside.isdisjoint(state.objects)

    def reach(self, state: GroupState, upper: int) -> int:
        """How far a group can come, about to `upper`: where the views of other groups that it reads have stood."""
        below = self.below(state)
        limit = min((self.states[self.objects[number].group].watermark for number in below), default=upper)
        if not below or limit <= state.watermark or upper <= state.watermark:
            return min(upper, limit)
        return reach(self.store, below, state.watermark, upper, limit)

    @cached_property
    def _readers(self) -> dict[int, list[set[int]]]:
        """For each group, the sets of groups of which one view reads all."""
        found: dict[int, list[set[int]]] = {}
        for view in self.catalog.views.values():
            together = {self.objects[source].group for source in view.sources if source in self.objects}
            for group in together if len(together) > 1 else ():
                found.setdefault(group, []).append(together)
        return found

    def place(self, group: int, upto: int) -> int:
        """Where a group is to come to: `upto`, or where the groups stand that follow sooner and share a reader with it.

        A view that reads both can only stand where both have stood.
        """
        own = self.pace(self.states[group])
        beside = set().union(*self._readers.get(group, ())) - {group}
        sooner = [self.states[other] for other in beside if self.pace(self.states[other]) < own]
        standing = min((state.watermark for state in sooner), default=upto)
        return standing if standing > self.states[group].watermark else upto

    def asked(self) -> dict[int, Wanted]:
        """By group, what readers wait for: the views that they read, and all that these read."""
        found: dict[int, Wanted] = {}
        for number, request in self.store.view_tables.asked(self.now).items():
            for group in self._with_below(number):
                upto = min(request.upto, self.head)
                known = found.get(group, Wanted(0, request.priority))
                if self.states[group].watermark < upto:
                    found[group] = Wanted(max(known.upto, upto), max(known.priority, request.priority))
        return found

    def _with_below(self, number: int) -> set[int]:
        """The groups of a view and of all views that it reads, also through others."""
        found, pending = set[int](), [number]
        while pending:
            place = self.objects.get(pending.pop())
            if place is not None and place.group not in found:
                found.add(place.group)
                pending += self.below(self.states[place.group])
        return found

    def due(self) -> dict[int, int]:
        """By group, how far it is to be brought because of its mode."""
        found = {group: self.head for group, state in self.states.items() if self._is_due(group, state)}
        return found | dict.fromkeys(self._kept_apart(), self.head)

    def all(self, upto: int) -> dict[int, int]:
        """The same whatever the modes are."""
        return dict.fromkeys(self.states, upto)

    def _is_due(self, group: int, state: GroupState) -> bool:
        rank, interval = self.pace(state)
        return rank == _RANK["DEFERRED"] or (rank == _RANK["EVERY"] and self.due_at(group, state, interval) <= self.now)

    def due_at(self, group: int, state: GroupState, interval: int) -> int:
        """When so many ms have passed since a group was last moved."""
        noted = max((self.notes[number].batch_at for number in state.objects if number in self.notes), default=0)
        return max(noted, (self.moved or {}).get(group, 0)) + interval * 1000

    def next_due(self) -> int | None:
        """In how many µs the next group of mode EVERY that is behind is due; None if there is none."""
        waits = [
            self.due_at(group, state, self.pace(state)[1]) - self.now
            for group, state in self.states.items()
            if self.pace(state)[0] == _RANK["EVERY"] and self.is_movable(state)
            if self.reach(state, self.head) > state.watermark
        ]
        return min(waits, default=None)

    def _kept_apart(self) -> Iterable[int]:
        """The groups below a view that cannot be begun, because they have never stood together."""
        for view in self.catalog.views.values():
            below = [source for source in view.sources if source in self.objects]
            groups = {self.objects[source].group for source in below}
            if view.id not in self.objects and len(groups) > 1 and not view.in_base:
                yield from () if common_place(self.store, below) is not None else groups

    def behind(self, targets: Mapping[int, int]) -> Iterable[tuple[int, GroupState]]:
        """The groups among these that can be moved now, and are before their targets."""
        for group, state in self.states.items():
            is_before = group in targets and state.watermark < targets[group] and self.is_movable(state)
            if is_before and self.reach(state, targets[group]) > state.watermark:
                yield group, state


def schedule(
    store: EmbeddedStore,
    *,
    now: int | None = None,
    stuck: Collection[int] = (),
    moved: Mapping[int, int] | None = None,
) -> Schedule:
    """The groups as they are."""
    # The views first, so that none is behind the head.
    states, objects = store.view_tables.objects()
    notes, head = store.view_tables.notes(), store.offset(store.head())
    moment = time.time_ns() // 1000 if now is None else now
    return Schedule(store, store.catalog(), states, objects, notes, head, moment, stuck, moved)


def work_due(store: EmbeddedStore, now: int | None = None) -> int | None:
    """The lowest watermark of groups that are to be moved now; None if there is none.

    Or the head, if a group stands behind it: the base was rolled back, and what is there has to be filled anew.
    """
    found = schedule(store, now=now)
    if any(state.watermark > found.head for state in found.states.values()):
        return found.head
    targets = {group: wanted.upto for group, wanted in found.asked().items()} | found.due()
    return min((state.watermark for _, state in found.behind(targets)), default=None)
