"""Views that follow in the transaction of a write: what they and their auxiliary tables become, by the row executor.

Lower ones first: what a view changes is the delta of those above it. State is read through the transaction itself,
so it is exactly that before the write; everything is computed before anything is written. Whatever fails here fails
the write, with nothing changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from viewkeeper.errors import Conflict, StoreDamaged
from viewkeeper.execute.epochs import Clock
from viewkeeper.store import log
from viewkeeper.store.applying import Counted
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.insync import Followed, Follower, TableChanges
from viewkeeper.store.interface import Catalog, Store
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.views.batch import extra_of
from viewkeeper.views.bound import BoundView, BoundViews, bound_in
from viewkeeper.views.deltas import Pair, changed_pairs, raw_pairs, row_of, weighted

if TYPE_CHECKING:
    from viewkeeper.store.environment import Txn


def follower_of(store: Store) -> Follower:
    """What a store needs to keep views in the transactions of its writes."""

    def follower(txn: Txn, catalog: Catalog, changed: Sequence[TableChanges], times: tuple[int, int]) -> Followed:
        bound = bound_in(store, catalog)
        for number, error in bound.failed.items():
            if catalog.views[number].in_base:
                raise StoreDamaged(
                    f'view "{catalog.views[number].name}" cannot be bound any more, so it cannot follow the write',
                    detail=f"{error.message}.",
                    hint="Drop it and create it again.",
                )
        pairs: dict[int, list[Pair]] = {
            table.codec.table.id: raw_pairs(table.codec, table.changes) for table in changed
        }
        return _followed(txn, bound, pairs, Clock(*times))

    return follower


def uncommitted(store: EmbeddedStore, position: int, changes: Mapping[int, list[Pair]]) -> Followed:
    """What would follow from changes that a transaction, which stands at a position, has not committed.

    Conflict if what the views that follow are made from has changed since: their auxiliary tables are only known as
    they are now.
    """
    txn, catalog = store.begin_read()
    with txn:
        bound = bound_in(store, catalog)
        touched = _touched(bound, changes)
        head = log.head(txn, store.log_db)
        if touched and any(
            block.sections for block in log.read(txn, store.log_db, position, head, touched.__contains__)
        ):
            raise Conflict(
                "what a SYNC view is made from has changed since the transaction began",
                detail="The transaction has written to it, and reads the view.",
                hint="Run it again from the start.",
            )
        return _followed(txn, bound, dict(changes), Clock())


def _touched(bound: BoundViews, changes: Mapping[int, list[Pair]]) -> set[int]:
    """All that views read which follow from some changes."""
    reached = set(changes)
    found: set[int] = set()
    for one in bound.in_base.values():
        if not one.sources.isdisjoint(reached):
            reached.add(one.view.id)
            found |= one.sources
    return found


def _followed(txn: Txn, bound: BoundViews, pairs: dict[int, list[Pair]], clock: Clock) -> Followed:
    followed = Followed()
    for one in bound.in_base.values():
        if one.program.epochs is None and one.sources.isdisjoint(pairs):
            continue
        _follow(txn, bound, one, pairs, clock, followed)
    return followed


def _follow(
    txn: Txn, bound: BoundViews, one: BoundView, pairs: dict[int, list[Pair]], clock: Clock, followed: Followed
) -> None:
    """Add what one view makes of the changes of what it reads."""
    catalog = bound.catalog
    deltas = [
        weighted(one.of_part(pairs.get(leaf.object, ()), row_of), leaf.columns, repeats=_repeats(catalog, leaf.object))
        for leaf in one.leaves
    ]
    if one.program.epochs is None and not any(deltas):
        return
    state = ViewReading(txn, None, bound.places_of(one))
    if one.simple is not None:
        changes = one.simple.follow(deltas[0], state)
    else:
        made = one.runner.joined(deltas, state) if one.is_joined else one.runner.first_changes(deltas[0])
        changes = one.runner.run(made, state, clock)
    followed.objects.update(changes.objects)
    extra = extra_of(one, changes.objects)
    if changes.errors or changes.late or extra:
        followed.counted[one.view.id] = Counted(errors=changes.errors, late=changes.late, extra=extra)
    own = changes.objects.get(one.view.id)
    if own is not None and own.changes and one.view.id in catalog.followed:
        pairs[one.view.id] = list(changed_pairs(own))


def _repeats(catalog: Catalog, number: int) -> bool:
    view = catalog.views.get(number)
    return view is not None and view.repeats
