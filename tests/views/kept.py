"""Views as they are stored, and what they have to be: the oracle over a model of the history of tables."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any, NoReturn

from tests.oracle import Cells, evaluate, hashable
from tests.views.failures import failing
from viewkeeper.model.view import View
from viewkeeper.pipeline.maintainer import Maintainer, Round
from viewkeeper.plan.relation import Scan
from viewkeeper.read.beside import beside_at
from viewkeeper.store import insync
from viewkeeper.store.applying import Counted
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState
from viewkeeper.store.scan import ALL
from viewkeeper.views.bound import BoundViews, bound_views

Base = Callable[[int, int], list[Cells]]
"""The rows of a table, which has this id, at a position."""


class NoSpark:
    """What a maintainer has for Spark where all its work is small."""

    def session(self) -> NoReturn:
        raise AssertionError("small work was given to Spark")


def maintainer(store: EmbeddedStore, **options: Any) -> Maintainer:
    return Maintainer(store, NoSpark(), **options)  # type: ignore[arg-type]


def finish(maintaining: Maintainer, until: int | None = None) -> list[Round]:
    """Rounds until nothing is left to do; they are few, or something hangs."""
    rounds = [maintaining.round(until)]
    while rounds[-1].left:
        assert len(rounds) < 200, "the maintainer does not come to an end"
        rounds.append(maintaining.round(until))
    return rounds


def shown(store: EmbeddedStore, view: View) -> list[Cells]:
    """What a view shows, each row as often as it is there."""
    codec = store.catalog().view_codecs[view.id]
    if view.in_base:
        catalog = store.catalog()
        chunks = list(beside_at(store, catalog, view, store.snapshot()).scan(codec, ALL))
        return [row[: view.layout.visible] for chunk in chunks for row in chunk]
    with store.view_tables.reading([view.id]) as reading:
        rows = [codec.decode(value) for _, value in reading.slice(codec, ALL, 1 << 20)]
        found = [row[: view.layout.visible] for row in rows for _ in range(_weight(view, row))]
        assert reading.rows(view.id) == len(found)
    return found


def _weight(view: View, row: Cells) -> int:
    weight = row[-1] if view.repeats else 1
    assert isinstance(weight, int)
    return weight


def group_of(store: EmbeddedStore, view: View) -> GroupState | None:
    """The state of a view's group; None if it has none yet."""
    states, objects = store.view_tables.objects()
    return states[objects[view.id].group] if view.id in objects else None


class Truth:
    """What views are at a position."""

    def __init__(self, bound: BoundViews, base: Base, position: int) -> None:
        self._bound = bound
        self._base = base
        self._position = position

    def table(self, scan: Scan) -> list[Cells]:
        if self._bound.get(scan.object) is not None:
            return self.rows(scan.object)
        return self._base(scan.object, self._position)

    def rows(self, number: int) -> list[Cells]:
        """What a view shows; behind that, its plan may have hidden columns."""
        one = self._bound.get(number)
        assert one is not None
        statement = one.statement
        assert statement.plan is not None
        return [row[: len(statement.visible)] for row in evaluate(statement.plan, self.table)]

    def errors(self, number: int) -> int:
        one = self._bound.get(number)
        assert one is not None
        assert one.statement.plan is not None
        return failing(one.statement.plan, self.table)


def check_views(store: EmbeddedStore, base: Callable[[int], list[Cells]]) -> int:
    """As `check_joins`, where there is one table; `base` gives its rows at a position."""
    return check_joins(store, lambda _, position: base(position))


def check_joins(store: EmbeddedStore, base: Base) -> int:
    """Each view that is whole shows what it has to at its watermark, as bags, and counts its errors; how many are."""
    bound = bound_views(store)
    assert not bound.failed
    states, objects = store.view_tables.objects()
    head = store.offset(store.head())
    whole = [view for view in bound.catalog.views.values() if view.in_base or _is_whole(view.id, states, objects)]
    for view in whole:
        truth = Truth(bound, base, head if view.in_base else states[objects[view.id].group].watermark)
        assert bag(shown(store, view)) == bag(truth.rows(view.id)), view.text
        if not view.in_base:
            assert objects[view.id].errors == truth.errors(view.id), view.text
        elif not view.parts:
            assert counted_beside(store, view).errors == truth.errors(view.id), view.text
    return len(whole)


def counted_beside(store: EmbeddedStore, view: View) -> Counted:
    txn, catalog = store.begin_read()
    with txn:
        return insync.counters(txn, catalog, view.id)


def _is_whole(number: int, states: dict[int, GroupState], objects: dict[int, Any]) -> bool:
    return number in objects and states[objects[number].group].filled is None


def bag(rows: list[Cells]) -> Counter[Any]:
    """Rows with their number; doubles to nine digits, since sums of them depend on the order."""
    return Counter(hashable(tuple(map(_rounded, row))) for row in rows)


def _rounded(cell: Any) -> Any:
    if isinstance(cell, float) and math.isfinite(cell):
        return float(f"{cell:.9g}") + 0.0
    return cell
