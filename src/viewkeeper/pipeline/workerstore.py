"""Stores inside Python workers of Spark: opened by the first task that needs one, kept for those that follow.

Spark forks its workers from a daemon that never opens a store, and a worker never forks: so no handle crosses a fork.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.environment import MAP_SIZE, Environment
from viewkeeper.store.registry import close_store, open_store
from viewkeeper.store.snapshot import EmbeddedSnapshot
from viewkeeper.store.viewstore import ViewStore


@dataclass(slots=True)
class _Opened:
    store: EmbeddedStore
    file: int
    snapshot: EmbeddedSnapshot | None = None


_opened: dict[tuple[int, str], _Opened] = {}
MOST = 8
"""Stores that a worker keeps open; each takes a large piece of its address space, and a task reads one or two."""


def worker_store(path: str) -> EmbeddedStore:
    """The store at `path`; opened anew if the folder that was there has been replaced by another."""
    return _open(path).store


def worker_snapshot(path: str, offset: int) -> EmbeddedSnapshot:
    """The tables at a transaction boundary; the tasks that one worker runs share what has to be undone."""
    opened = _open(path)
    if opened.snapshot is None or opened.snapshot.offset != offset:
        opened.snapshot = opened.store.snapshot(opened.store.position(offset))
    return opened.snapshot


def worker_views(path: str, views: str) -> ViewStore:
    """The view tables of the store at `path`; or those of a scratch store beside it, whose folder is `views`."""
    store = worker_store(path)
    if str(store.views.path) == views:
        return store.view_tables
    known = _scratch.get(os.getpid())
    if known is None or known[0] != views:
        if known is not None:
            known[1].views.close()
        known = _scratch[os.getpid()] = views, _Scratch(Path(views))
    return known[1].view_tables


class _Scratch:
    """As much of a scratch store as it takes to read its view tables."""

    def __init__(self, path: Path) -> None:
        self.naming = threading.RLock()
        self.views = Environment(
            path, read_only=True, sync=False, metasync=False, map_size=MAP_SIZE, short_writes=False
        )
        self.view_tables = ViewStore(cast("EmbeddedStore", self))


_scratch: dict[int, tuple[str, _Scratch]] = {}
"""By process, the scratch store that was read last: each is read by the tasks of one computation."""


def _open(path: str) -> _Opened:
    place = (os.getpid(), path)
    opened = _opened.pop(place, None)
    if opened is not None and opened.file == _file(opened.store):
        # Behind all others: the first one is the one that was used longest ago.
        _opened[place] = opened
        return opened
    if opened is not None:
        close_store(opened.store)
    own = [other for other in _opened if other[0] == place[0]]
    for other in own[: max(0, len(own) - MOST + 1)]:
        close_store(_opened.pop(other).store)
    store = open_store(path, read_only=True)
    opened = _opened[place] = _Opened(store, _file(store))
    return opened


def _file(store: EmbeddedStore) -> int:
    """What tells one data file from another at the same path; -1 if there is none."""
    try:
        return os.stat(store.folder.base / "data.mdb").st_ino
    except OSError:
        return -1
