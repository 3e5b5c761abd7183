"""Random reads of views at positions where they do not stand, against the oracle."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import note
from hypothesis import strategies as st

from tests.oracle import Cells
from tests.views.kept import Base, Truth, bag
from viewkeeper.errors import ViewNotReady
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.view import View
from viewkeeper.read.consistency import Asked, Consistency, at_least
from viewkeeper.read.exactly import view_exactly
from viewkeeper.read.handle import Handle
from viewkeeper.read.now import view_now
from viewkeeper.read.region import WHOLE, Region
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.interface import ALL, Interval, Store
from viewkeeper.views.bound import bound_views

PATHS: Counter[str] = Counter()
"""How many reads were answered which way, over all cases of a run."""


class Folds:
    """Reads of the views of one database, whose tables have stood at some positions."""

    def __init__(self, store: EmbeddedStore, base: Base, positions: list[int], data: st.DataObject) -> None:
        self._store = store
        self._base = base
        self._positions = positions
        self._draw = data.draw
        self._handle = Handle(store, read_only=True)
        self.count = 0

    def check(self, reads: int = 6) -> None:
        """Some reads of each view that is whole, each at some position since it was made."""
        catalog = self._store.catalog()
        states, objects = self._store.view_tables.objects()
        for number, view in sorted(catalog.views.items()):
            place = objects.get(number)
            if place is None or states[place.group].filled is not None:
                continue
            born = max(objects[below].born for below in self._below(number))
            positions = [position for position in self._positions if position >= born]
            for _ in range(reads if positions else 0):
                self._check_one(view, self._draw(st.sampled_from(positions)))

    def _below(self, number: int) -> list[int]:
        found, views = [number], self._store.catalog().views
        for one in found:
            found += [source for source in views[one].sources if source in views]
        return found

    def _check_one(self, view: View, target: int) -> None:
        catalog = self._store.catalog()
        codec = catalog.view_codecs[view.id]
        rows = Truth(bound_views(self._store), self._base, target).rows(view.id)
        region = self._region(view, codec, rows)
        limit, reverse = self._draw(st.sampled_from([None, None, 0, 1, 2, 5])), self._draw(st.booleans())
        what = f"{view.text}\nat {target}: {region}, limit {limit}, reverse {reverse}"
        note(what)
        at, meta = view_exactly(self._handle, catalog, view, [region], target)
        PATHS[meta.path] += 1
        self.count += 1
        visible = view.layout.visible
        found = [
            row[:visible] for chunk in at.scan(codec, region.interval, limit=limit, reverse=reverse) for row in chunk
        ]
        wanted = [row for row in rows if is_in(region.interval, shown_key(view, codec, row))]
        keys = sorted((shown_key(view, codec, row) for row in wanted), reverse=reverse)[:limit]
        assert [shown_key(view, codec, row) for row in found] == keys, (what, found, wanted)
        assert not bag(found) - bag(wanted)
        if limit is None:
            assert bag(found) == bag(wanted)
        if view.key and not view.repeats and view.key == view.layout.key:
            for row in wanted[:2]:
                stored = at.get(codec, shown_key(view, codec, row))
                assert stored is not None
                assert bag([stored[:visible]]) == bag([row])

    def _region(self, view: View, codec: RowCodec, rows: list[Cells]) -> Region:
        """All of a view, or what begins as some row does or did, perhaps from or up to some value."""
        known = [*rows, *self._stored(view, codec)]
        depth = self._draw(st.sampled_from([0, *range(1, len(view.order) + 1), *range(1, len(view.order) + 1)]))
        if not known or not depth:
            return Region()
        some = st.sampled_from(known)
        prefix = cells_of(view, self._draw(some), depth)
        interval = Interval.of_prefix(codec.key.encode_key(prefix))
        if depth < len(view.order):
            for lower in self._draw(st.sampled_from([(), (True,), (False,), (True, False)])):
                bound = codec.key.encode_key((*prefix, cells_of(view, self._draw(some), depth + 1)[-1]))
                interval = interval.intersect(Interval(bound, None) if lower else Interval(b"", bound))
        return Region(interval, prefix)

    def _stored(self, view: View, codec: RowCodec) -> list[Cells]:
        with self._store.view_tables.reading([view.id]) as reading:
            return [codec.decode(value) for _, value in reading.slice(codec, Interval(), 100)]


class Timeline:
    """Reads of whole views through one handle, at any level: each is the view at the position that it tells, covers
    what it was asked to, and never shows what was before an earlier one.
    """

    def __init__(self, handle: Handle, base: Base, positions: list[int], data: st.DataObject) -> None:
        self._handle = handle
        self._base = base
        self._draw = data.draw
        self._seen: dict[str, int] = {}
        self.positions = positions

    def read(self) -> None:
        store, catalog = self._handle.store, self._handle.store.catalog()
        names = sorted({view.name for view in catalog.view_names.values()})
        if not names:
            return
        view = catalog.known_view(self._draw(st.sampled_from(names)))
        level, least = self._level(store)
        note(f"read {view.text} at {level}")
        try:
            reader, meta = view_now(self._handle, catalog, view, WHOLE, Asked(consistency=level))
        except ViewNotReady:
            return
        PATHS[meta.path] += 1
        codec = catalog.view_codecs[view.id]
        rows = [row[: view.layout.visible] for chunk in reader.scan(codec, ALL) for row in chunk]
        position = store.offset(meta.position)
        assert position >= least
        assert bag(rows) == self._truth(store, view, position)
        earlier = self._seen.get(view.name, 0)
        if position < earlier:
            # Nothing of it has changed between: whoever reads it cannot tell.
            for between in self.positions:
                assert not position < between <= earlier or self._truth(store, view, between) == bag(rows)
        self._seen[view.name] = max(position, earlier)

    def _level(self, store: Store) -> tuple[Consistency, int]:
        match self._draw(st.sampled_from(["any", None, "latest", "latest", "at least"])):
            case "at least":
                position = self._draw(st.sampled_from(self.positions))
                return at_least(store.position(position)), position
            case "latest":
                return "latest", store.offset(store.head())
            case level:
                return level, 0

    def _truth(self, store: Store, view: View, position: int) -> Counter[Any]:
        return bag(Truth(bound_views(store), self._base, position).rows(view.id))


def cells_of(view: View, row: Cells, depth: int) -> Cells:
    """The first cells of a row's key."""
    return tuple(row[number] for number, _ in view.order[:depth])


def shown_key(view: View, codec: RowCodec, row: Cells) -> bytes:
    """The beginning of a row's key, as far as it is visible."""
    key: bytes = codec.key.encode_key(cells_of(view, row, len(view.order)))
    return key


def is_in(interval: Interval, key: bytes) -> bool:
    """Whether keys that begin so are in an interval whose ends are visible."""
    return key in interval


def total(paths: dict[str, Any]) -> str:
    return ", ".join(f"{count:,} {path}" for path, count in sorted(paths.items()))
