"""The terms of an inner join: from each side, in which order and by which indexes the others are found.

Equalities make classes of what is equal: with a.x = b.y and b.y = c.z a row of `a` finds those of `c` by x as well. A
side is looked up by all that is known of it at that point, so that nothing is left to be checked.
"""

from __future__ import annotations

from collections.abc import Sequence

from viewkeeper.delta.joinplan import Index, InnerSource, Probe, Side
from viewkeeper.delta.sides import numbers_shown
from viewkeeper.plan.expr import Expr, Input

Of = tuple[int, Expr]
"""An expression over the rows of a side."""


def classes_of(equalities: Sequence[tuple[Of, Of]]) -> list[dict[int, list[Expr]]]:
    """What is equal, by side, in the order of the equalities.

    >>> from viewkeeper.model.types import INT
    >>> x, y = Input(0, INT), Input(1, INT)
    >>> classes_of([((0, x), (1, x)), ((1, y), (2, y)), ((1, x), (2, x))]) == [
    ...     {0: [x], 1: [x], 2: [x]}, {1: [y], 2: [y]}]
    True
    """
    found: list[list[Of]] = []
    for pair in equalities:
        touched = [members for members in found if any(one in members for one in pair)]
        merged = list(dict.fromkeys([*(one for members in touched for one in members), *pair]))
        place = found.index(touched[0]) if touched else len(found)
        found = [members for members in found if members not in touched]
        found.insert(place, merged)
    by_side: list[dict[int, list[Expr]]] = []
    for members in found:
        sides: dict[int, list[Expr]] = {}
        for side, expr in members:
            sides.setdefault(side, []).append(expr)
        by_side.append(sides)
    return by_side


def inner_source(sides: tuple[Side, ...], classes: Sequence[dict[int, list[Expr]]]) -> InnerSource:
    """The join of sides by the first expression that each class has of them."""
    planner = _Planner(sides, [{side: exprs[0] for side, exprs in one.items()} for one in classes])
    terms = tuple(planner.term(start) for start in range(len(sides)))
    return InnerSource(sides, tuple(planner.indexes), terms, numbers_shown(sides))


class _Planner:
    def __init__(self, sides: tuple[Side, ...], classes: list[dict[int, Expr]]) -> None:
        self._sides = sides
        self._classes = classes
        self.indexes: dict[Index, int] = {}

    def term(self, start: int) -> tuple[Probe, ...]:
        bound = [start]
        probes: list[Probe] = []
        while len(bound) < len(self._sides):
            probe = min(self._candidates(bound), key=self._preference)[1]
            number = self.indexes.setdefault(probe[0], len(self.indexes))
            probes.append(Probe(number, probe[1]))
            bound.append(probe[0].side)
        return tuple(probes)

    def _candidates(self, bound: list[int]) -> list[tuple[int, tuple[Index, tuple[Of, ...]]]]:
        found = []
        for side in range(len(self._sides)):
            if side in bound:
                continue
            known = [
                (one[side], next((other, one[other]) for other in bound if other in one))
                for one in self._classes
                if side in one and any(other in one for other in bound)
            ]
            if known:
                index = Index(side, tuple(expr for expr, _ in known))
                found.append((side, (index, tuple(by for _, by in known))))
        return found

    def _preference(self, candidate: tuple[int, tuple[Index, tuple[Of, ...]]]) -> tuple[bool, bool, int]:
        """At most one row first, then what is indexed already, then the order of the text."""
        side, (index, _) = candidate
        key = self._sides[side].key
        columns = {expr.index for expr in index.key if isinstance(expr, Input)}
        return key is None or not columns.issuperset(key), index not in self.indexes, side
