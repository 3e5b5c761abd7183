"""From the delta of a view's input to the changes of its stored rows and of its auxiliary tables.

Reads the state at the group's watermark, through one transaction; writes nothing. Stage by stage: linear steps, then
the sink. A bulk executor may hand in the change table of the first stage; everything behind it is small.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress, repeat
from typing import Any

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.delta.program import Program, Storage
from viewkeeper.errors import StoreDamaged
from viewkeeper.execute.changetable import ChangeTable, Weighted, reduce_rows
from viewkeeper.execute.encodedrows import EncodedRows, FirstChanges, RowEncoder, with_weight
from viewkeeper.execute.epochs import Clock, EpochRunner, values_of
from viewkeeper.execute.fold import Folded, fold
from viewkeeper.execute.rows.linear import Pipe
from viewkeeper.execute.storedstate import StageRunner, StoredState
from viewkeeper.model.types import Row
from viewkeeper.store.viewstore import ObjectChanges, ViewReading


@dataclass(slots=True)
class ViewChanges:
    """What a batch does to a view: by object id its stored changes, and by how much its errors grow.

    `late` are changes to epochs that had left the view before.
    """

    objects: dict[int, ObjectChanges]
    errors: int
    late: int = 0


class ViewRunner:
    """A view's program, compiled once and run batch by batch."""

    def __init__(self, program: Program) -> None:
        self.program = program
        stages = program.plan.stages
        self._pipes = [Pipe(stage.linear) for stage in stages]
        self._stages = []
        for number, tables in enumerate(program.tables):
            sink = stages[number].sink
            assert isinstance(sink, AggregateSink)
            merged = program if program.storage is Storage.MERGED and number == len(program.tables) - 1 else None
            self._stages.append(StageRunner(sink, tables, merged))
        self._encoder = RowEncoder(program)
        self._codec = self._encoder.codec
        self._epochs = None if program.epochs is None else EpochRunner(program.epochs)

    def objects(self) -> list[int]:
        """The ids of the view and of its auxiliary tables."""
        found = {self._codec.table.id: None}
        for stage in self._stages:
            found[stage.codec.table.id] = None
            found.update((codec.table.id, None) for codec in stage.values)
        if self._epochs is not None:
            found[self._epochs.codec.table.id] = None
        return list(found)

    def first_changes(self, rows: Iterable[Weighted]) -> FirstChanges:
        """What the first stage makes of the delta of the view's input, and the errors in it."""
        made, errors = self._pipes[0].run(rows)
        if not self._stages:
            return FirstChanges(self._encoder.netted(made), errors)
        return FirstChanges(reduce_rows(self._stages[0].sink, made), errors)

    def run(
        self,
        first: ChangeTable | EncodedRows | list[Weighted],
        errors: int,
        reading: ViewReading,
        clock: Clock = Clock(),  # noqa: B008 - a value that cannot be changed
    ) -> ViewChanges:
        """The changes of all tables of the view that follow from the change table, or rows, of its first stage.

        `clock` is what epochs are measured by.
        """
        changes = ViewChanges({}, errors)
        if isinstance(first, list):
            first = self._encoder.netted(first)
        if isinstance(first, EncodedRows):
            self._store_rows(first, reading, changes)
            return changes
        table = first
        for number in range(len(self._stages)):
            folded = self._fold(number, table, reading, changes, clock)
            is_last = number == len(self._stages) - 1
            if is_last and self.program.storage is Storage.MERGED:
                break
            rows, more = self._pipes[number + 1].run(folded.delta)
            changes.errors += more
            if is_last:
                self._store_rows(self._encoder.netted(rows), reading, changes)
            else:
                table = reduce_rows(self._stages[number + 1].sink, rows)
        return changes

    def _fold(
        self, number: int, table: ChangeTable, reading: ViewReading, changes: ViewChanges, clock: Clock
    ) -> Folded:
        stage = self._stages[number]
        epochs = self._epochs if self.program.epochs is not None and self.program.epochs.stage == number else None
        gone: list[Row] = []
        if epochs is not None:
            changes.late += epochs.prune(table, clock)
            gone = epochs.expired(reading, clock)
        state = StoredState(stage, reading)
        folded = fold(stage.sink, table, state, gone)
        if epochs is not None:
            epochs.keep(folded, changes.objects)
        changes.errors += folded.failed
        self._keep_states(stage, folded, state, changes)
        for place, (codec, values) in enumerate(zip(stage.values, folded.values, strict=True)):
            if place in state.shared:
                continue
            keys, rests = state.encoded[place]
            kept = changes.objects.setdefault(codec.table.id, ObjectChanges(codec))
            weights = values.values()
            rows = [with_weight(rest, weight) if weight else None for rest, weight in zip(rests, weights, strict=True)]
            kept.changes.update(zip(keys, zip(repeat(None), rows), strict=True))
            for group in gone:
                kept.changes.update((key, (None, None)) for key in values_of(reading, codec, group))
        return folded

    def _keep_states(self, stage: StageRunner, folded: Folded, state: StoredState, changes: ViewChanges) -> None:
        merged = stage.codec.table.id == self._codec.table.id
        kept = changes.objects.setdefault(stage.codec.table.id, ObjectChanges(stage.codec, has_feed=merged))
        for group, new in folded.states.items():
            key = stage.key(group)
            old_output, output = folded.outputs[group]
            after, failed = (None, False) if new is None else stage.stored(group, new, output)
            before = state.before[key]
            if before != after:
                kept.changes[key] = (before, after)
            changes.errors += failed - stage.fails(old_output)

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
