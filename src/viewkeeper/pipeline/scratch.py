"""A store whose view tables are elsewhere: views are computed into a temporary folder as of a position of the real one.

Everything but the view tables is the real store's: tables and log as of any position, and the views below that are not
computed here. What fills a view for the first time therefore fills it here too.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.environment import MAP_SIZE, Environment
from viewkeeper.store.groups import GroupState
from viewkeeper.store.viewreading import ViewReading
from viewkeeper.store.viewsnapshot import ViewSnapshot
from viewkeeper.store.viewstore import NAMES, ViewStore
from viewkeeper.views.bound import BoundView


class ScratchViews(ViewStore):
    """The view tables of a scratch store; of objects that are not in it, those of the real store."""

    def __init__(self, scratch: Scratch) -> None:
        super().__init__(cast("EmbeddedStore", scratch))
        self._real = scratch.real.view_tables
        self._own: set[int] = set()

    def begin(self, one: BoundView, state: GroupState) -> None:
        """Make the objects of a view, with all its parts, to be filled as of where it stands in the real store."""
        self._own.update(one.whole.objects)
        place = (state.watermark, state.transaction, state.committed_at)
        self.create_group(one.whole.id, one.whole.objects, *place, filled=b"")

    def has(self, number: int) -> bool:
        return number in self._own

    def reading(self, objects: Sequence[int], *, filling: bool = False) -> ViewReading:
        if self._own.isdisjoint(objects):
            return self._real.reading(objects, filling=filling)
        return super().reading(objects, filling=filling)

    def as_of(self, codec: RowCodec, offset: int) -> ViewSnapshot:
        return super().as_of(codec, offset) if self.has(codec.table.id) else self._real.as_of(codec, offset)


class Scratch:
    """Looks like the store that it stands beside, but for its view tables."""

    def __init__(self, real: EmbeddedStore, folder: Path) -> None:
        self.real = real
        self.naming = threading.RLock()
        path = folder / "views"
        path.mkdir()
        self.views = Environment(
            path, read_only=False, sync=False, metasync=False, map_size=MAP_SIZE, short_writes=False, make=True
        )
        with self.views.begin(write=True) as txn:
            for name in NAMES:
                self.views.database(name, txn)
        self.view_tables = ScratchViews(self)

    @property
    def store(self) -> EmbeddedStore:
        """Itself, for whoever asks for a store."""
        return cast("EmbeddedStore", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@contextmanager
def scratch_folder(within: Path | None = None) -> Iterator[Path]:
    """A temporary folder, in the system's unless told; gone afterwards, also after an error."""
    with TemporaryDirectory(prefix="viewkeeper-", dir=within) as path:
        yield Path(path)


@contextmanager
def scratch_store(real: EmbeddedStore, folder: Path) -> Iterator[Scratch]:
    scratch = Scratch(real, folder)
    try:
        yield scratch
    finally:
        scratch.views.close()
