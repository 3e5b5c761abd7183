"""How a view is kept: in which environment, and together with which others.

SYNC views are kept beside the tables, and so are LOCAL views of tables. A LOCAL view of a view or an index is kept
where that is, and moves with it: in the transaction that changes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from viewkeeper.model.view import View


class Known(Protocol):
    """What has views by their ids: a catalog."""

    @property
    def views(self) -> Mapping[int, View]: ...


Pace = tuple[str, int | None]
"""A mode and its interval."""


def belongs_beside(catalog: Known, view: View) -> bool:
    """Whether a view is to be kept beside the tables."""
    kept = _keeper(catalog, view)
    return kept.mode in ("SYNC", "LOCAL")


def pace_of(catalog: Known, view: View) -> Pace:
    """By what a view is brought up to date: its mode, or that of what a LOCAL one moves with."""
    kept = _keeper(catalog, view)
    return kept.mode, kept.interval_ms


def reads_latest(catalog: Known, view: View) -> bool:
    """Whether a plain read of a view is up to date though it may lag: a LAZY one, or one on its way to the tables."""
    kept = _keeper(catalog, view)
    return kept.mode == "LAZY" or (kept.mode in ("SYNC", "LOCAL") and not view.in_base)


Tier = tuple[str, int | None, int]
"""A mode, its interval, and how often the mode changes on the way up from the tables."""


def tiers_of(catalog: Known) -> dict[int, Tier]:
    """The tier of each view that maintenance keeps; those that go beside the tables share nothing, and have none.

    Views of one mode with one of another mode between them are apart: as one group, it would wait for that one, and
    that one for it.
    """
    found: dict[int, Tier] = {}
    for number, view in sorted(catalog.views.items()):
        pace = pace_of(catalog, view)
        below = [found[source] for source in view.sources if source in found]
        found[number] = *pace, max((level + ((*own,) != pace) for *own, level in below), default=0)
    return {number: tier for number, tier in found.items() if not belongs_beside(catalog, catalog.views[number])}


def _keeper(catalog: Known, view: View) -> View:
    """The view itself; of a LOCAL one over another, that one."""
    while view.mode == "LOCAL" and len(view.sources) == 1 and view.sources[0] in catalog.views:
        view = catalog.views[view.sources[0]]
    return view
