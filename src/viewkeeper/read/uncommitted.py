"""A view as a transaction sees it: at the transaction's position, with what it has written itself and not committed.

The transaction has read, in a way, the tables below the view: it conflicts with a change of theirs that can matter to
the part of the view that it read. Where that cannot be told, because no key column is fixed or another view stands
between, every change of such a table can.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.model.view import View
from viewkeeper.read.beside import beside_at
from viewkeeper.read.bykey import Reader
from viewkeeper.read.exactly import view_exactly
from viewkeeper.read.folding import views_below
from viewkeeper.read.handle import Handle
from viewkeeper.read.mattering import tests_of
from viewkeeper.read.region import Region
from viewkeeper.read.rows import ReadMeta
from viewkeeper.read.viewat import ViewAt
from viewkeeper.read.waiting import whole
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.insync import Followed
from viewkeeper.store.interface import Catalog, Store, StoreTransaction
from viewkeeper.views.bound import bound_views
from viewkeeper.views.deltas import Pair, changed_pairs
from viewkeeper.views.following import uncommitted


def view_with_own_writes(
    handle: Handle, transaction: StoreTransaction, catalog: Catalog, view: View, regions: Sequence[Region]
) -> tuple[Reader, ReadMeta]:
    """A view to read these regions of. A PERIODIC view, which has no delta, is read as it is."""
    store = handle.store
    target = store.offset(transaction.position)
    own: dict[int, list[Pair]] = dict(transaction.own_changes())
    followed = Followed()
    if not catalog.followed.isdisjoint(own):
        assert isinstance(store, EmbeddedStore)
        followed = uncommitted(store, target, own)
        own |= {
            number: list(changed_pairs(changes)) for number, changes in followed.objects.items() if changes.has_feed
        }
    if view.in_base:
        return _beside(store, transaction, catalog, view, regions, followed)
    state = whole(store, view)
    if view.mode == "PERIODIC":
        at = ViewAt(store, view, catalog.view_codecs[view.id], state.watermark)
        return at, ReadMeta(path="view", position=at.position)
    found = view_exactly(handle, catalog, view, regions, target, own)
    bound = bound_views(store)
    for number in views_below(bound, view.id):
        one = bound.views[number]
        tests = tests_of(one, catalog.view_codecs[number], regions) if number == view.id else {}
        for source in sorted(one.sources & catalog.codecs.keys()):
            transaction.read_where(catalog.codecs[source], tests.get(source))
    return found


def _beside(
    store: Store,
    transaction: StoreTransaction,
    catalog: Catalog,
    view: View,
    regions: Sequence[Region],
    followed: Followed,
) -> tuple[Reader, ReadMeta]:
    """A view that is kept beside the tables; its own rows were read, as those of a table are."""
    snapshot = store.snapshot(transaction.position)
    for number in view.tables:
        codec = catalog.view_codecs[number]
        transaction.read_where(codec, _within(codec, regions))
    own = {number: followed.objects[number].changes for number in view.tables if number in followed.objects}
    at = beside_at(store, catalog, view, snapshot, own)
    return at, ReadMeta(path="view", position=at.position)


def _within(codec: RowCodec, regions: Sequence[Region]) -> Callable[[Row], bool]:
    encode = codec.key.encode
    intervals = [region.interval for region in regions]
    return lambda row: any(encode(row) in interval for interval in intervals)
