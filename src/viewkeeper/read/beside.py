"""Views that are kept beside the tables: always as far as these, and read as they are.

One that is kept apart for each partition is read from all of them, and put together on the way: in key order, each key
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import merge
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from viewkeeper.errors import NotRetained
from viewkeeper.model.position import Position
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.schema import Table
from viewkeeper.model.types import Row
from viewkeeper.model.view import View
from viewkeeper.read.viewat import repeated
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.interface import Catalog, Interval, Snapshot, Store
from viewkeeper.store.undo import Keyed

if TYPE_CHECKING:
    from viewkeeper.execute.merging import Merge

CHUNK = 256


class BesideAt:
    """A view at the position of a snapshot of the tables."""

    def __init__(self, snapshot: Snapshot, view: View) -> None:
        self._snapshot = snapshot
        self._view = view

    @property
    def position(self) -> Position:
        return self._snapshot.position

    def get(self, codec: RowCodec, key: bytes) -> Row | None:
        return self._snapshot.get(codec, key)

    def scan(
        self, codec: RowCodec, interval: Interval, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[list[Row]]:
        """The stored rows of an interval in key order, in lists; `limit` counts a row as often as it weighs."""
        chunks = self._snapshot.scan(codec, interval, limit=limit, reverse=reverse)
        return repeated(chunks, limit) if self._view.repeats else chunks


class OwnTable:
    """A table of a view at the position of a snapshot, with rows that a transaction has not committed."""

    def __init__(self, snapshot: Snapshot, codec: RowCodec, changes: Mapping[bytes, RawChange]) -> None:
        self._snapshot = snapshot
        self._codec = codec
        self._rows = {key: None if after is None else codec.decode(after) for key, (_, after) in changes.items()}

    def get(self, key: bytes) -> Row | None:
        return self._rows[key] if key in self._rows else self._snapshot.get(self._codec, key)

    def scan_keyed(self, interval: Interval, *, limit: int | None, reverse: bool) -> Iterator[list[Keyed]]:
        own = {key: row for key, row in self._rows.items() if key in interval}
        if not own:
            return self._snapshot.scan_keyed(self._codec, interval, limit=limit, reverse=reverse)
        # As many stored rows may be hidden as the transaction has written.
        wanted = None if limit is None else limit + len(own)
        chunks = self._snapshot.scan_keyed(self._codec, interval, limit=wanted, reverse=reverse)
        rows: dict[bytes, Row | None] = {key: row for chunk in chunks for key, row in chunk}
        if wanted is not None and len(rows) >= wanted:
            last = next(reversed(rows))
            own = {key: row for key, row in own.items() if (key >= last if reverse else key <= last)}
        rows.update(own)
        found = [(key, row) for key, row in sorted(rows.items(), reverse=reverse) if row is not None]
        return iter([found[:limit]])


class PartsAt:
    """A view that is kept once for each partition, or has rows that are not committed; one table for each."""

    def __init__(self, position: Position, view: View, tables: list[OwnTable], merge: Callable[[], Merge]) -> None:
        self.position = position
        self._view = view
        self._tables = tables
        self._merge = merge

    def get(self, codec: RowCodec, key: bytes) -> Row | None:  # noqa: ARG002  each partition has its own
        found = [row for table in self._tables if (row := table.get(key)) is not None]
        return self._merge()(found) if found else None

    def scan(
        self,
        codec: RowCodec,  # noqa: ARG002  each partition has its own
        interval: Interval,
        *,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[list[Row]]:
        # A key that is among the first ones of all is among the first ones of each partition that has it.
        scans = [table.scan_keyed(interval, limit=limit, reverse=reverse) for table in self._tables]
        parts = [chain.from_iterable(scan) for scan in scans]
        put_together = self._merge()
        ordered = groupby(merge(*parts, key=itemgetter(0), reverse=reverse), key=itemgetter(0))
        rows = islice((put_together([row for _, row in items]) for _, items in ordered), limit)
        chunks = iter(lambda: list(islice(rows, CHUNK)), [])
        return repeated(chunks, limit) if self._view.repeats else chunks


def looks_of(source: Table | View) -> int:
    """How many operations a get or a range read of a table or view is."""
    return len(source.tables) if isinstance(source, View) else 1


def get_beside(store: Store, catalog: Catalog, view: View, codec: RowCodec, key: bytes) -> dict[str, Any] | None:
    """The row of an encoded key as it is now; None if there is none."""
    if view.parts:
        row = beside_at(store, catalog, view, store.snapshot()).get(codec, key)
        return None if row is None else codec.to_dict(row)
    value = store.get_row(view.id, key)
    return None if value is None else codec.to_dict(codec.decode(value))


Own = Mapping[int, Mapping[bytes, RawChange]]
"""By table of a view, what a transaction has changed in it and not committed."""


def beside_at(
    store: Store, catalog: Catalog, view: View, snapshot: Snapshot, own: Own | None = None
) -> BesideAt | PartsAt:
    """A view that is kept beside the tables, as a snapshot of these has it, with what only a transaction sees."""
    if store.offset(snapshot.position) < view.since:
        raise NotRetained(
            f'view "{view.name}" is not kept at position {snapshot.position}',
            detail=f"It follows each write since {store.position(view.since)}.",
            hint="Read it as of a later position.",
        )
    if not view.parts and not own:
        return BesideAt(snapshot, view)

    def put_together() -> Merge:
        from viewkeeper.execute.merging import merger
        from viewkeeper.views.bound import bound_in

        one = bound_in(store, catalog).get(view.id)
        assert one is not None
        return merger(one.program)

    tables = [OwnTable(snapshot, catalog.view_codecs[number], (own or {}).get(number, {})) for number in view.tables]
    return PartsAt(snapshot.position, view, tables, put_together)
