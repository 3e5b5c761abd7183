"""A view that lacks much: the work is a maintainer's, and the read waits for it."""

from __future__ import annotations

import os
import threading
import time

from viewkeeper.model.view import View
from viewkeeper.read.background import background
from viewkeeper.read.consistency import Asked
from viewkeeper.read.handle import Handle
from viewkeeper.read.waiting import Pause, alone, behind, failed, whole
from viewkeeper.store.groups import GroupState
from viewkeeper.store.interface import Store

PRIORITY = 10
"""That of a read that waits; work nobody waits for has 0."""
FEW = 2_000
"""So many changes before the end a read stops waiting and folds the rest."""


def handed_over(handle: Handle, view: View, wanted: int, asked: Asked, pause: Pause, first: int) -> GroupState:
    """Where a view stands once it has come as far, or nearly as far, as wanted; `first` is where it stood at first.

    A maintainer that runs is asked to. ViewBehind if it does not within the timeout; at once, if there is none and the
    read is not to bring up the view itself.
    """
    store = handle.store
    state = whole(store, view)
    here = state.watermark
    if not is_kept(store, state):
        if not asked.bring_up or handle.bring_up is None:
            raise alone(store, view, wanted, state.watermark)
        handle.bring_up(view, wanted)
        state = whole(store, view)
        if state.watermark < wanted:
            raise failed(store, view, wanted, state.watermark)
        return state
    requester = f"reader {os.getpid()}.{threading.get_ident()}"

    def ask() -> bool:
        store.view_tables.ask(view.id, wanted, priority=PRIORITY, requester=requester, seconds=pause.left)
        return True

    is_told = handle.read_only
    while state.watermark < wanted:
        if wanted - state.watermark <= FEW and view.mode != "PERIODIC" and state.watermark > here:
            return state
        is_told = is_told or background(store).give(ask) is not None
        if pause.over():
            raise behind(store, view, wanted, asked.timeout, first, state.watermark)
        state = whole(store, view)
    return state


def is_kept(store: Store, state: GroupState) -> bool:
    """Whether somebody is there to bring views up: a maintainer that goes on, or one that has claimed the group."""
    claimed = bool(state.holder) and state.deadline > time.time_ns() // 1000
    return claimed or bool(store.view_tables.maintainers())
