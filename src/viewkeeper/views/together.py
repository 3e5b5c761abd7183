"""The tables of a LOCAL view put together: what is kept apart for each partition, as one view would have it."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter

from viewkeeper.delta.program import Program
from viewkeeper.execute.merging import GroupMerger, added, merger
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.model.view import View
from viewkeeper.store.scan import Item
from viewkeeper.store.viewreading import ViewReading


def put_together(reading: ViewReading, view: View, program: Program) -> Iterator[tuple[int, Iterator[Item]]]:
    """The stored rows of each table of a view, by its id, in the order of their keys; the view itself comes last.

    `program` is that of the whole. Each table has to be taken before the next one is asked for.
    """
    different: list[dict[Row, int]] = []
    for place, (number, layout) in enumerate(zip(view.auxiliary, program.auxiliary(), strict=True), 1):
        counts: dict[Row, int] = {}
        different.append(counts)
        parts = [part[place] for part in view.parts]
        yield number, _values(reading, [number, *parts], RowCodec(layout), counts)
    yield view.id, _rows(reading, view, program, different)


def _by_key(reading: ViewReading, numbers: list[int]) -> Iterator[tuple[bytes, list[bytes]]]:
    items = merge(*map(reading.stored, numbers), key=itemgetter(0))
    for key, group in groupby(items, key=itemgetter(0)):
        yield key, [value for _, value in group]


def _values(reading: ViewReading, numbers: list[int], codec: RowCodec, counts: dict[Row, int]) -> Iterator[Item]:
    """Values of groups: their weights add up; and how many different ones a group has is counted."""
    for key, stored in _by_key(reading, numbers):
        rows = [codec.decode(value) for value in stored]
        group = rows[0][:-2]
        counts[group] = counts.get(group, 0) + 1
        yield key, stored[0] if len(stored) == 1 else codec.encode(added(rows))


def _rows(reading: ViewReading, view: View, program: Program, different: list[dict[Row, int]]) -> Iterator[Item]:
    codec = RowCodec(program.layout)
    together = merger(program)
    for key, stored in _by_key(reading, list(view.tables)):
        if len(stored) == 1:
            yield key, stored[0]
            continue
        rows = [codec.decode(value) for value in stored]
        if isinstance(together, GroupMerger):
            group = together.group(rows[0])
            row = together.merged(rows, [counts.get(group, 0) for counts in different])
        else:
            row = together(rows)
        yield key, codec.encode(row)
