"""The window functions of one SELECT: each different one once, over columns that are computed below."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viewkeeper.model.types import Cell, Type
from viewkeeper.plan.aggregate import AggregateKind
from viewkeeper.plan.expr import Expr, Input
from viewkeeper.plan.relation import Project, Relation
from viewkeeper.plan.whole import Frame, Sort, Window, WindowCall, WindowKind
from viewkeeper.sql.query.outputs import distinct_names

FIRST = 1 << 32
"""To expressions of a SELECT its window functions are inputs from here on."""

Ordered = tuple[Expr, bool]
"""What rows are ordered by, and whether it descends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A window call over the rows, or groups, of a SELECT."""

    kind: WindowKind | AggregateKind
    argument: Expr | None
    partition: tuple[Expr, ...]
    order: tuple[Ordered, ...]
    frame: Frame
    type: Type
    count: int = 1
    default: Cell = None


class Windows:
    """Collects the window functions of a SELECT, and puts them over its rows or groups."""

    def __init__(self) -> None:
        self.calls: list[Wanted] = []
        self._approximate: list[bool] = []
        self._start = 0

    def add(self, wanted: Wanted, *, approximate: bool) -> Input:
        if wanted not in self.calls:
            self.calls.append(wanted)
            self._approximate.append(approximate)
        return Input(FIRST + self.calls.index(wanted), wanted.type)

    def is_approximate(self, place: int) -> bool:
        return self._approximate[place - FIRST]

    def over(self, relation: Relation, lift: Callable[[Expr], Expr]) -> Relation:
        """The relation with a column behind it for each call; `lift` makes an expression one over the relation."""
        if not self.calls:
            return relation
        fields = relation.fields
        exprs: list[Expr] = [Input(place, field.type) for place, field in enumerate(fields)]

        def place_of(expr: Expr) -> int:
            lifted = lift(expr)
            if lifted not in exprs:
                exprs.append(lifted)
            return exprs.index(lifted)

        calls = tuple(_call(wanted, place_of) for wanted in self.calls)
        names = distinct_names([*(field.name for field in fields), *("value" for _ in exprs[len(fields) :])])
        if len(exprs) > len(fields):
            relation = Project(relation, tuple(exprs), tuple(names))
        self._start = len(exprs)
        shown = distinct_names([*names, *(_name(call) for call in calls)])[len(names) :]
        return Window(relation, calls, tuple(shown))

    def moved(self, column: Input) -> Input:
        """Where an input of the SELECT is, once the calls are behind its rows."""
        return column if column.index < FIRST else Input(self._start + column.index - FIRST, column.type)


def _call(wanted: Wanted, place_of: Callable[[Expr], int]) -> WindowCall:
    return WindowCall(
        kind=wanted.kind,
        argument=None if wanted.argument is None else place_of(wanted.argument),
        partition=tuple(map(place_of, wanted.partition)),
        order=tuple(Sort(place_of(expr), descending) for expr, descending in wanted.order),
        frame=wanted.frame,
        type=wanted.type,
        source=None if wanted.argument is None else wanted.argument.type,
        count=wanted.count,
        default=wanted.default,
    )


def _name(call: WindowCall) -> str:
    return "count" if call.kind is AggregateKind.COUNT_ROWS else str(call.kind).lower()
