"""Keeps others from applying to groups for as long as it takes."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

from viewkeeper.errors import Outrun, StoreError, ViewNotReady
from viewkeeper.model.view import View
from viewkeeper.store.viewstore import ViewStore

POLL = 0.02


@contextmanager
def claimed(views: ViewStore, view: View, holder: str, *, seconds: float, wait: float) -> Iterator[int]:
    """Inside, only `holder` may apply to the group of a view; its id.

    Outrun if another holds it for longer than `wait`. The claim is renewed meanwhile; after a kill it runs out within
    `seconds`. It may still be lost, to a process that was stopped for longer: whoever writes compares and sets.
    """
    group = _claim(views, view, holder, seconds, time.monotonic() + wait)
    with _renewed(views, [group], holder, seconds):
        yield group


@contextmanager
def claims(views: ViewStore, groups: Collection[int], holder: str, *, seconds: float) -> Iterator[frozenset[int]]:
    """Inside, only `holder` may apply to those of the groups that it gets at once: the others belong to somebody."""
    held = frozenset(group for group in groups if views.claim(group, holder, seconds))
    with _renewed(views, held, holder, seconds):
        yield held


@contextmanager
def _renewed(views: ViewStore, groups: Collection[int], holder: str, seconds: float) -> Iterator[None]:
    """Inside, claims are renewed; at its end they are released."""
    over = threading.Event()

    def renew() -> None:
        while not over.wait(seconds / 3):
            for group in groups:
                with suppress(StoreError):
                    views.claim(group, holder, seconds)

    renewing = threading.Thread(target=renew, name="viewkeeper-claim", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join()
        for group in groups:
            views.release(group, holder)


def _claim(views: ViewStore, view: View, holder: str, seconds: float, deadline: float) -> int:
    while True:
        group = views.group_of(view.id)
        if group is None:
            raise ViewNotReady(f'{view.kind} "{view.name}" has not been filled yet', hint="Run maintenance.")
        if views.claim(group, holder, seconds):
            return group
        if time.monotonic() > deadline:
            raise Outrun(
                f'{view.kind} "{view.name}" is claimed by another process',
                detail="A maintainer that fell behind, or another repair, is at it.",
                hint="Wait for it, and try again.",
            )
        time.sleep(POLL)
