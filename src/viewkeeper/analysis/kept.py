"""What is said of a view is kept: it depends on the view and on what that is made of, whatever else a schema has."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from viewkeeper.analysis.schema import Schema, Stored
from viewkeeper.plan.relation import scans

T = TypeVar("T")
MOST = 2_048
"""Views of which one thing is kept."""


class _Same:
    """Objects that are looked up by identity: the same ones are in many schemas."""

    __slots__ = ("objects",)

    def __init__(self, *objects: Stored) -> None:
        self.objects = objects

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.objects)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same) or len(self.objects) != len(other.objects):
            return False
        return all(one is another for one, another in zip(self.objects, other.objects, strict=True))


def kept_by_view(function: Callable[[Stored, Schema], T]) -> Callable[[Stored, Schema], T]:
    """A function of a view that looks at nothing in a schema but the view and what it is made of."""

    @lru_cache(maxsize=MOST)
    def kept(same: _Same) -> T:
        view, *below = same.objects
        return function(view, Schema({**{one.id: one for one in below}, view.id: view}))

    @wraps(function)
    def found(view: Stored, schema: Schema) -> T:
        return kept(_Same(view, *_made_of(view, schema)))

    return found


def _made_of(view: Stored, schema: Schema) -> list[Stored]:
    """The tables and views that a view reads, and that those read."""
    found: dict[int, Stored] = {}
    pending = [view]
    while pending:
        for number in _scanned(_Same(pending.pop())):
            one = schema.objects.get(number)
            if one is not None and number not in found:
                found[number] = one
                pending.append(one)
    return list(found.values())


@lru_cache(maxsize=MOST)
def _scanned(same: _Same) -> tuple[int, ...]:
    (view,) = same.objects
    return () if view.plan is None else tuple(dict.fromkeys(scan.object for scan in scans(view.plan)))
