"""Put views right that maintenance keeps.

The group is claimed, so its watermark stands still; what is stored is compared with what the definition gives; the
differences are written if the group is still as it was compared. Views above it in the group are computed from the
rows as they are to be, and written in the same transaction. A killed repair has done everything or nothing, and its
claim runs out by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from viewkeeper.errors import Outrun
from viewkeeper.model.view import View
from viewkeeper.pipeline.comparing import Compared, Comparing
from viewkeeper.pipeline.differences import Found
from viewkeeper.pipeline.repairbeside import Step, Written
from viewkeeper.pipeline.spool import Spool
from viewkeeper.pipeline.stored import StoredTable
from viewkeeper.store.applying import Counted
from viewkeeper.store.blocks import RawChange
from viewkeeper.store.embedded import EmbeddedStore
from viewkeeper.store.viewrepair import Repair, StoredRow, last_told
from viewkeeper.views.bound import BoundView, BoundViews


class MendingGroup:
    """The repair of one claimed group."""

    def __init__(self, store: EmbeddedStore, bound: BoundViews, comparing: Comparing, folder: Path, step: Step) -> None:
        self._store = store
        self._bound = bound
        self._comparing = comparing
        self._rows = Spool(folder / "repair.rows")
        self._step = step

    def mend(self, one: BoundView, group: int, holder: str) -> tuple[list[tuple[Compared, Written]], list[View]]:
        """What was found and written of a view and of those above it in its group; and the views above it in others."""
        compared, written = self._compare(one)
        state = compared.state
        found = [(compared, written)]
        others: list[View] = []
        if compared.count:
            for view in self._bound.catalog.dependents([one.view.id]):
                if view.id not in state.objects:
                    others.append(view)
                elif view.id in self._bound.views:
                    found.append(self._compare(self._bound.views[view.id]))
            if any(_place(other) != _place(compared) for other, _ in found):
                raise Outrun("the group has moved since it was claimed", hint="Compare it again.")
            self._step("compared")
            self._write(found, group, holder)
            self._step("repaired")
        self._rows.close()
        return found, others

    def _compare(self, one: BoundView) -> tuple[Compared, Written]:
        written = Written()

        def found(table: StoredTable) -> Found:
            def tell(key: bytes, stored: bytes | None, expected: bytes | None) -> None:
                self._rows.append((table.number, key, expected))
                written.count(stored, expected)

            return tell

        copied = self._comparing.copy(one)
        self._comparing.recompute(one, copied.state)
        return self._comparing.compare(one, copied, found), written

    def _write(self, found: list[tuple[Compared, Written]], group: int, holder: str) -> None:
        state = found[0][0].state
        told = {
            compared.one.view.id: (compared.tables[0].table.codec, changes)
            for compared, _ in found
            if compared.tables[0].count and (changes := self._told(compared.tables[0].table))
        }
        self._store.view_tables.repair(
            Repair(
                group=group,
                generation=state.generation,
                watermark=state.watermark,
                holder=holder,
                rows=self._written(),
                told=told,
                counted={
                    number: off for compared, _ in found for number, off in compared.lacking.items() if off != Counted()
                },
            )
        )

    def _written(self) -> Iterator[StoredRow]:
        """The rows to be written; the step is between the first of them and the commit."""
        yield from self._rows
        self._step("writing")

    def _told(self, table: StoredTable) -> list[RawChange]:
        """What the feed has to say, where it has told of a key something else than what it becomes."""
        rows = {key: row for number, key, row in self._rows if number == table.number}
        told = last_told(self._store.view_tables, table.number, table.codec, rows)
        return [(told[key], row) for key, row in rows.items() if key in told and told[key] != row]


def _place(compared: Compared) -> tuple[int, int]:
    return compared.state.generation, compared.state.watermark
