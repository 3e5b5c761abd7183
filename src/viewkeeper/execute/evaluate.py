"""The rows of a relation over a few rows in memory: its delta plan, run once from nothing.

R(rows)  =  Δ R,  where every input was empty and all of its rows come now
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import count, repeat

from viewkeeper.delta.rules import delta_plan
from viewkeeper.delta.tables import plan_tables, with_ids
from viewkeeper.execute.chain import Chain, ViewChanges
from viewkeeper.execute.changetable import Weighted
from viewkeeper.model.picking import picker
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Row
from viewkeeper.plan.relation import Relation, Scan
from viewkeeper.store.groups import ObjectState
from viewkeeper.store.scan import Interval, Item
from viewkeeper.store.viewreading import ViewReading


def evaluate(relation: Relation, rows: Sequence[Iterable[Row]]) -> list[Row]:
    """The rows of a relation in no particular order, each as often as it is there.

    `rows` has for each scan, from left to right, all columns of the scanned table by their ids; of those that the scan
    does not read any value will do. An expression that fails gives NULL.
    """
    return evaluated(relation, rows)[0]


def evaluated(relation: Relation, rows: Sequence[Iterable[Row]]) -> tuple[list[Row], int]:
    """The same, and the weight of the rows on which an expression failed."""
    plan = delta_plan(relation, _no_key)
    chain = Chain(plan, with_ids(plan_tables(plan), count()))
    deltas: list[list[Weighted]] = []
    for leaf, given in zip(plan.leaves(), rows, strict=True):
        pick = picker(leaf.columns)
        deltas.append([(pick(row), 1) for row in given])
    changes = ViewChanges()
    made = _netted(chain.run(deltas, _Nothing(), changes))
    return made, changes.errors


def _no_key(scan: Scan) -> None:
    """Rows are counted, not told apart: what is kept for one run needs no hidden columns."""


class _Nothing(ViewReading):
    """A store in which nothing has been kept yet."""

    def __init__(self) -> None:
        self.asked = {}
        self.found = {}
        self.written = set()

    def object(self, number: int) -> ObjectState:
        return ObjectState(group=0, slot=number)

    def get(self, number: int, key: bytes) -> None:  # noqa: ARG002
        return None

    def get_many(self, number: int, keys: Sequence[bytes]) -> list[bytes | None]:  # noqa: ARG002
        return [None] * len(keys)

    def slice(
        self,
        codec: RowCodec,  # noqa: ARG002
        interval: Interval,  # noqa: ARG002
        count: int,  # noqa: ARG002
        *,
        reverse: bool = False,  # noqa: ARG002
    ) -> list[Item]:
        return []


def _netted(delta: Iterable[Weighted]) -> list[Row]:
    """The rows that are left when what came and went again is taken away; 0.0 is the same as -0.0, NaN as NaN."""
    net: dict[Row, tuple[Row, int]] = {}
    for row, weight in delta:
        same = tuple(map(_comparable, row))
        known = net.get(same)
        # Of rows that are the same one that comes is shown, not one that goes.
        net[same] = (row, weight) if known is None else (row if weight > 0 else known[0], known[1] + weight)
    return [row for one, weight in net.values() for row in repeat(one, weight)]


def _comparable(cell: Cell) -> Cell:
    # A NaN that is not this very one is not found again.
    return math.nan if cell != cell else cell
