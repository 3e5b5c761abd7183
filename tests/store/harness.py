"""How the contract gets at a store: what it needs beside the interface."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol, cast

from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.groups import GroupState, remove_group, set_group
from viewkeeper.store.interface import Store
from viewkeeper.store.registry import close_store, open_store


class Harness(Protocol):
    """Opens stores and plays the parts of the system that are not under test.

    `name` is where another process finds it: "module:attribute".
    """

    name: str

    def open(self, folder: Path) -> Store:
        """A handle on the store in a folder; made if absent, not durable against power loss. Opened twice, shared."""

    def close(self, store: Store) -> None: ...

    def clean(self, store: Store) -> None:
        """One round of the janitor, to its end."""

    def hold(self, store: Store, group: int, offset: int | None) -> None:
        """Put a group of views at a watermark; None removes the group."""


class EmbeddedHarness:
    name = "tests.store.harness:EMBEDDED"

    def open(self, folder: Path) -> Store:
        return open_store(folder, durability="os")

    def close(self, store: Store) -> None:
        close_store(cast("EmbeddedStore", store))

    def clean(self, store: Store) -> None:
        cast("EmbeddedStore", store).clean()

    def hold(self, store: Store, group: int, offset: int | None) -> None:
        embedded = cast("EmbeddedStore", store)
        with embedded.views.begin(write=True) as txn:
            if offset is None:
                remove_group(txn, embedded.groups_db, group)
            else:
                set_group(txn, embedded.groups_db, group, GroupState(1, offset, 0))


EMBEDDED: Harness = EmbeddedHarness()
