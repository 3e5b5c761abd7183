"""The stored rows that a relation that is computed whole needs of its leaves, read in this process.

The rows of a leaf by which another is looked up are read first; each value is looked up once, however many have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from viewkeeper.execute.changetable import Weighted
from viewkeeper.execute.recompute import recompute
from viewkeeper.execute.rows.expr import Failures, compile_row
from viewkeeper.model.picking import picker
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Row
from viewkeeper.plan.lookedup import LookedUp, Read
from viewkeeper.plan.relation import Relation, Scan, scans
from viewkeeper.store.interface import Store
from viewkeeper.store.scan import ALL, Interval
from viewkeeper.views.bound import BoundViews
from viewkeeper.views.firstrows import Scanning, part_rows, reads_in, stored_as_of

Every = Callable[[int], list[Weighted]]
"""All rows of a leaf by its number, with their weights."""


def needed_rows(
    store: Store, bound: BoundViews, relation: Relation, position: int, every: Every | None = None
) -> list[list[Weighted]]:
    """The rows of each leaf as they are stored, with their weights, as of a position; NotRetained if that is gone.

    `every` reads leaves of which all rows are needed, if something else than the store is to be asked for them.
    """
    needed = _Needed(store, bound, list(scans(relation)), reads_in(bound, relation), position, every)
    return [needed.rows(leaf) for leaf in range(len(needed.leaves))]


@dataclass(frozen=True, slots=True)
class _Needed:
    store: Store
    bound: BoundViews
    leaves: list[Scan]
    reads: list[Read]
    position: int
    every: Every | None
    known: dict[int, list[Weighted]] = field(default_factory=dict)

    def rows(self, leaf: int) -> list[Weighted]:
        if leaf not in self.known:
            read = self.reads[leaf]
            if read is None and self.every is not None:
                self.known[leaf] = self.every(leaf)
            else:
                self.known[leaf] = list(self._read(leaf, read))
        return self.known[leaf]

    def _read(self, leaf: int, read: Read) -> Iterator[Weighted]:
        source = self.leaves[leaf].object
        codec, scan = stored_as_of(self.store, self.bound, source, self.position)
        chunks: Iterable[list[tuple[bytes, Row]]]
        if read is None:
            chunks = scan(ALL, None, False)
        elif isinstance(read, LookedUp):
            chunks = found_rows(prefixes(codec, read, self._made(read)), scan)
        else:
            parts = range(1 if read.parts is None else read.parts)
            chunks = (chunk for part in parts for chunk in part_rows(codec, read, part, scan))
        repeats = self.bound.repeats(source)
        for chunk in chunks:
            yield from with_weights(chunk, repeats)

    def _made(self, read: LookedUp) -> list[Row]:
        """The rows of the arm that a leaf is looked up by."""
        pick = picker(self.leaves[read.leaf].columns)
        given = [again for row, weight in self.rows(read.leaf) for again in [pick(row)] * weight]
        return recompute(read.arm, [given])[0]


def with_weights(rows: Iterable[tuple[bytes, Row]], repeats: bool) -> list[Weighted]:
    """Stored rows with how often each is there."""
    return [(row, int(row[-1]) if repeats else 1) for _, row in rows]  # type: ignore[arg-type]


def prefixes(codec: RowCodec, read: LookedUp, rows: Iterable[Row]) -> set[bytes]:
    """What the keys of the rows begin with that are looked up by rows of an arm."""
    values, failures = compile_row(read.by), Failures()
    given = (values(row, failures) for row in rows)
    return {codec.key.encode_key(cells) for cells in given if not any(cell is None for cell in cells)}


def found_rows(keys: Iterable[bytes], scan: Scanning) -> Iterator[list[tuple[bytes, Row]]]:
    """The rows whose keys begin with one of these, none of which begins with another."""
    for prefix in sorted(keys):
        yield from scan(Interval.of_prefix(prefix), None, False)
