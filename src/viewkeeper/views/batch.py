"""One batch of one group: what all its tables become, from its watermark to a later position.

Views are computed lower ones first: what a view changes is the delta of those above it, in the same batch. A group
whose input did not change moves too; that costs one small transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

from viewkeeper.errors import Outrun, StoreDamaged
from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.encodedrows import FirstChanges
from viewkeeper.execute.epochs import Clock
from viewkeeper.model.types import Cell
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store
from viewkeeper.store.viewstore import Apply, Counted, ObjectChanges, ViewReading
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.deltas import Pair, changed_pairs, feed_pairs, table_pairs, weighted


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


def batch_by_rows(store: Store, bound: BoundViews, group: int, state: GroupState, upper: int, timing: Timing) -> Apply:
    """The batch of a group up to `upper`, computed in this process by the row executor."""
    views = group_of_views(bound, state)
    pairs = table_pairs(store, tables_of(bound, views), state.watermark, upper)
    timing.lap("read")

    def first(one: BoundView) -> FirstChanges:
        return first_of(store, bound, one, state, upper, pairs)

    return compute(store, bound, group, state, upper, first, timing)


def tables_of(bound: BoundViews, views: Sequence[BoundView]) -> frozenset[int]:
    """The base tables that views read."""
    return frozenset(one.source for one in views if one.source in bound.catalog.tables)


def first_of(
    store: Store,
    bound: BoundViews,
    one: BoundView,
    state: GroupState,
    upper: int,
    pairs: Mapping[int, list[Pair]],
) -> FirstChanges:
    """The first stage of a view over what is outside its group: a table, or a view of another group."""
    below = bound.views.get(one.source)
    columns = one.program.plan.source.columns
    if below is None:
        delta = weighted(pairs[one.source], columns)
    else:
        codec = bound.catalog.view_codecs[below.view.id]
        rows = feed_pairs(store, below.view, codec, state.watermark, upper)
        delta = weighted(rows, columns, repeats=below.view.repeats)
    return one.runner.first_changes(delta)


def compute(
    store: Store,
    bound: BoundViews,
    group: int,
    state: GroupState,
    upper: int,
    first: Callable[[BoundView], FirstChanges],
    timing: Timing,
    fill: tuple[bytes, bytes | None] | None = None,
    holder: str = "",
) -> Apply:
    """The batch that follows from the first stages of the views at the bottom of a group.

    Outrun if the group has moved since `state` was read.
    """
    views = group_of_views(bound, state)
    transaction, committed_at = _last_transaction(store, state, upper)
    objects: dict[int, ObjectChanges] = {}
    counted: dict[int, Counted] = {}
    with store.view_tables.reading(state.objects, filling=fill is not None) as reading:
        _check_unmoved(reading, state)
        for one in views:
            inside = objects.get(one.source) if one.source in state.objects else None
            if one.source in state.objects:
                made = one.runner.first_changes(_inside_delta(bound, one, inside))
            else:
                made = first(one)
            timing.lap("compute")
            changes = one.runner.run(*made, reading, Clock(state.committed_at, committed_at))
            timing.lap("fold")
            objects.update(changes.objects)
            counted[one.view.id] = Counted(errors=changes.errors, late=changes.late, extra=_extra(one, changes.objects))
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


def _inside_delta(bound: BoundViews, one: BoundView, changes: ObjectChanges | None) -> list[Weighted]:
    below = bound.views[one.source].view
    if changes is None:
        return []
    return weighted(changed_pairs(changes), one.program.plan.source.columns, repeats=below.repeats)


def _extra(one: BoundView, objects: Mapping[int, ObjectChanges]) -> int:
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


def _last_transaction(store: Store, state: GroupState, upper: int) -> tuple[int, int]:
    if upper == state.watermark:
        return state.transaction, state.committed_at
    found = store.transaction_before(upper)
    if found is None:
        raise Outrun("the log has no transaction that ends where the batch does", hint="Begin again.")
    return found
