"""From the delta of a view's inputs to the changes of its stored rows and of its auxiliary tables.

Reads the state at the group's watermark, through one transaction; writes nothing. A bulk executor may hand in the
change table of the first stage; everything behind it is small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from typing import Any

from viewkeeper.delta.program import Program
from viewkeeper.errors import StoreDamaged
from viewkeeper.execute.chain import Chain, ViewChanges
from viewkeeper.execute.changetable import ChangeTable, Weighted
from viewkeeper.execute.encodedrows import EncodedRows, FirstChanges, RowEncoder, with_weight
from viewkeeper.execute.epochs import Clock
from viewkeeper.store.applying import ObjectChanges
from viewkeeper.store.viewreading import ViewReading

__all__ = ["ViewChanges", "ViewRunner"]


_NO_ROWS = EncodedRows([], [], [])


class ViewRunner:
    """A view's program, compiled once and run batch by batch."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._chain = Chain(program.plan, program.tables, program)
        self._encoder = RowEncoder(program)
        self._codec = self._encoder.codec

    def objects(self) -> list[int]:
        """The ids of the view and of its auxiliary tables."""
        return list(dict.fromkeys([self._codec.table.id, *self._chain.objects()]))

    def first_changes(self, rows: Iterable[Weighted]) -> FirstChanges:
        """What the first stage makes of the rows that reach it, and the errors in it."""
        changes = ViewChanges()
        first = self._chain.first(list(rows), changes)
        return FirstChanges(self._encoder.netted(first) if isinstance(first, list) else first, changes.errors)

    def joined(self, deltas: Sequence[Sequence[Weighted]], reading: ViewReading) -> FirstChanges:
        """The same from the deltas of all leaves of the plan, and what its joins have to keep."""
        changes = ViewChanges()
        first = self.first_changes(self._chain.rows(deltas, reading, changes))
        return FirstChanges(first.changes, first.errors + changes.errors, changes.objects)

    @property
    def tells_keys(self) -> bool:
        """Whether what its first stage gives says which rows of the view change."""
        stages = len(self.program.plan.stages)
        return stages == 1 or (stages == 2 and self.program.is_merged)

    def within(self, first: FirstChanges, wanted: Callable[[bytes], bool]) -> FirstChanges:
        """What the first stage gave of rows of the view that have such keys; it has to tell these.

        A group that nothing is added to is left out, also where a global aggregate always has it.
        """
        found = first.changes
        if isinstance(found, EncodedRows):
            whole = zip(found.keys, found.rows, found.weights, strict=True)
            left = [entry for entry in whole if wanted(entry[0])]
            return first._replace(changes=EncodedRows(*map(list, zip(*left, strict=True))) if left else _NO_ROWS)
        stage = self._chain.stages[0]
        values = [{key for key, weight in values.items() if weight} for values in found.values]
        valued = {group for keys in values for group, _ in keys}
        kept = {
            group: change
            for group, change in found.groups.items()
            if (group in valued or not change.is_nothing) and wanted(stage.key(group))
        }
        weights = [{key: weight for key, weight in one.items() if key[0] in kept} for one in found.values]
        return first._replace(changes=ChangeTable(kept, weights))

    def run(
        self,
        first: FirstChanges,
        reading: ViewReading,
        clock: Clock = Clock(),  # noqa: B008 - a value that cannot be changed
    ) -> ViewChanges:
        """The changes of all tables of the view that follow from what its first stage gave.

        `clock` is what epochs are measured by.
        """
        changes = ViewChanges(dict(first.objects), first.errors)
        if isinstance(first.changes, EncodedRows):
            self._store_rows(first.changes, reading, changes)
            return changes
        rows = self._chain.rest(first.changes, reading, changes, clock)
        if not self.program.is_merged:
            self._store_rows(self._encoder.netted(rows), reading, changes)
        return changes

    def _store_rows(self, rows: EncodedRows, reading: ViewReading, changes: ViewChanges) -> None:
        kept = changes.objects.setdefault(self._codec.table.id, ObjectChanges(self._codec, has_feed=True))
        if self._encoder.is_weighted:
            self._add_weights(rows, reading, kept)
        else:
            self._put_rows(rows, reading, kept)

    def _put_rows(self, rows: EncodedRows, reading: ViewReading, kept: ObjectChanges) -> None:
        """Rows with a key: where all changes are netted, at most one goes and one comes for each."""
        pairs = list(zip(rows.keys, rows.rows, strict=True))
        gone = dict(compress(pairs, (weight < 0 for weight in rows.weights)))
        come = dict(compress(pairs, (weight > 0 for weight in rows.weights)))
        if len(gone) + len(come) < len(pairs) or any(not -1 <= weight <= 1 for weight in set(rows.weights)):
            raise self._unfit()
        keys = list(dict.fromkeys(rows.keys))
        before = reading.get_many(self._codec.table.id, keys)
        if before != list(map(gone.get, keys)):
            raise self._unfit()
        kept.changes.update(zip(keys, zip(before, map(come.get, keys), strict=True), strict=True))

    def _unfit(self) -> StoreDamaged:
        return StoreDamaged(f'view "{self._codec.table.name}" does not fit the changes of its input', hint="Repair it.")

    def _add_weights(self, rows: EncodedRows, reading: ViewReading, kept: ObjectChanges) -> None:
        codec = self._codec
        net: dict[bytes, tuple[bytes, int]] = {}
        for key, row, weight in zip(rows.keys, rows.rows, rows.weights, strict=True):
            known = net.get(key)
            # Two rows have one key if they differ in -0.0 and 0.0; what comes is shown, not what goes.
            net[key] = (row, weight) if known is None else (row if weight > 0 else known[0], known[1] + weight)
        moves = {key: move for key, move in net.items() if move[1]}
        stored = reading.get_many(codec.table.id, list(moves))
        for (key, (row, weight)), before in zip(moves.items(), stored, strict=True):
            old: Any = 0 if before is None else codec.decode(before)[-1]
            total = old + weight
            if total < 0:
                raise StoreDamaged(f'a row of view "{codec.table.name}" has weight {total}', hint="Repair it.")
            kept.changes[key] = (before, with_weight(row, total) if total else None)
