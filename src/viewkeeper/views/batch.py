"""One batch of one group: what all its tables become, from its watermark to a later position.

Views are computed lower ones first: what a view changes is the delta of those above it, in the same batch. A group
whose input did not change moves too; that costs one small transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

from viewkeeper.delta.deltaplan import Changes
from viewkeeper.errors import Outrun, StoreDamaged
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.execute.epochs import Clock
from viewkeeper.model.types import Cell
from viewkeeper.store.applying import Apply, Counted, ObjectChanges
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.deltas import Pair, changed_pairs, condensed, feed_pairs, row_of, table_pairs, weighted


@dataclass(slots=True)
class Timing:
    """Seconds by phase, for status."""

    seconds: dict[str, float] = field(default_factory=dict)
    _started: float = field(default_factory=perf_counter)

    def lap(self, phase: str) -> None:
        now = perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._started
        self._started = now


def group_of_views(bound: BoundViews, state: GroupState) -> list[BoundView]:
    """The views of a group, lower ones first. Outrun if one has gone from the catalog, StoreDamaged if unbindable."""
    views = bound.of(state.objects)
    for number in state.objects:
        if number in bound.failed:
            raise StoreDamaged(
                f'view "{bound.catalog.views[number].name}" cannot be bound any more',
                detail=f"{bound.failed[number].message}.",
                hint="Drop it and create it again.",
            )
    known = {number for one in views for number in one.view.objects}
    if not known.issuperset(state.objects):
        raise Outrun("a view of the group was dropped", hint="Read the catalog again.")
    return views


class Inputs(Protocol):
    """The inputs of views from outside of their group: what changed in a batch, or a step of a fill."""

    def first(self, one: BoundView) -> FirstChanges | None:
        """What the first stage of a view gives, where that has been computed in bulk."""

    def delta(self, one: BoundView, leaf: int) -> list[Weighted]:
        """What one leaf of a view changed by."""


@dataclass(frozen=True, slots=True)
class LogInputs:
    """The log, and the feeds of views of other groups, from a watermark to a later position."""

    store: Store
    bound: BoundViews
    lower: int
    upper: int
    pairs: Mapping[int, list[Pair]]
    firsts: Mapping[int, FirstChanges] = field(default_factory=dict)

    def first(self, one: BoundView) -> FirstChanges | None:
        return self.firsts.get(one.view.id)

    def delta(self, one: BoundView, leaf: int) -> list[Weighted]:
        changes = one.leaves[leaf]
        repeats = self.bound.repeats(changes.object)
        below = self.bound.fed_by(changes.object)
        if below is None:
            codec = self.bound.catalog.codecs[changes.object]
            pairs = one.of_part(self.pairs[changes.object], row_of)
            delta = weighted(pairs, changes.columns, repeats=repeats)
        else:
            codec = self.bound.catalog.view_codecs[below.view.id]
            rows = feed_pairs(self.store, below.view, codec, self.lower, self.upper)
            delta = weighted(rows, changes.columns, repeats=repeats)
        # Joins condense for themselves, and sums telescope; but a lazy batch may have very many changes of one row.
        is_lazy = one.view.mode == "LAZY" and not one.is_joined
        return condensed(delta, codec, changes.columns) if is_lazy else delta


def batch_by_rows(store: Store, bound: BoundViews, group: int, state: GroupState, upper: int, timing: Timing) -> Apply:
    """The batch of a group up to `upper`, computed in this process by the row executor."""
    views = group_of_views(bound, state)
    pairs = table_pairs(store, tables_of(bound, views), state.watermark, upper)
    timing.lap("read")
    inputs = LogInputs(store, bound, state.watermark, upper, pairs)
    return compute(store, bound, group, state, upper, inputs, timing)


def tables_of(bound: BoundViews, views: Sequence[BoundView]) -> frozenset[int]:
    """What views read from the log: tables, and views that are kept beside them."""
    return frozenset(source for one in views for source in one.sources if source in bound.catalog.codecs)


def compute(
    store: Store,
    bound: BoundViews,
    group: int,
    state: GroupState,
    upper: int,
    inputs: Inputs,
    timing: Timing,
    fill: tuple[bytes, bytes | None] | None = None,
    holder: str = "",
) -> Apply:
    """The batch that follows from the inputs of a group.

    Outrun if the group has moved since `state` was read.
    """
    views = group_of_views(bound, state)
    transaction, committed_at = _last_transaction(store, state, upper)
    objects: dict[int, ObjectChanges] = {}
    counted: dict[int, Counted] = {}
    with store.view_tables.reading(state.objects, filling=fill is not None) as reading:
        _check_unmoved(reading, state)
        _check_bound(store, bound, views)
        for one in views:
            made = inputs.first(one)
            if made is not None:
                made = made._replace(objects=_unwritten(made.objects, reading))
            else:
                deltas = [
                    _inside_delta(bound, leaf, objects.get(leaf.object))
                    if leaf.object in state.objects
                    else inputs.delta(one, number)
                    for number, leaf in enumerate(one.leaves)
                ]
                made = one.runner.joined(deltas, reading) if one.is_joined else one.runner.first_changes(deltas[0])
            timing.lap("compute")
            changes = one.runner.run(made, reading, Clock(state.committed_at, committed_at))
            timing.lap("fold")
            objects.update(changes.objects)
            counted[one.view.id] = Counted(
                errors=changes.errors, late=changes.late, extra=extra_of(one, changes.objects)
            )
    return Apply(
        group=group,
        generation=state.generation,
        lower=state.watermark,
        upper=upper,
        transaction=transaction,
        committed_at=committed_at,
        objects=objects,
        counted=counted,
        fill=fill,
        holder=holder,
    )


def _unwritten(objects: Mapping[int, ObjectChanges], reading: ViewReading) -> dict[int, ObjectChanges]:
    """What a join keeps, but for what another view that shares it gives in this batch."""
    kept: dict[int, ObjectChanges] = {}
    for number, changes in objects.items():
        slot = reading.object(number).slot
        if slot not in reading.written:
            reading.written.add(slot)
            kept[number] = changes
    return kept


def _inside_delta(bound: BoundViews, leaf: Changes, changes: ObjectChanges | None) -> list[Weighted]:
    if changes is None:
        return []
    return weighted(changed_pairs(changes), leaf.columns, repeats=bound.views[leaf.object].view.repeats)


def extra_of(one: BoundView, objects: Mapping[int, ObjectChanges]) -> int:
    """By how much the weights of a view's rows grow beyond one an entry."""
    if not one.view.repeats or one.view.id not in objects:
        return 0
    decode = objects[one.view.id].codec.decode

    def above_one(row: bytes | None) -> int:
        weight: Cell = 1 if row is None else decode(row)[-1]
        return int(weight) - 1  # type: ignore[arg-type]

    return sum(above_one(after) - above_one(before) for before, after in objects[one.view.id].changes.values())


def _check_unmoved(reading: ViewReading, state: GroupState) -> None:
    now = reading.group(state.objects[0])
    if (now.generation, now.watermark, now.filled) != (state.generation, state.watermark, state.filled):
        raise Outrun("the group has moved since the batch was begun", hint="Compute it again from its watermark.")


def _check_bound(store: Store, bound: BoundViews, views: Sequence[BoundView]) -> None:
    """A view below that has come to be kept elsewhere since is no longer read where it was bound to be read.

    Whoever moves it also changes the generation of the groups above it, and that after the catalog.
    """
    current, known = store.catalog(), bound.catalog
    if current.version == known.version:
        return
    for number in {number for one in views for number in (one.view.id, *one.sources)}:
        if current.views.get(number) != known.views.get(number):
            raise Outrun("a view has changed since the batch was begun", hint="Read the catalog again.")


def _last_transaction(store: Store, state: GroupState, upper: int) -> tuple[int, int]:
    if upper == state.watermark:
        return state.transaction, state.committed_at
    found = store.transaction_before(upper)
    if found is None:
        raise Outrun("the log has no transaction that ends where the batch does", hint="Begin again.")
    return found
