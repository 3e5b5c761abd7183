"""The state of one aggregate stage, as it is stored and as fold.py reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from viewkeeper.delta.deltaplan import AggregateSink
from viewkeeper.delta.program import Program
from viewkeeper.delta.tables import StageTables
from viewkeeper.execute.changetable import normal_double
from viewkeeper.execute.encodedrows import weight_behind
from viewkeeper.execute.groupstate import GroupState, decode_state, encode_state, finishers
from viewkeeper.execute.rows.expr import Failures, compile_row
from viewkeeper.model.rowcodec import RowCodec
from viewkeeper.model.types import Cell, Kind, Row
from viewkeeper.plan.expr import Input
from viewkeeper.store.scan import Interval
from viewkeeper.store.viewreading import ViewReading

KEYS = 4096
"""Encoded keys that are remembered of a stage."""


class StageRunner:
    """One aggregate stage of a view, over the tables that keep its state."""

    def __init__(self, sink: AggregateSink, tables: StageTables, merged: Program | None) -> None:
        self.sink = sink
        self.outputs = finishers(sink)
        self._keys: dict[Row, bytes] = {}
        self._merged = merged if tables.states is None else None
        layout = merged.layout if merged is not None and tables.states is None else tables.states
        assert layout is not None
        self.codec = RowCodec(layout)
        self.values = [RowCodec(values) for values in tables.values]
        self._doubles = [place for place, type in enumerate(sink.group) if type.kind is Kind.DOUBLE]
        self._shown = None if self._merged is None else compile_row(self._merged.shown)
        self.may_fail = self._merged is not None and any(not isinstance(expr, Input) for expr in self._merged.shown)

    def key(self, group: Row) -> bytes:
        """The encoded key under which a group's state is stored."""
        found = self._keys.get(group)
        if found is None:
            # A batch asks for each of its groups several times, and writes that follow one another for few.
            if len(self._keys) >= KEYS:
                self._keys.clear()
            found = self._keys[group] = self._key(group)
        return found

    def _key(self, group: Row) -> bytes:
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
        if self._shown is None or output is None or not self.may_fail:
            return False
        failures = Failures()
        self._shown(output, failures)
        return failures.count > 0


class StoredState:
    """The state of one stage as the store has it.

    Remembers the encoded rows that it read, for `before`; and for each pre-aggregation the values that were asked for,
    encoded: the keys, and the rows up to the weight. `shared` are the pre-aggregations that another view of the group
    has with the same rows, and for which the same values were asked in this batch already: that view writes them.
    """

    def __init__(self, stage: StageRunner, reading: ViewReading) -> None:
        self._stage = stage
        self._reading = reading
        self.before: dict[bytes, bytes | None] = {}
        self.encoded: list[tuple[list[bytes], list[bytes]]] = [([], []) for _ in stage.values]
        self.shared: set[int] = set()

    def states(self, groups: Sequence[Row]) -> list[GroupState | None]:
        number = self._stage.codec.table.id
        keys = [self._stage.key(group) for group in groups]
        stored = self._reading.get_many(number, keys)
        self.before.update(zip(keys, stored, strict=True))
        return [None if value is None else self._stage.state(value) for value in stored]

    def weights(self, preaggregation: int, keys: Sequence[tuple[Row, Cell]]) -> list[int]:
        codec = self._stage.values[preaggregation]
        slot = self._reading.object(codec.table.id).slot
        known = self._reading.asked.get(slot)
        if known is not None and known[0] == keys:
            self.shared.add(preaggregation)
            return cast("list[int]", known[1])
        found = self._weights(preaggregation, codec, keys)
        self._reading.asked[slot] = (keys, found)
        return found

    def _weights(self, preaggregation: int, codec: RowCodec, keys: Sequence[tuple[Row, Cell]]) -> list[int]:
        rows = [(*group, cell, 0) for group, cell in keys]
        found = list(map(codec.key.encode, rows))
        # The weight, being 0, takes one byte.
        rests = [codec.encode(row)[:-1] for row in rows]
        self.encoded[preaggregation] = found, rests
        stored = self._reading.get_many(codec.table.id, found)
        return [0 if value is None else weight_behind(rest, value) for rest, value in zip(rests, stored, strict=True)]

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
