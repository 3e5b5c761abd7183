"""The part of a view that changes of its input since some position can have touched: what a verification now and then
has to look at.

    row by row          the rows of just those keys of the source are read again and passed through the view
    groups of one γ     the source is read whole, and the rows of touched groups alone are aggregated and compared

What was to change and did not is thereby found as well, since it is the input that tells, not what was applied. For any
other view, and where the log no longer reaches back or too much has changed, there is no part: all of it is compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.delta.program import Storage
from viewkeeper.errors import NotRetained
from viewkeeper.execute.changetable import Weighted, reduce_rows
from viewkeeper.execute.rows.linear import Pipe
from viewkeeper.execute.storedstate import StageRunner
from viewkeeper.model.picking import picker
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.pipeline.stored import StoredTable
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.keyspace import stored_view_key
from viewkeeper.store.scan import Interval, Item
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.views.bound import BoundView, BoundViews
from viewkeeper.views.deltas import Pair, feed_pairs, table_pairs, weighted
from viewkeeper.views.fill import Input, leaf_input

MOST = 100_000
"""Changes up to which a part is told; with more, comparing all is hardly dearer, and needs no memory."""
SLICE = 1000


class Part(Protocol):
    """Some rows of a view and of its auxiliary tables, and the rows of its input from which they follow."""

    @property
    def size(self) -> int:
        """How many keys, or groups, it has."""

    def input(self, store: EmbeddedStore, bound: BoundViews, one: BoundView, position: int) -> Input: ...

    def items(self, reading: ViewReading, table: StoredTable) -> Iterator[Item]:
        """What is stored of it, by stored key, in order."""


def part_since(store: EmbeddedStore, bound: BoundViews, one: BoundView, since: int, upto: int) -> Part | None:
    """What changes of the input at since <= position < upto have touched; None if all has to be looked at.

    Of a join all has to be: what a change touches is known only by its partners of then. So has all of a view that is
    kept once for each partition.
    """
    if one.is_joined or one.partition is not None:
        return None
    stages = one.program.plan.stages
    sink = stages[0].sink
    by_rows = len(stages) == 1 and one.program.storage is Storage.KEYED
    by_groups = isinstance(sink, AggregateSink) and not sink.is_global and one.program.storage is Storage.MERGED
    if upto - since > MOST or not (by_rows or (by_groups and len(stages) == 2)):
        return None
    try:
        codec, pairs = _changes(store, bound, one, since, upto)
    except NotRetained:
        return None
    rows = [row for pair in pairs for row in pair if row is not None]
    if len(rows) > 2 * MOST:
        return None
    pipe = Pipe(stages[0].linear)
    made, _ = pipe.run(weighted(((None, row) for row in rows), one.leaves[0].columns))
    if by_rows:
        key = RowCodec(one.program.layout).key.encode
        return RowPart(codec, sorted({codec.key.encode(row) for row in rows}), sorted({key(row) for row, _ in made}))
    assert isinstance(sink, AggregateSink)
    stage = StageRunner(sink, one.program.tables.stages[0], one.program)
    epochs = None if one.program.epochs is None else one.program.epochs.table.id
    return GroupPart(pipe, stage, frozenset(reduce_rows(sink, made).groups), epochs)


def _changes(
    store: EmbeddedStore, bound: BoundViews, one: BoundView, since: int, upto: int
) -> tuple[RowCodec, list[Pair]]:
    """The codec of a view's source, and its changes."""
    source = one.leaves[0].object
    below = bound.fed_by(source)
    if below is None:
        pairs = table_pairs(store, frozenset([source]), since, upto)
        return bound.catalog.codecs[source], pairs[source]
    codec = bound.catalog.view_codecs[below.view.id]
    if since < store.offset(store.oldest()):
        raise NotRetained("the feed no longer reaches back to where it was compared last")
    return codec, list(feed_pairs(store, below.view, codec, since, upto))


@dataclass(frozen=True, slots=True)
class RowPart:
    """Of a view that is its source row by row: keys of the source, and keys of the view, both encoded."""

    codec: RowCodec
    source_keys: Sequence[bytes]
    keys: Sequence[bytes]

    @property
    def size(self) -> int:
        return len(self.keys)

    def input(self, store: EmbeddedStore, bound: BoundViews, one: BoundView, position: int) -> Input:
        found: list[Row | None]
        if one.leaves[0].object in bound.catalog.codecs:
            found = store.snapshot(store.position(position)).get_many(self.codec, self.source_keys)
        else:
            below = store.view_tables.as_of(self.codec, position)
            found = [below.get(key) for key in self.source_keys]
        rows = [(key, row) for key, row in zip(self.source_keys, found, strict=True) if row is not None]

        def scan(interval: Interval, limit: int | None) -> Iterator[list[tuple[bytes, Row]]]:
            start = bisect_left(rows, interval.lower, key=lambda item: item[0])
            yield rows[start : None if limit is None else start + limit]

        return Input(position, scan, False)

    def items(self, reading: ViewReading, table: StoredTable) -> Iterator[Item]:
        found = zip(self.keys, reading.get_many(table.number, self.keys), strict=True)
        return iter(sorted((stored_view_key(key), value) for key, value in found if value is not None))


@dataclass(frozen=True, slots=True)
class GroupPart:
    """Of a view that is the groups of one aggregate: some of these. `epochs` is the table of groups by epoch."""

    pipe: Pipe
    stage: StageRunner
    groups: frozenset[Row]
    epochs: int | None

    @property
    def size(self) -> int:
        return len(self.groups)

    def input(self, store: EmbeddedStore, bound: BoundViews, one: BoundView, position: int) -> Input:
        whole = leaf_input(store, bound, one, 0, position)
        pick = picker(one.leaves[0].columns)

        def touched(row: Row) -> bool:
            rows: list[Weighted] = self.pipe.run([(pick(row), 1)])[0]
            return not self.groups.isdisjoint(reduce_rows(self.stage.sink, rows).groups)

        def scan(interval: Interval, limit: int | None) -> Iterator[list[tuple[bytes, Row]]]:
            left = limit
            for chunk in whole.scan(interval, None) if self.groups else ():
                kept = [item for item in chunk if touched(item[1])][:left]
                left = None if left is None else left - len(kept)
                yield kept
                if left == 0:
                    return

        return Input(position, scan, whole.repeats)

    def items(self, reading: ViewReading, table: StoredTable) -> Iterator[Item]:
        if table.is_view or table.number == self.epochs:
            key = self.stage.key if table.is_view else table.codec.key.encode
            keys = [key(group) for group in self.groups]
            found: Iterable[tuple[bytes, bytes | None]] = zip(keys, reading.get_many(table.number, keys), strict=True)
        else:
            prefixes = (table.codec.key.encode_key(group) for group in self.groups)
            found = (item for prefix in prefixes for item in _beginning(reading, table.codec, prefix))
        return iter(sorted((stored_view_key(key), value) for key, value in found if value is not None))


def _beginning(reading: ViewReading, codec: RowCodec, prefix: bytes) -> Iterator[Item]:
    rest = Interval.of_prefix(prefix)
    while items := reading.slice(codec, rest, SLICE):
        yield from items
        rest = Interval(items[-1][0] + b"\0", rest.upper)
