"""Gives a store what keeps views in the transactions of its writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viewkeeper.store.embedded import EmbeddedStore


def keep_in_sync(store: EmbeddedStore) -> None:
    """Let views follow the writes to a store; what computes them is imported with the first write that needs it."""

    def first(*write: Sequence[Any]) -> Any:
        from viewkeeper.views.following import follower_of

        store.following.follower = follower_of(store)
        return store.following.follower(*write)

    if store.following.follower is None:
        store.following.follower = first
