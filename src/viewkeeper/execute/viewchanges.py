"""From the delta of a view's input to the changes of its stored rows and of its auxiliary tables.

Reads the state at the group's watermark, through one transaction; writes nothing. Stage by stage: linear steps, then
the sink. A bulk executor may hand in the change table of the first stage; everything behind it is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.delta.program import Program, StageTables, Storage
from viewkeeper.errors import StoreDamaged
from viewkeeper.execute.changetable import ChangeTable, Weighted, normal_double, reduce_rows
from viewkeeper.execute.fold import Folded, fold
from viewkeeper.execute.groupstate import GroupState, decode_state, encode_state
from viewkeeper.execute.rows.expr import Failures, compile_row
from viewkeeper.execute.rows.linear import Pipe
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Kind, Row
from viewkeeper.store.scan import Interval
from viewkeeper.store.viewstore import ObjectChanges, ViewReading


@dataclass(slots=True)
class ViewChanges:
    """What a batch does to a view: by object id its stored changes, and by how much its errors grow."""

    objects: dict[int, ObjectChanges]
    errors: int


class StageRunner:
    """One aggregate stage of a view, over the tables that keep its state."""

    def __init__(self, sink: AggregateSink, tables: StageTables, merged: Program | None) -> None:
        self.sink = sink
        self._merged = merged
        layout = merged.layout if merged is not None else tables.states
        assert layout is not None
        self.codec = RowCodec(layout)
        self.values = [RowCodec(values) for values in tables.values]
        self._doubles = [place for place, type in enumerate(sink.group) if type.kind is Kind.DOUBLE]
        self._shown = None if merged is None else compile_row(merged.shown)

    def key(self, group: Row) -> bytes:
        """The encoded key under which a group's state is stored."""
        if self._merged is None:
            return self.codec.key.encode_key(group)
        return self.codec.key.encode_key([group[place] for place in self._merged.key_from])

    def state(self, stored: bytes) -> GroupState:
        return decode_state(self.sink, self.codec.decode(stored)[-1])  # type: ignore[arg-type]

    def stored(self, group: Row, state: GroupState, output: Row | None) -> tuple[bytes, bool]:
        """The encoded row of a group, which is what the view shows of it and the state; and whether showing failed."""
        shown = group
        failures = Failures()
        if self._shown is not None:
            assert output is not None
            shown = self._shown(output, failures)
        return self.codec.encode((*shown, encode_state(self.sink, state))), failures.count > 0

    def fails(self, output: Row | None) -> bool:
        """Whether showing an output row fails."""
        if self._shown is None or output is None:
            return False
        failures = Failures()
        self._shown(output, failures)
        return failures.count > 0


class StoredState:
    """The state of one stage as the store has it. Remembers the encoded rows that it read, for `before`."""

    def __init__(self, stage: StageRunner, reading: ViewReading) -> None:
        self._stage = stage
        self._reading = reading
        self.before: dict[bytes, bytes | None] = {}

    def states(self, groups: Sequence[Row]) -> list[GroupState | None]:
        number = self._stage.codec.table.id
        keys = [self._stage.key(group) for group in groups]
        stored = self._reading.get_many(number, keys)
        self.before.update(zip(keys, stored, strict=True))
        return [None if value is None else self._stage.state(value) for value in stored]

    def weights(self, preaggregation: int, keys: Sequence[tuple[Row, Cell]]) -> list[int]:
        codec = self._stage.values[preaggregation]
        encoded = [codec.key.encode_key((*group, cell)) for group, cell in keys]
        stored = self._reading.get_many(codec.table.id, encoded)
        return [0 if value is None else codec.decode(value)[-1] for value in stored]  # type: ignore[misc]

    def values(self, preaggregation: int, group: Row, *, reverse: bool) -> Iterator[Cell]:
        codec = self._stage.values[preaggregation]
        place = len(group)
        is_double = codec.table.columns[place].type.kind is Kind.DOUBLE
        rest = Interval.of_prefix(codec.key.encode_key(group))
        count = 8
        while True:
            items = self._reading.slice(codec, rest, count, reverse=reverse)
            for _, value in items:
                cell = codec.decode(value)[place]
                yield normal_double(cell) if is_double else cell
            if len(items) < count:
                return
            last = items[-1][0]
            rest = Interval(rest.lower, last) if reverse else Interval(last + b"\0", rest.upper)
            count = min(count * 4, 4096)


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
        self._codec = RowCodec(program.layout)

    def objects(self) -> list[int]:
        """The ids of the view and of its auxiliary tables."""
        found = {self._codec.table.id: None}
        for stage in self._stages:
            found[stage.codec.table.id] = None
            found.update((codec.table.id, None) for codec in stage.values)
        return list(found)

    def first_changes(self, rows: Iterable[Weighted]) -> tuple[ChangeTable | list[Weighted], int]:
        """What the first stage makes of the delta of the view's input, and the errors in it."""
        made, errors = self._pipes[0].run(rows)
        if not self._stages:
            return made, errors
        return reduce_rows(self._stages[0].sink, made), errors

    def run(self, first: ChangeTable | list[Weighted], errors: int, reading: ViewReading) -> ViewChanges:
        """The changes of all tables of the view that follow from the change table, or rows, of its first stage."""
        changes = ViewChanges({}, errors)
        rows: list[Weighted]
        if isinstance(first, ChangeTable):
            table = first
            for number, stage in enumerate(self._stages):
                folded = self._fold(stage, table, reading, changes)
                is_last = number == len(self._stages) - 1
                if is_last and self.program.storage is Storage.MERGED:
                    return changes
                rows, more = self._pipes[number + 1].run(folded.delta)
                changes.errors += more
                if not is_last:
                    table = reduce_rows(self._stages[number + 1].sink, rows)
        else:
            rows = first
        if self.program.storage is Storage.WEIGHTED:
            self._add_weights(rows, reading, changes)
        else:
            self._put_rows(rows, reading, changes)
        return changes

    def _fold(self, stage: StageRunner, table: ChangeTable, reading: ViewReading, changes: ViewChanges) -> Folded:
        state = StoredState(stage, reading)
        folded = fold(stage.sink, table, state)
        changes.errors += folded.failed
        self._keep_states(stage, folded, state, changes)
        for codec, values in zip(stage.values, folded.values, strict=True):
            kept = changes.objects.setdefault(codec.table.id, ObjectChanges(codec))
            for (group, cell), weight in values.items():
                key = codec.key.encode_key((*group, cell))
                kept.changes[key] = (None, codec.encode((*group, cell, weight)) if weight else None)
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

    def _put_rows(self, rows: list[Weighted], reading: ViewReading, changes: ViewChanges) -> None:
        """Rows with a key: what is inserted last for a key is what stays."""
        codec = self._codec
        # By encoded rows: a NaN equals itself there, and rows that differ in a bit do differ.
        net: dict[bytes, dict[bytes, int]] = {}
        for row, weight in rows:
            weights = net.setdefault(codec.key.encode(row), {})
            encoded = codec.encode(row)
            weights[encoded] = weights.get(encoded, 0) + weight
        keys = list(net)
        kept = changes.objects.setdefault(codec.table.id, ObjectChanges(codec, has_feed=True))
        for key, before in zip(keys, reading.get_many(codec.table.id, keys), strict=True):
            weights = net[key]
            if before is not None:
                weights[before] = weights.get(before, 0) + 1
            left = [encoded for encoded, weight in weights.items() if weight]
            if len(left) > 1 or any(weights[encoded] != 1 for encoded in left):
                raise StoreDamaged(
                    f'view "{codec.table.name}" does not fit the changes of its input', hint="Repair it."
                )
            after = left[0] if left else None
            if before != after:
                kept.changes[key] = (before, after)

    def _add_weights(self, rows: list[Weighted], reading: ViewReading, changes: ViewChanges) -> None:
        codec = self._codec
        net: dict[bytes, tuple[Row, int]] = {}
        for row, weight in rows:
            key = codec.key.encode((*row, 0))
            net[key] = (row, net[key][1] + weight if key in net else weight)
        moves = {key: move for key, move in net.items() if move[1]}
        kept = changes.objects.setdefault(codec.table.id, ObjectChanges(codec, has_feed=True))
        stored = reading.get_many(codec.table.id, list(moves))
        for (key, (row, weight)), before in zip(moves.items(), stored, strict=True):
            old = 0 if before is None else codec.decode(before)[-1]
            total = old + weight  # type: ignore[operator]
            if total < 0:
                raise StoreDamaged(f'a row of view "{codec.table.name}" has weight {total}', hint="Repair it.")
            kept.changes[key] = (before, codec.encode((*row, total)) if total else None)
