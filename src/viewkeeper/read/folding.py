"""Fold: what a view is at a position where it does not stand, from where it does and what its inputs changed by.

    view at target  =  view at its watermark  +  its delta from there to target

The delta is computed by the row executor, as that of a batch is, and not applied. It needs no lock: state is read at
the watermark in one transaction, changes are read from the log. What a view reads of its own group is computed with it;
a view of another group below it is folded first, to the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from viewkeeper.errors import NotRetained, Outrun
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.encodedrows import EncodedRows, FirstChanges
from viewkeeper.execute.epochs import Clock
from viewkeeper.read.mattering import Test, mattering, net, tests_of
from viewkeeper.read.pending import Pending, TooMany
from viewkeeper.read.region import WHOLE, Region, is_within
from viewkeeper.read.waiting import dropped
from viewkeeper.store.applying import Apply, ObjectChanges
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.deltas import Pair, changed_pairs, feed_pairs, weighted

MATTER = 5_000
"""Changes that matter, times the views that they go through: each costs tens of µs."""


@dataclass(slots=True)
class Delta:
    """By encoded key what changes of a view between where `state` says that it stands and the target, and no more
    than was asked for.

    `quiet`: nothing was pending of what the view reads. `affected`: something was of what is asked. `batch`: the batch
    of the whole group, if that was computed instead; `changes` are then all of the view.
    """

    group: int
    state: GroupState
    changes: Mapping[bytes, RawChange] = field(default_factory=dict)
    quiet: bool = False
    affected: bool = False
    batch: Apply | None = None


class Folding:
    """One fold: some views, all to one position, which is a transaction boundary.

    `pending` counts what it looks at, `matter` what it had to take in. TooMany where that is more than a read takes
    upon itself, Outrun where a group moves meanwhile.
    """

    def __init__(self, store: Store, bound: BoundViews, target: int, own: Mapping[int, list[Pair]] | None = None):
        self.store = store
        self.bound = bound
        self.pending = Pending(store, target, own or {})
        self.matter = 0
        self.firsts: dict[tuple[int, int], FirstChanges] = {}
        """By view and watermark, what its first stage gave of all that is pending, where that was computed."""
        self._below: dict[int, tuple[Delta, ObjectChanges | None]] = {}

    @property
    def target(self) -> int:
        return self.pending.target

    def delta(
        self, number: int, regions: Sequence[Region] = WHOLE, whole: Callable[[Delta], Apply | None] | None = None
    ) -> Delta:
        """What changes of a view in these regions; `whole` may give the batch of all of its group instead."""
        one = self._bound(number)
        group, state = self.standing(one)
        found = Delta(group, state)
        if one.view.mode == "PERIODIC":
            if not self._is_quiet(one, state):
                # It has no delta: it is computed anew as a whole, which is the pipeline's.
                raise TooMany
            found.quiet = True
            return found
        members = self._members(one, state)
        inside = self._inside(members[:-1], state)
        first = self._first(one, state, inside, regions, found)
        if first is not None and whole is not None:
            found.batch = whole(found)
        if found.batch is not None:
            made = found.batch.objects.get(number)
            found.changes = {} if made is None else made.changes
        elif first is not None:
            with self._reading(one, state) as reading:
                first = first if isinstance(first, FirstChanges) else one.runner.joined(first, reading)
                if one.runner.tells_keys:
                    first = one.runner.within(first, partial(is_within, regions=regions))
                made = one.runner.run(first, reading, self._clock(one, state)).objects.get(number)
            raw = {} if made is None else made.changes
            found.changes = {
                key: change for key, change in raw.items() if change[0] != change[1] and is_within(key, regions)
            }
        return found

    def _is_quiet(self, one: BoundView, state: GroupState) -> bool:
        """Whether nothing is pending of what a view reads, directly or through others of its group."""
        if state.watermark == self.target:
            return True
        for place, leaf in enumerate(one.leaves):
            if leaf.object in state.objects:
                if not self._is_quiet(self._bound(leaf.object), state):
                    return False
            elif self.pairs(one, place, state, {}):
                return False
        return True

    def standing(self, one: BoundView) -> tuple[int, GroupState]:
        found = self.store.view_tables.standing(one.view.id)
        if found is None or found[1].filled is not None:
            raise dropped(one.view)
        return found[0].group, found[1]

    def _bound(self, number: int) -> BoundView:
        one = self.bound.views.get(number)
        if one is None:
            error = self.bound.failed.get(number)
            raise Outrun("the catalog has changed", hint="Read again.") if error is None else error
        return one

    def _members(self, one: BoundView, state: GroupState) -> list[BoundView]:
        """A view behind all that it reads of its own group, lower ones first."""
        wanted = {one.view.id}
        # A view is always made after what it reads.
        for number in sorted(self.bound.views, reverse=True):
            if number in wanted:
                wanted |= self.bound.views[number].sources & set(state.objects)
        return [self._bound(number) for number in sorted(wanted)]

    def _inside(self, members: Sequence[BoundView], state: GroupState) -> dict[int, ObjectChanges]:
        """What changes of views of the same group that are below."""
        objects: dict[int, ObjectChanges] = {}
        for one in members:
            deltas = [self.weighted(one, place, state, objects) for place in range(len(one.leaves))]
            self._count(deltas)
            with self._reading(one, state) as reading:
                first = one.runner.joined(deltas, reading) if one.is_joined else one.runner.first_changes(deltas[0])
                objects |= one.runner.run(first, reading, self._clock(one, state)).objects
        return objects

    def _first(
        self,
        one: BoundView,
        state: GroupState,
        inside: Mapping[int, ObjectChanges],
        regions: Sequence[Region],
        found: Delta,
    ) -> FirstChanges | list[list[Weighted]] | None:
        """What its first stage, or its join, is given of the regions; None if nothing is, and `found` says so."""
        leaves = range(len(one.leaves))
        codec = self.bound.catalog.view_codecs[one.view.id]
        pairs = [self.pairs(one, place, state, inside) for place in leaves]
        found.quiet = not any(pairs) and one.program.epochs is None
        if found.quiet:
            return None
        if not one.is_joined and one.runner.tells_keys:
            delta = self._as_weighted(one, 0, pairs[0])
            whole = self.firsts[one.view.id, state.watermark] = one.runner.first_changes(delta)
            first = one.runner.within(whole, partial(is_within, regions=regions))
            rows = first.changes.keys if isinstance(first.changes, EncodedRows) else list(first.changes.groups)
            found.affected = bool(rows) or one.program.epochs is not None
            self._count([rows])
            return first if found.affected else None
        tests = tests_of(one, codec, regions)
        deltas = [
            self._as_weighted(one, place, self._mattering(one.leaves[place].object, pairs[place], tests))
            for place in leaves
        ]
        found.affected = any(deltas) or one.program.epochs is not None
        self._count(deltas)
        if not found.affected:
            return None
        return deltas if one.is_joined else one.runner.first_changes(deltas[0])

    def _mattering(self, number: int, pairs: list[Pair], tests: Mapping[int, Test]) -> list[Pair]:
        test = tests.get(number)
        if test is None:
            return pairs
        catalog = self.bound.catalog
        codec = catalog.codecs.get(number) or catalog.view_codecs[number]
        return mattering(net(pairs, codec), test)

    def pairs(self, one: BoundView, place: int, state: GroupState, inside: Mapping[int, ObjectChanges]) -> list[Pair]:
        """What one leaf of a view changed by, between where its group stands and the target."""
        number = one.leaves[place].object
        if number in self.bound.catalog.codecs:
            return self.pending.of_table(number, state.watermark)
        if number in state.objects:
            return list(changed_pairs(inside[number])) if number in inside else []
        below, changes = self._outside(number)
        if below.state.watermark < state.watermark:
            raise Outrun("a view below has been filled again", hint="Read again.")
        view, codec = self.bound.views[number].view, self.bound.catalog.view_codecs[number]
        fed = list(feed_pairs(self.store, view, codec, state.watermark, below.state.watermark))
        self.pending.look(len(fed))
        return fed if changes is None else [*fed, *changed_pairs(changes)]

    def _outside(self, number: int) -> tuple[Delta, ObjectChanges | None]:
        """The whole delta of a view of another group."""
        if number not in self._below:
            delta = self.delta(number)
            codec = self.bound.catalog.view_codecs[number]
            changes = ObjectChanges(codec, dict(delta.changes)) if delta.changes else None
            self._below[number] = delta, changes
        return self._below[number]

    def weighted(
        self, one: BoundView, place: int, state: GroupState, inside: Mapping[int, ObjectChanges] | None = None
    ) -> list[Weighted]:
        """What one leaf of a view changed by, as rows of the columns that it uses."""
        return self._as_weighted(one, place, self.pairs(one, place, state, inside or {}))

    def _as_weighted(self, one: BoundView, place: int, pairs: list[Pair]) -> list[Weighted]:
        leaf = one.leaves[place]
        view = self.bound.catalog.views.get(leaf.object)
        return weighted(pairs, leaf.columns, repeats=view is not None and view.repeats)

    def _count(self, deltas: Sequence[Sequence[object]]) -> None:
        self.matter += sum(map(len, deltas))
        if self.matter > MATTER:
            raise TooMany

    def _reading(self, one: BoundView, state: GroupState) -> ViewReading:
        reading = self.store.view_tables.reading(one.view.objects)
        now = reading.group(one.view.id)
        if (now.generation, now.watermark, now.filled) != (state.generation, state.watermark, state.filled):
            reading.__exit__(None, None, None)
            raise Outrun("the group has moved since the fold was begun", hint="Read again.")
        return reading

    def _clock(self, one: BoundView, state: GroupState) -> Clock:
        if one.program.epochs is None:
            return Clock()
        if self.target < state.watermark:
            raise NotRetained(
                f'view "{one.view.name}" is past position {self.store.position(self.target)} already',
                detail="It keeps epochs for a while only, and those that it had there may be gone.",
                hint="Read it as it is.",
            )
        found = self.store.transaction_before(self.target)
        if found is None:
            raise Outrun("the log has no transaction that ends where the fold does", hint="Read again.")
        return Clock(state.committed_at, found[1])


def views_below(bound: BoundViews, number: int) -> Iterator[int]:
    """The views outside of the tables that a view reads, directly or not; and itself."""
    wanted = {number}
    for candidate in sorted(bound.views, reverse=True):
        if candidate in wanted:
            yield candidate
            wanted |= bound.views[candidate].sources - bound.catalog.codecs.keys()
