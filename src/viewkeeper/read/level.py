"""The level of a view in a status: analysed when it is first looked at, and once for each version of the catalog.

What analyses takes as long to import as everything else together, and most who ask for a status want to know how far a
view is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, overload
from weakref import WeakKeyDictionary

from viewkeeper.store.interface import Catalog, Store

NO_LEVEL = "-"
"""The level of a view that cannot be analysed."""

_levels: WeakKeyDictionary[Store, tuple[bytes, Mapping[int, str]]] = WeakKeyDictionary()


class Level:
    """A field of a dataclass without slots: given as a text, or as what computes it."""

    @overload
    def __get__(self, instance: None, owner: type) -> Level: ...
    @overload
    def __get__(self, instance: object, owner: type) -> str: ...
    def __get__(self, instance: Any, owner: type) -> Level | str:
        if instance is None:
            # So that a dataclass sees no default.
            raise AttributeError
        found: str | Callable[[], str] = instance.__dict__["level"]
        if not isinstance(found, str):
            found = instance.__dict__["level"] = found()
        return found

    def __set__(self, instance: Any, value: str | Callable[[], str]) -> None:
        instance.__dict__["level"] = value


LEVEL = Level()


def level_of(store: Store, catalog: Catalog, view: int) -> str:
    """The level of a view of a catalog, also when the store is closed."""
    known = _levels.get(store)
    if known is None or known[0] != catalog.version:
        from viewkeeper.views.bound import bound_in
        from viewkeeper.views.scaling import levels_of

        known = _levels[store] = catalog.version, levels_of(bound_in(store, catalog))
    return known[1].get(view, NO_LEVEL)
