"""What is read of the leaves of a view: all rows, or, where it is computed whole, those that plan/lookedup.py tells."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from viewkeeper.delta.joinplan import WholeSource
from viewkeeper.errors import ViewNotReady
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.plan.lookedup import LookedUp, Read, reads_of
from viewkeeper.plan.relation import Relation, Scan, scans
from viewkeeper.plan.staging import FirstRows, Key, parts_of
from viewkeeper.store.interface import Store
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.views.bound import BoundView, BoundViews

ROWS_A_LOOKUP = 8
"""Rows that a lookup is taken to find where it is chosen how to read them."""

Scanning = Callable[[Interval, int | None, bool], Iterator[list[tuple[bytes, Row]]]]
"""The stored rows of an interval with their keys, at most so many, in stored order or in its reverse."""


def reads_in(bound: BoundViews, relation: Relation) -> list[Read]:
    """For each scan of a relation, from left to right, which rows are enough; None if it is all of them."""
    return reads_of(relation, lambda scan: _key_of(bound, scan))


def _key_of(bound: BoundViews, scan: Scan) -> tuple[Key, int | None] | None:
    catalog = bound.catalog
    view = catalog.views.get(scan.object)
    if view is None:
        table = catalog.tables[scan.object]
        return list(zip(table.key_ids, table.descending, strict=True)), None
    if view.parts:
        # One table for each partition, none of which has the first rows of all.
        return None
    key = list(zip(view.layout.key, view.layout.descending, strict=True))
    below = bound.get(view.id)
    parts = None
    if below is not None and key and key[0][0] < view.layout.visible:
        parts = parts_of(below.statement.plan, key[0][0])
    return key, parts


def leaf_sizes(store: Store, bound: BoundViews, one: BoundView) -> list[int]:
    """How many rows a view reads of each leaf, about."""
    return _sizes(store, bound, [leaf.object for leaf in one.leaves], leaf_reads(bound, one))


def relation_rows(store: Store, bound: BoundViews, relation: Relation) -> int:
    """How many rows a relation reads that is computed whole, about."""
    return sum(_sizes(store, bound, [scan.object for scan in scans(relation)], reads_in(bound, relation)))


def _sizes(store: Store, bound: BoundViews, objects: list[int], reads: list[Read]) -> list[int]:
    rows = [leaf_rows(store, bound, number) for number in objects]

    def size(leaf: int) -> int:
        match reads[leaf]:
            case FirstRows(is_exact=True) as first:
                return min(rows[leaf], first.most)
            case LookedUp(leaf=source):
                given = reads[source]
                values = given.count if isinstance(given, FirstRows) else size(source)
                return min(rows[leaf], values * ROWS_A_LOOKUP)
        # How many rows are equal to a last one nobody knows: a large object is then read on Spark.
        return rows[leaf]

    return [size(leaf) for leaf in range(len(objects))]


def leaf_reads(bound: BoundViews, one: BoundView) -> list[Read]:
    """For each leaf, which rows are enough; None if it is all of them."""
    source = one.program.plan.source
    return reads_in(bound, source.relation) if isinstance(source, WholeSource) else [None] * len(one.leaves)


def leaf_rows(store: Store, bound: BoundViews, source: int) -> int:
    """How many rows a table or view has, about."""
    if source in bound.catalog.codecs:
        return store.row_count(bound.catalog.codecs[source])
    try:
        with store.view_tables.reading([source]) as reading:
            return reading.rows(source)
    except ViewNotReady:
        return 0


def part_interval(codec: RowCodec, first: FirstRows, part: int) -> Interval:
    """Where the rows of a part are; all are in part 0 if there are none."""
    return ALL if first.parts is None else Interval.of_prefix(codec.key.encode_key((part,)))


def part_rows(codec: RowCodec, first: FirstRows, part: int, scan: Scanning) -> Iterator[list[tuple[bytes, Row]]]:
    """The rows that are needed of one part, in lists; `scan` reads the object."""
    if not first.count:
        return
    within = part_interval(codec, first, part)
    found = 0
    rows: list[tuple[bytes, Row]] = []
    for rows in scan(within, first.count, first.reverse):
        found += len(rows)
        yield rows
    if first.is_exact or found < first.count:
        return
    key, row = rows[-1]
    equal = Interval.of_prefix(codec.key.encode_key(codec.key.key_of(row)[: first.decided]))
    behind = Interval(b"", key) if first.reverse else Interval(key + b"\0")
    yield from scan(within.intersect(equal).intersect(behind), None, first.reverse)


def stored_as_of(store: Store, bound: BoundViews, source: int, position: int) -> tuple[RowCodec, Scanning]:
    """How the rows of a table or view are stored, and what reads them as of a position; NotRetained if that is gone."""
    if bound.fed_by(source) is None:
        codec = bound.catalog.codecs[source]
        snapshot = store.snapshot(store.position(position))
        return codec, lambda interval, limit, reverse: snapshot.scan_keyed(
            codec, interval, limit=limit, reverse=reverse
        )
    codec = bound.catalog.view_codecs[source]
    lower = store.view_tables.as_of(codec, position)
    return codec, lambda interval, limit, reverse: lower.scan_keyed(interval, limit=limit, reverse=reverse)
