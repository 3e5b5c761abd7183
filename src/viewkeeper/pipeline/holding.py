"""Keeps a position readable for as long as something reads it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from viewkeeper.errors import StoreError
from viewkeeper.model.position import Position
from viewkeeper.store.interface import Store

LEASE = 60.0
"""Seconds for which a position stays held when the process that holds it is killed."""


@contextmanager
def hold(store: Store, position: Position, holder: str, seconds: float = LEASE) -> Iterator[None]:
    """Inside, the log from `position` on is not truncated; NotRetained if it has been already."""
    pin = store.pin(position, seconds=seconds, holder=holder)
    over = threading.Event()

    def renew() -> None:
        while not over.wait(seconds / 3):
            # A store that is full, or closed, for a moment may take the next one; the lease lasts for three.
            with suppress(StoreError):
                store.renew(pin, position, seconds=seconds, holder=holder)

    renewing = threading.Thread(target=renew, name="viewkeeper-hold", daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join()
        store.unpin(pin)
