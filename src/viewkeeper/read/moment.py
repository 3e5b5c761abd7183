"""All that a query reads, as of one position: an entry of an index and the row that it is of belong together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from viewkeeper.model.schema import Table
from viewkeeper.model.view import View
from viewkeeper.read.bykey import Reader
from viewkeeper.read.region import Region
from viewkeeper.read.rows import ReadMeta

Regions: TypeAlias = Callable[[], Sequence[Region]]
"""What is going to be read of a view, should that matter."""
ViewAs: TypeAlias = Callable[[View, Regions], tuple[Reader, ReadMeta | None]]
"""Gives a view to read these regions of; and how that was done, unless it was read as it is."""

_PATHS = ("table", "view", "unaffected", "folded", "pipeline")
"""Ways to answer, from the plainest on: a query tells the last one that one of its reads took."""


@dataclass(slots=True, kw_only=True)
class Moment:
    """The sources of one query. It is for one run, whose `meta` it has.

    `tables` has the rows of the tables. `again`, if there is one, gives another moment, for a run that could not be
    finished at this one.

    A transaction has its own: `Moment(meta=ReadMeta(path="table", position=transaction.position), tables=lambda:
    transaction, view_as=…)`, where the views are as uncommitted.py gives them.
    """

    meta: ReadMeta
    tables: Callable[[], Reader]
    view_as: ViewAs
    again: Callable[[], Moment] | None = None

    def reader(self, source: Table | View, regions: Regions) -> Reader:
        """What has the rows of a table or view; of a view no others than those of the regions may be read."""
        if not isinstance(source, View):
            return self.tables()
        reader, told = self.view_as(source, regions)
        meta = self.meta
        meta.path = max(meta.path, "view" if told is None else told.path, key=_PATHS.index)
        if told is not None:
            meta.folded_changes += told.folded_changes
            meta.fold_ms += told.fold_ms
            meta.moved += told.moved
            meta.waited_ms += told.waited_ms
        return reader
