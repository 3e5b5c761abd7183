"""Which stores this process has open.

LMDB forbids opening an environment twice in one process, so handles share one store, counted. A forked child may not
even close what it inherited: it keeps the objects alive and untouched, and their use raises.
"""

from __future__ import annotations

import os
import threading
from functools import partial

from viewkeeper.errors import DiskError, ReadOnly
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.environment import MAP_SIZE
from viewkeeper.store.folder import Folder, open_folder

_stores: dict[str, tuple[EmbeddedStore, int]] = {}
_lock = threading.Lock()
_inherited: list[EmbeddedStore] = []


def open_store(
    path: str | os.PathLike[str], *, durability: str | None = None, read_only: bool = False, map_size: int = MAP_SIZE
) -> EmbeddedStore:
    """The store at `path`; give it back with `close_store`."""
    folder = open_folder(path, durability=durability, read_only=read_only, fill=partial(_fill, map_size=map_size))
    key = str(folder.path)
    with _lock:
        store, handles = _stores.get(key, (None, 0))
        if store is None:
            store = _open(folder, read_only, map_size)
        elif store.read_only and not read_only:
            raise ReadOnly(
                f'database "{folder.path}" is open in this process from a disk that cannot be written',
                hint="Open it with read_only=True.",
            )
        _stores[key] = (store, handles + 1)
        return store


def _fill(folder: Folder, map_size: int) -> str:
    store = EmbeddedStore(folder, read_only=False, map_size=map_size, make=True)
    store.close()
    return store.database


def _open(folder: Folder, read_only: bool, map_size: int) -> EmbeddedStore:
    # A read-only handle opens for writing where it may: reader slots live in a file that must be writable, and a later
    # handle of this process may want to write.
    try:
        return EmbeddedStore(folder, read_only=False, map_size=map_size)
    except (ReadOnly, DiskError):
        if not read_only:
            raise
        return EmbeddedStore(folder, read_only=True, map_size=map_size)


def close_store(store: EmbeddedStore) -> None:
    """Give back one handle; the last one closes the store."""
    key = str(store.folder.path)
    with _lock:
        found, handles = _stores.get(key, (None, 0))
        if found is not store:
            return
        if handles > 1:
            _stores[key] = (store, handles - 1)
            return
        del _stores[key]
        store.close()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for store, _ in _stores.values():
        store.abandon()
        _inherited.append(store)
    _stores.clear()


os.register_at_fork(after_in_child=_after_fork)
