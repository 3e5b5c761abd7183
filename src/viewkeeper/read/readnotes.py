"""Word of reads, for status and for the manager of lazy views: gathered in memory, written from time to time."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from viewkeeper.model.view import View
from viewkeeper.read.background import background, drain
from viewkeeper.read.handle import Handle
from viewkeeper.store.interface import Store

BY_READ = "a read"
"""What status says that computed a batch which came along with a read."""
EVERY = 1.0
"""Seconds between two writes of what was gathered; one costs the write lock of the views environment."""


@dataclass(slots=True)
class _Gathered:
    reads: dict[int, int] = field(default_factory=dict)
    folds: dict[int, tuple[int, int, float]] = field(default_factory=dict)
    moved: dict[int, dict[str, object]] = field(default_factory=dict)


_gathered: WeakKeyDictionary[Store, _Gathered] = WeakKeyDictionary()
_written: WeakKeyDictionary[Store, float] = WeakKeyDictionary()
_lock = threading.Lock()


def note_read(handle: Handle, view: View) -> None:
    """A LAZY view is read now."""
    _note(handle, view, None)


def note_fold(handle: Handle, view: View, milliseconds: float) -> None:
    """A read of a view was folded."""
    _note(handle, view, milliseconds)


def note_moved(store: Store, views: Iterable[View], changes: int) -> None:
    """Views were brought up along with a read; written with the next word of a read."""
    noted: dict[str, object] = {
        "batch_at": time.time_ns() // 1000,
        "batch_changes": changes,
        "batch_engine": BY_READ,
        "batch_seconds": {},
        "batch_joins": "",
    }
    with _lock:
        _gathered.setdefault(store, _Gathered()).moved |= {view.id: noted for view in views}


def _note(handle: Handle, view: View, milliseconds: float | None) -> None:
    if handle.read_only:
        return
    store = handle.store
    moment = time.time_ns() // 1000
    with _lock:
        found = _gathered.setdefault(store, _Gathered())
        if milliseconds is None:
            found.reads[view.id] = moment
        else:
            count = found.folds.get(view.id, (0, 0, 0.0))[0]
            found.folds[view.id] = (count + 1, moment, milliseconds)
        due = time.monotonic() - _written.get(store, 0.0) >= EVERY
    if due:
        background(store).give(lambda: write_notes(store))


def finish_notes(store: Store) -> None:
    """Write what is left, and leave nothing running: the store may be about to close."""
    drain(store)
    if store in _gathered:
        background(store).give(lambda: write_notes(store))
        drain(store)


def write_notes(store: Store) -> bool:
    """Write what was gathered; whether there was anything."""
    with _lock:
        found = _gathered.pop(store, None)
        if found is None:
            return False
        _written[store] = time.monotonic()
    if found.reads:
        store.view_tables.note_reads(found.reads)
    if found.folds:
        store.view_tables.note_folds(found.folds)
    known = store.catalog().views
    if moved := {number: noted for number, noted in found.moved.items() if number in known}:
        store.view_tables.note_all(moved)
    return True
